//! Reads `synchronous_standby_names`: how many standbys commits wait for, and which may be meant.

/// What the setting asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandbyNames {
    /// Standbys that have to confirm a commit.
    pub required: usize,
    /// Without their quotes; `*` stands for any.
    pub names: Vec<String>,
}

impl StandbyNames {
    pub fn is_any(&self) -> bool {
        self.names.iter().any(|name| name == "*")
    }
}

/// A part of the setting's text; together they are all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    Word(String),
    /// In double quotes: never a keyword.
    Quoted(String),
    /// A parenthesis, a comma or a blank.
    Sign(char),
}

/// `FIRST 2 (a, b, c)`, `ANY 2 (a, b, c)`, `2 (a, b)` or `a, b`; none where it is empty or none of
/// these.
pub fn parse(setting: &str) -> Option<StandbyNames> {
    let mut tokens = tokens(setting)?;
    tokens.retain(|token| !matches!(token, Token::Sign(sign) if sign.is_whitespace()));
    let (required, list) = match tokens.as_slice() {
        [Token::Word(method), rest @ ..] if is_method(method) && is_counted(rest) => counted(rest)?,
        rest if is_counted(rest) => counted(rest)?,
        list => (1, list),
    };
    let names = names(list)?;
    Some(StandbyNames { required, names })
}

fn is_method(word: &str) -> bool {
    word.eq_ignore_ascii_case("first") || word.eq_ignore_ascii_case("any")
}

fn is_counted(tokens: &[Token]) -> bool {
    matches!(tokens, [Token::Word(number), Token::Sign('('), ..] if number.parse::<usize>().is_ok())
}

fn counted(tokens: &[Token]) -> Option<(usize, &[Token])> {
    let [
        Token::Word(number),
        Token::Sign('('),
        list @ ..,
        Token::Sign(')'),
    ] = tokens
    else {
        return None;
    };
    let required = number.parse().ok().filter(|required| *required > 0)?;
    Some((required, list))
}

/// Names with commas between them.
fn names(tokens: &[Token]) -> Option<Vec<String>> {
    tokens
        .split(|token| *token == Token::Sign(','))
        .map(|part| match part {
            [Token::Word(name)] => Some(name.clone()),
            [Token::Quoted(name)] => Some(name.clone()),
            _ => None,
        })
        .collect()
}

/// None where a quote is left open.
pub fn tokens(setting: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut characters = setting.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                let mut name = String::new();
                loop {
                    match characters.next()? {
                        // Two quotes stand for one.
                        '"' if characters.next_if_eq(&'"').is_some() => name.push('"'),
                        '"' => break,
                        other => name.push(other),
                    }
                }
                tokens.push(Token::Quoted(name));
            }
            first if is_of_word(first) => {
                let mut word = String::from(first);
                while let Some(next) = characters.next_if(|next| is_of_word(*next)) {
                    word.push(next);
                }
                tokens.push(Token::Word(word));
            }
            sign => tokens.push(Token::Sign(sign)),
        }
    }
    Some(tokens)
}

fn is_of_word(character: char) -> bool {
    !character.is_whitespace() && !matches!(character, '(' | ')' | ',' | '"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(setting: &str) -> Option<(usize, Vec<String>)> {
        parse(setting).map(|parsed| (parsed.required, parsed.names))
    }

    fn of(required: usize, names: &[&str]) -> Option<(usize, Vec<String>)> {
        Some((
            required,
            names.iter().map(|name| (*name).to_owned()).collect(),
        ))
    }

    #[test]
    fn every_form_of_the_setting_is_read() {
        assert_eq!(parsed("FIRST 2 (s1, s2, s3)"), of(2, &["s1", "s2", "s3"]));
        assert_eq!(parsed("any 1(s1,s2)"), of(1, &["s1", "s2"]));
        assert_eq!(parsed("3 (a, b, c)"), of(3, &["a", "b", "c"]));
        assert_eq!(parsed("s1, s2"), of(1, &["s1", "s2"]));
        assert_eq!(parsed("*"), of(1, &["*"]));
        assert!(parse("*").unwrap().is_any());
    }

    #[test]
    fn quotes_keep_blanks_keywords_and_themselves() {
        assert_eq!(
            parsed(r#"FIRST 1 ("node one", "a""b")"#),
            of(1, &["node one", "a\"b"])
        );
        assert_eq!(parsed(r#""first""#), of(1, &["first"]));
        // Without a number behind it, the word is a name.
        assert_eq!(parsed("first"), of(1, &["first"]));
    }

    #[test]
    fn what_the_server_would_refuse_is_not_read() {
        for setting in [
            "",
            "  ",
            "FIRST 2 (a, b",
            "FIRST 0 (a)",
            "2 ()",
            "a,,b",
            "\"a",
            "a b",
        ] {
            assert_eq!(parsed(setting), None, "{setting:?}");
        }
    }

    proptest! {
        #[test]
        fn no_setting_makes_it_panic(setting in ".*") {
            let _ = parse(&setting);
        }

        #[test]
        fn what_is_written_is_read_back(
            required in 1_usize..9,
            names in proptest::collection::vec("[a-z][a-z0-9_]{0,9}", 1..5)
        ) {
            let setting = format!("ANY {required} ({})", names.join(", "));
            prop_assert_eq!(parsed(&setting), Some((required, names)));
        }
    }
}
