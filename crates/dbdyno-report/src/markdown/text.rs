//! Text, code and tables in GitHub's flavour of Markdown, whatever a document holds.

/// Text that reads as it was written: on one line, without any meaning to Markdown or HTML.
pub(crate) fn text(raw: &str) -> String {
    let chars: Vec<char> = one_line(raw).trim().chars().collect();
    let mut escaped = String::with_capacity(raw.len() + 8);
    for (index, char) in chars.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| chars[before]);
        let within_word = before.is_some_and(char::is_alphanumeric)
            && chars
                .get(index + 1)
                .is_some_and(|next| next.is_alphanumeric());
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '_' if within_word => escaped.push('_'),
            // Parsers differ on a bar behind a backslash: as an entity it never ends a cell.
            '|' => escaped.push_str("&#124;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(*char);
            }
            // A list or a heading begins only at the beginning.
            '-' | '+' | '=' if index == 0 => {
                escaped.push('\\');
                escaped.push(*char);
            }
            '.' | ')' if begins_a_list(&chars, index) => {
                escaped.push('\\');
                escaped.push(*char);
            }
            // Nobody is called because a value looks like a name.
            '@' if !before.is_some_and(char::is_alphanumeric) => escaped.push_str("@\u{2060}"),
            _ => escaped.push(*char),
        }
    }
    escaped
}

/// Whether a number before this character makes it a list's.
fn begins_a_list(chars: &[char], index: usize) -> bool {
    let number = index > 0 && chars[..index].iter().all(char::is_ascii_digit);
    number && chars.get(index + 1).is_none_or(|next| next.is_whitespace())
}

/// A name or value as the server writes it; `–` where there is nothing to show.
pub(crate) fn code(raw: &str) -> String {
    let raw = one_line(raw);
    if raw.trim().is_empty() {
        return crate::number::MISSING.to_owned();
    }
    let fence = "`".repeat(longest_run(&raw) + 1);
    // A blank keeps the text's own back quotes off the fence.
    let blank = if raw.starts_with(['`', ' ']) || raw.ends_with(['`', ' ']) {
        " "
    } else {
        ""
    };
    format!("{fence}{blank}{raw}{blank}{fence}")
}

/// The same within a table, where a bar would end the cell, and back quotes do not protect it.
pub(crate) fn code_cell(raw: &str) -> String {
    if raw.contains('|') {
        format!("<code>{}</code>", text(raw))
    } else {
        code(raw)
    }
}

/// Lines to be copied, in a block whose fence the text cannot end.
pub(crate) fn block(language: &str, raw: &str) -> String {
    let fence = "`".repeat((longest_run(raw) + 1).max(3));
    let lines: Vec<String> = raw.lines().map(one_line).collect();
    format!("{fence}{language}\n{}\n{fence}\n", lines.join("\n"))
}

/// A table; its cells are Markdown already. The columns from `numbers` on are pushed to the right.
pub(super) fn table(head: &[String], rows: &[Vec<String>], numbers: usize) -> String {
    let rule = (0..head.len()).map(|column| if column >= numbers { "--:" } else { "---" });
    let rule = rule.collect::<Vec<_>>().join("|");
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut table = line(head);
    table.push_str(&format!("|{rule}|\n"));
    for row in rows {
        table.push_str(&line(row));
    }
    table
}

/// Content behind a line that opens it.
pub(crate) fn folded(summary: &str, content: &str) -> String {
    format!(
        "<details><summary>{}</summary>\n\n{}\n\n</details>\n",
        text(summary),
        content.trim_end()
    )
}

/// No line breaks, no control characters, nothing that turns the direction of the text.
fn one_line(raw: &str) -> String {
    raw.chars()
        .map(|char| match char {
            '\n' | '\r' | '\t' => ' ',
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            _ if char.is_control() => '\u{fffd}',
            _ => char,
        })
        .collect()
}

fn longest_run(raw: &str) -> usize {
    raw.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_means_nothing_to_markdown() {
        assert_eq!(
            text("a | b\n<b> & *c*"),
            r"a &#124; b &lt;b&gt; &amp; \*c\*"
        );
        assert_eq!(text("max_wal_size _x_"), r"max_wal_size \_x\_");
        assert_eq!(text("1. one"), r"1\. one");
        assert_eq!(text("1.31 (1.25 to 1.37)"), "1.31 (1.25 to 1.37)");
        assert_eq!(text("- [x] #1"), r"\- \[x\] \#1");
        assert_eq!(text("@me me@x"), "@\u{2060}me me@x");
    }

    #[test]
    fn code_shows_everything() {
        assert_eq!(code("8GB"), "`8GB`");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code(""), "–");
        assert_eq!(code_cell("a|b"), "<code>a&#124;b</code>");
        assert_eq!(block("sh", "a\n```\nb"), "````sh\na\n```\nb\n````\n");
    }

    proptest! {
        #[test]
        fn no_cell_ends_early(raw in "[a-z|\\\\`<>\n@_*]{0,20}") {
            prop_assert!(!text(&raw).contains('|') && !code_cell(&raw).contains('|'));
            prop_assert!(!text(&raw).contains(['<', '>', '\n']));
            prop_assert!(!code_cell(&raw).contains('\n'));
        }
    }
}
