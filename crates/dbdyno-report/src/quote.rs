//! Names and values as PostgreSQL's SQL and configuration grammars read them, and words as a shell does.

/// Lists whose elements the server quotes one by one: `'a, b'` would be one element to it.
/// Source: `GUC_LIST_QUOTE` in PostgreSQL's `guc_tables.c`.
const QUOTED_LISTS: [&str; 7] = [
    "local_preload_libraries",
    "oauth_validator_libraries",
    "search_path",
    "session_preload_libraries",
    "shared_preload_libraries",
    "temp_tablespaces",
    "unix_socket_directories",
];

/// Key words that cannot stand bare as a column's or setting's name.
/// Source: `reserved` and `type_func_name` in PostgreSQL's `kwlist.h`.
const RESERVED: &str = " all analyse analyze and any array as asc asymmetric authorization binary \
    both case cast check collate collation column concurrently constraint create cross \
    current_catalog current_date current_role current_schema current_time current_timestamp \
    current_user default deferrable desc distinct do else end except false fetch for foreign \
    freeze from full grant group having ilike in initially inner intersect into is isnull join \
    lateral leading left like limit localtime localtimestamp natural not notnull null offset on \
    only or order outer overlaps placing primary references returning right select session_user \
    similar some symmetric system_user table tablesample then to trailing true union unique user \
    using variadic verbose when where window with ";

/// Whether the setting is a list that takes one literal per element.
pub(crate) fn is_quoted_list(setting: &str) -> bool {
    QUOTED_LISTS.contains(&setting.to_ascii_lowercase().as_str())
}

/// The elements of a list value: between commas, trimmed, double quotes taken off.
pub(crate) fn list_elements(value: &str) -> Vec<String> {
    let mut elements = Vec::new();
    let mut element = String::new();
    let mut quoted = false;
    let mut chars = value.chars().peekable();
    // Blanks inside quotes belong to the element; `kept` marks the end of what may not be trimmed.
    let mut kept = 0;
    while let Some(char) = chars.next() {
        match char {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                element.push('"');
                kept = element.len();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => push_element(&mut elements, &mut element, &mut kept),
            _ if !quoted && char.is_whitespace() && element.is_empty() => {}
            _ => {
                element.push(char);
                if quoted {
                    kept = element.len();
                }
            }
        }
    }
    push_element(&mut elements, &mut element, &mut kept);
    elements
}

fn push_element(elements: &mut Vec<String>, element: &mut String, kept: &mut usize) {
    let trimmed = element.trim_end().len().max(*kept);
    element.truncate(trimmed);
    if !element.is_empty() {
        elements.push(std::mem::take(element));
    }
    *kept = 0;
}

/// A setting's name in SQL: bare where the grammar allows it, part by part of a dotted one.
pub(crate) fn sql_name(name: &str) -> String {
    name.split('.')
        .map(sql_identifier)
        .collect::<Vec<_>>()
        .join(".")
}

fn sql_identifier(part: &str) -> String {
    let mut chars = part.chars();
    let bare = chars
        .next()
        .is_some_and(|c| c.is_ascii_lowercase() || c == '_')
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !RESERVED.contains(&format!(" {part} "));
    if bare {
        part.to_owned()
    } else {
        format!("\"{}\"", part.replace('"', "\"\""))
    }
}

/// A string literal that reads the same whatever `standard_conforming_strings` says; none for a
/// value that `ALTER SYSTEM` refuses: it takes neither line breaks nor NUL.
pub(crate) fn sql_literal(value: &str) -> Option<String> {
    if value.contains(['\n', '\r', '\0']) {
        return None;
    }
    let quoted = value.replace('\'', "''");
    Some(if value.contains('\\') {
        format!("E'{}'", quoted.replace('\\', "\\\\"))
    } else {
        format!("'{quoted}'")
    })
}

/// Whether the configuration file's grammar takes the name.
pub(crate) fn is_conf_name(name: &str) -> bool {
    let mut parts = name.split('.');
    let part_ok = |part: &str| {
        let mut chars = part.chars();
        chars
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
    };
    parts.clone().count() <= 2 && parts.all(part_ok)
}

/// A value in postgresql.conf, always quoted; none for NUL, which no setting can hold.
pub(crate) fn conf_value(value: &str) -> Option<String> {
    if value.contains('\0') {
        return None;
    }
    let mut quoted = String::with_capacity(value.len() + 2);
    quoted.push('\'');
    for char in value.chars() {
        match char {
            '\'' => quoted.push_str("''"),
            '\\' => quoted.push_str("\\\\"),
            // A quoted value ends with its line; only the escape can hold a line feed.
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            _ => quoted.push(char),
        }
    }
    quoted.push('\'');
    Some(quoted)
}

