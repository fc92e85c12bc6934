//! Where a position in JSON text is: the keys and numbers on the way there.

/// `host.memory.total_bytes`, for the line and column (both from 1) of an error; empty at the top.
pub(crate) fn path_at(text: &str, line: usize, column: usize) -> String {
    let mut levels: Vec<Level> = Vec::new();
    let mut chars = until(text, line, column).chars();
    let mut string = String::new();
    while let Some(char) = chars.next() {
        match char {
            '{' => levels.push(Level::Object(String::new())),
            '[' => levels.push(Level::Array(0)),
            '}' | ']' => {
                levels.pop();
            }
            '"' => string = read_string(&mut chars),
            ':' => {
                if let Some(Level::Object(key)) = levels.last_mut() {
                    *key = std::mem::take(&mut string);
                }
            }
            ',' => {
                if let Some(Level::Array(index)) = levels.last_mut() {
                    *index += 1;
                }
            }
            _ => {}
        }
    }
    let mut path = String::new();
    for level in &levels {
        match level {
            Level::Array(index) => path.push_str(&format!("[{index}]")),
            Level::Object(key) if key.is_empty() => {}
            Level::Object(key) if path.is_empty() => path.push_str(key),
            Level::Object(key) => path.push_str(&format!(".{key}")),
        }
    }
    path
}

enum Level {
    /// The key that was read last.
    Object(String),
    Array(usize),
}

/// The text in front of the position, which counts bytes and may lie behind the end of its line.
fn until(text: &str, line: usize, column: usize) -> &str {
    let start: usize = text
        .split_inclusive('\n')
        .take(line.saturating_sub(1))
        .map(str::len)
        .sum();
    let mut end = start.saturating_add(column).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The rest of a string behind its first quote; escapes stay as they are written.
fn read_string(chars: &mut std::str::Chars<'_>) -> String {
    let mut string = String::new();
    while let Some(char) = chars.next() {
        match char {
            '"' => break,
            '\\' => string.extend(chars.next()),
            char => string.push(char),
        }
    }
    string
}

#[cfg(test)]
mod tests {
    use super::path_at;

    /// Where the mark stands.
    fn at_mark(text: &str) -> String {
        let before = &text[..text.find('█').unwrap()];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().len();
        path_at(&text.replace('█', ""), line, column)
    }

    #[test]
    fn the_way_to_a_value_is_told() {
        assert_eq!(
            at_mark("{\"a\": {\"b\": [1, {\"c\": █\"x\"}]}}"),
            "a.b[1].c"
        );
        assert_eq!(
            at_mark("{\n \"a\": 1,\n \"b\": {\n  \"c\": 2█\n }\n}"),
            "b.c"
        );
        assert_eq!(at_mark("{\"a\": {\"b\": 1}█, \"c\": 2}"), "a");
        assert_eq!(at_mark("[{\"n\": 1}, {\"n\": █2}]"), "[1].n");
        assert_eq!(at_mark("█{}"), "");
    }

    #[test]
    fn brackets_in_strings_are_text() {
        assert_eq!(
            at_mark("{\"a}\\\"[\": {\"b,\": \"]:{\", \"c\": █1}}"),
            "a}\"[.c"
        );
    }

    #[test]
    fn any_position_in_any_text_has_an_answer() {
        for (line, column) in [(0, 0), (1, 2), (1, 3), (9, 9), (usize::MAX, usize::MAX)] {
            for text in ["", "é", "}}]", "{\"", "{\"a\\", "\n\n"] {
                path_at(text, line, column);
            }
        }
    }
}
