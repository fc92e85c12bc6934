//! A statement's text without what its author wrote into it: no literal, no comment, one line.

/// Longest text that is kept, in bytes.
const LONGEST: usize = 600;

/// Commands whose constants are all literals.
const OF_DATA: [&str; 8] = [
    "select", "insert", "update", "delete", "merge", "with", "values", "table",
];

/// The text with `?` for every literal; a command that is not of data is cut to its first words,
/// since its arguments may be secrets without quotes.
pub fn without_literals(text: &str) -> String {
    let words = scrubbed(text);
    let first = words
        .trim_start_matches(['(', ' '])
        .split(|c: char| !c.is_ascii_alphabetic())
        .next()
        .unwrap_or_default();
    if OF_DATA.iter().any(|word| first.eq_ignore_ascii_case(word)) {
        cut(words)
    } else {
        command(&words)
    }
}

/// `COPY orders`, `ALTER ROLE`: two words at most, and those only where they are names.
fn command(words: &str) -> String {
    let is_name = |word: &&str| {
        !word.is_empty()
            && word
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
            && !word.starts_with(|c: char| c.is_ascii_digit())
    };
    let names: Vec<&str> = words.split(' ').take_while(is_name).take(2).collect();
    cut(names.join(" "))
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST {
        let end = (0..=LONGEST)
            .rev()
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Literals replaced, comments dropped, white space folded. What begins and does not end is dropped
/// to the end of the text: it was cut off there.
fn scrubbed(text: &str) -> String {
    let mut rest = text;
    let mut out = String::with_capacity(text.len().min(2 * LONGEST));
    while let Some(next) = rest.chars().next() {
        // Enough is known, and nobody reads more.
        if out.len() > 2 * LONGEST {
            break;
        }
        let taken = match Token::of(rest, out.chars().next_back()) {
            Token::Blank(length) => {
                if !out.is_empty() && !out.ends_with(' ') {
                    out.push(' ');
                }
                length
            }
            Token::Literal(length) => {
                out.push('?');
                length
            }
            Token::Kept(length) => {
                // A quoted name may have anything in it.
                let kept = rest[..length].chars();
                out.extend(kept.map(|c| if c.is_control() { ' ' } else { c }));
                length
            }
            Token::Cut => break,
        };
        // Never zero, whatever a tokeniser thinks.
        rest = &rest[taken.max(next.len_utf8())..];
    }
    out.trim_end().to_owned()
}

/// What the text begins with, by its length in bytes.
enum Token {
    Blank(usize),
    Literal(usize),
    Kept(usize),
    Cut,
}

impl Token {
    /// `before` is the last character that was kept: a digit behind a letter is part of a name.
    fn of(text: &str, before: Option<char>) -> Self {
        let mut characters = text.chars();
        let first = characters.next().unwrap_or(' ');
        let second = characters.next();
        let in_name = before.is_some_and(is_in_name);
        match (first, second) {
            ('-', Some('-')) => Self::Blank(text.find('\n').unwrap_or(text.len())),
            ('/', Some('*')) => block_comment(text).map_or(Self::Cut, Self::Blank),
            ('\'', _) => string(text, 0, false).map_or(Self::Cut, Self::Literal),
            ('E' | 'e', Some('\'')) if !in_name => {
                string(text, 1, true).map_or(Self::Cut, Self::Literal)
            }
            ('B' | 'b' | 'X' | 'x' | 'N' | 'n', Some('\'')) if !in_name => {
                string(text, 1, false).map_or(Self::Cut, Self::Literal)
            }
            ('U' | 'u', Some('&')) if !in_name && text[2..].starts_with('\'') => {
                string(text, 2, false).map_or(Self::Cut, Self::Literal)
            }
            ('"', _) => quoted_name(text).map_or(Self::Cut, Self::Kept),
            ('$', Some(digit)) if digit.is_ascii_digit() && !in_name => {
                Self::Kept(1 + digits(&text[1..]))
            }
            ('$', Some(tag)) if !in_name && (tag == '$' || is_in_name(tag)) => {
                dollar_quoted(text).unwrap_or(Self::Kept(1))
            }
            ('.', Some(digit)) if digit.is_ascii_digit() && !in_name => Self::Literal(number(text)),
            (digit, _) if digit.is_ascii_digit() && !in_name => Self::Literal(number(text)),
            (blank, _) if blank.is_whitespace() || blank.is_control() => {
                Self::Blank(blank.len_utf8())
            }
            (other, _) => Self::Kept(other.len_utf8()),
        }
    }
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// `1`, `1.5e-3`, `0xFF`, `1_000`, and whatever letters hang on to it.
fn number(text: &str) -> usize {
    let mut end = 0;
    let mut before = ' ';
    for c in text.chars() {
        let is_sign_of_exponent = matches!(c, '+' | '-') && matches!(before, 'e' | 'E');
        if !(c.is_alphanumeric() || matches!(c, '.' | '_') || is_sign_of_exponent) {
            break;
        }
        end += c.len_utf8();
        before = c;
    }
    end
}

/// A string whose quote stands behind `prefix` bytes; two quotes are one, and a backslash takes the
/// next character with it where `escapes`.
fn string(text: &str, prefix: usize, escapes: bool) -> Option<usize> {
    let mut characters = text.char_indices().skip(prefix + 1).peekable();
    while let Some((at, c)) = characters.next() {
        match c {
            '\\' if escapes => {
                characters.next()?;
            }
            '\'' if characters.peek().is_some_and(|(_, next)| *next == '\'') => {
                characters.next();
            }
            '\'' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn quoted_name(text: &str) -> Option<usize> {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c != '"' {
            continue;
        }
        if characters.peek().is_some_and(|(_, next)| *next == '"') {
            characters.next();
        } else {
            return Some(at + 1);
        }
    }
    None
}

/// Comments nest.
fn block_comment(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}

/// None where the dollar begins no quote.
fn dollar_quoted(text: &str) -> Option<Token> {
    let end_of_tag = text[1..].find('$')? + 2;
    let tag = &text[..end_of_tag];
    if !tag[1..end_of_tag - 1].chars().all(is_in_name) {
        return None;
    }
    let Some(end) = text[end_of_tag..].find(tag) else {
        return Some(Token::Cut);
    };
    Some(Token::Literal(end_of_tag + end + end_of_tag))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn literals_and_comments_go_and_names_and_parameters_stay() {
        for (text, wanted) in [
            (
                "SELECT a1, \"B 2\"\nFROM t  WHERE x = $1 AND y = 'it''s' -- note",
                "SELECT a1, \"B 2\" FROM t WHERE x = $1 AND y = ?",
            ),
            (
                "select /* who: /* me */ */ -1.5e-3, .5, 0xFF, 1_000, E'a\\'b', $q$ x $q$, U&'x'",
                "select -?, ?, ?, ?, ?, ?, ?",
            ),
            ("SELECT t2.c3 FROM t2", "SELECT t2.c3 FROM t2"),
            (
                "INSERT INTO t VALUES ($1, $2)",
                "INSERT INTO t VALUES ($1, $2)",
            ),
            ("SELECT 'cut off in the mid", "SELECT"),
            ("SELECT $$cut off", "SELECT"),
            ("values(1), (2)", "values(?), (?)"),
        ] {
            assert_eq!(without_literals(text), wanted);
        }
    }

    #[test]
    fn commands_keep_their_first_words() {
        for (text, wanted) in [
            ("SET app.token TO s3cret", "SET app.token"),
            ("ALTER ROLE joe PASSWORD 'x'", "ALTER ROLE"),
            ("COPY orders FROM PROGRAM 'curl x'", "COPY orders"),
            ("FETCH 100 FROM c", "FETCH"),
            ("SET x=secret", "SET"),
            ("DO $$ BEGIN END $$", "DO"),
            ("", ""),
        ] {
            assert_eq!(without_literals(text), wanted, "{text}");
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text = format!("SELECT {}", "é, ".repeat(1000));
        let cut = without_literals(&text);
        assert!(cut.len() <= LONGEST + '…'.len_utf8() && cut.ends_with('…'));
    }

    proptest! {
        #[test]
        fn nothing_panics_and_no_quoted_secret_survives(
            before in "[a-z ,=()$0-9]{0,20}", secret in "[A-Z]{12}", after in ".{0,40}",
        ) {
            let text = format!("SELECT {before} '{secret}' {after}");
            let shown = without_literals(&text);
            // A dollar quote that began before may take the rest with it, quotes and all.
            prop_assert!(!shown.contains(&secret), "{}", shown);
        }

        #[test]
        fn any_text_is_taken(text in ".*") {
            let shown = without_literals(&text);
            prop_assert!(!shown.contains('\n') && shown.len() <= LONGEST + 3);
        }
    }
}