/// Text made safe for a comment: one line, whatever was in it.
pub(crate) fn comment_text(text: &str) -> String {
    let one_line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    one_line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The word as a shell takes it for one.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads a literal as PostgreSQL's scanner does with standard-conforming strings.
    fn sql_back(literal: &str) -> String {
        let (escapes, body) = match literal.strip_prefix('E') {
            Some(body) => (true, body),
            None => (false, literal),
        };
        unquote(body, escapes)
    }

    /// Reads a quoted value as `DeescapeQuotedString` does.
    fn unquote(text: &str, escapes: bool) -> String {
        let inner = text.strip_prefix('\'').unwrap().strip_suffix('\'').unwrap();
        let mut value = String::new();
        let mut chars = inner.chars();
        while let Some(char) = chars.next() {
            match char {
                '\'' => assert_eq!(chars.next(), Some('\''), "the literal ended early: {text}"),
                '\\' if escapes => {
                    value.push(match chars.next().unwrap() {
                        'n' => '\n',
                        'r' => '\r',
                        other => other,
                    });
                    continue;
                }
                _ => {}
            }
            value.push(char);
        }
        value
    }

    #[test]
    fn names() {
        assert_eq!(sql_name("work_mem"), "work_mem");
        assert_eq!(
            sql_name("pg_stat_statements.track"),
            "pg_stat_statements.track"
        );
        assert_eq!(sql_name("DateStyle"), "\"DateStyle\"");
        assert_eq!(
            sql_name("a\"; DROP TABLE t; --"),
            "\"a\"\"; DROP TABLE t; --\""
        );
        assert_eq!(sql_name("user"), "\"user\"");
        assert_eq!(sql_name("port"), "port");
        assert_eq!(sql_name(""), "\"\"");
        assert!(is_conf_name("pg_stat_statements.track"));
        assert!(!is_conf_name("work_mem = 1\nfsync"));
        assert!(!is_conf_name("a.b.c") && !is_conf_name("") && !is_conf_name("a."));
    }

    #[test]
    fn values() {
        assert_eq!(sql_literal("128MB").unwrap(), "'128MB'");
        assert_eq!(sql_literal("it's").unwrap(), "'it''s'");
        assert_eq!(sql_literal(r"C:\x").unwrap(), r"E'C:\\x'");
        assert_eq!(sql_literal("a\nb"), None);
        assert_eq!(conf_value("a\nb's").unwrap(), r"'a\nb''s'");
        assert_eq!(conf_value("\0"), None);
        assert_eq!(comment_text("one\n\\! rm\r\ttwo"), "one \\! rm two");
    }

    #[test]
    fn lists() {
        assert_eq!(
            list_elements("pg_stat_statements, auto_explain"),
            ["pg_stat_statements", "auto_explain"]
        );
        assert_eq!(list_elements(r#""$user", public"#), ["$user", "public"]);
        assert_eq!(list_elements(r#"" a,""b ""#), [" a,\"b "]);
        assert!(list_elements("").is_empty());
    }

    proptest! {
        #[test]
        fn sql_literals_read_back(value in r#"[ -~'\\"äé—]{0,60}"#) {
            prop_assert_eq!(sql_back(&sql_literal(&value).unwrap()), value);
        }

        #[test]
        fn conf_values_read_back(value in r#"([ -~'\\"äé\n\r\t]|\PC){0,60}"#) {
            let text = conf_value(&value).unwrap();
            prop_assert!(!text.contains(['\n', '\r']));
            prop_assert_eq!(unquote(&text, true), value);
        }

        #[test]
        fn identifiers_read_back(name in r#"[a-zA-Z0-9_ "$;-]{0,30}"#) {
            let text = sql_name(&name);
            let back = match text.strip_prefix('"') {
                Some(rest) => rest.strip_suffix('"').unwrap().replace("\"\"", "\""),
                None => text,
            };
            prop_assert_eq!(back, name);
        }

        #[test]
        fn list_elements_read_back(elements in prop::collection::vec(r#"[a-z$/ ",']{1,12}"#, 0..5)) {
            let quoted: Vec<String> =
                elements.iter().map(|e| format!("\"{}\"", e.replace('"', "\"\""))).collect();
            prop_assert_eq!(list_elements(&quoted.join(", ")), elements);
        }
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(shell_word("--budget=quick"), "--budget=quick");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(
            shell_word("out/report.json:shipped"),
            "out/report.json:shipped"
        );
        assert_eq!(shell_word("my runs/it's.json"), r"'my runs/it'\''s.json'");
        let address = "postgres:///x?host=/tmp&user=a";
        assert_eq!(shell_word(address), format!("'{address}'"));
    }
}
