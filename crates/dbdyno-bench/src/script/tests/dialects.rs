//! Strings, names, comments and parameters, which are not the same to both engines.

use proptest::prelude::*;

use super::*;

#[test]
fn variables_are_bound_where_postgres_reads_them() {
    for (text, expected) in [
        ("SELECT :x, :x::text", "SELECT $1, $2::text"),
        (
            "SELECT ':x' || \":x\" || $$:x$$ || $a$ $$ :x $a$",
            "SELECT ':x' || \":x\" || $$:x$$ || $a$ $$ :x $a$",
        ),
        ("SELECT 'it''s :x', E'\\':x'", "SELECT 'it''s :x', E'\\':x'"),
        ("SELECT '\\', :x", "SELECT '\\', $1"),
        ("SELECT 1 -- :x; ?\n, :x", "SELECT 1 -- :x; ?\n, $1"),
        ("SELECT 5--:x\n, :x", "SELECT 5--:x\n, $1"),
        ("SELECT 5 # :x, `:x`", "SELECT 5 # $1, `$2`"),
        (
            "SELECT 1 /* :x /* ; */ :x */ + :x",
            "SELECT 1 /* :x /* ; */ :x */ + $1",
        ),
        (
            "SELECT a[1:2], b $x$;$x$, te$t :x",
            "SELECT a[1:2], b $x$;$x$, te$t $1",
        ),
        (
            "SELECT '2020-01-01 10:xx'::date, c$1 FROM t WHERE a=:x",
            "SELECT '2020-01-01 10:xx'::date, c$1 FROM t WHERE a=$1",
        ),
        ("SELECT j ? 'k', :client_id", "SELECT j ? 'k', $1"),
    ] {
        let text = format!("\\set x 1\n{text};");
        assert_eq!(sql(Engine::Postgres, &text), [expected]);
    }
}

#[test]
fn variables_are_bound_where_mysql_reads_them() {
    for (text, expected) in [
        ("SELECT :x, :x + 1", "SELECT ?, ? + 1"),
        (
            "SELECT ':x', \":x\", `:x`, 'it''s :x', \"a \"\":x\"",
            "SELECT ':x', \":x\", `:x`, 'it''s :x', \"a \"\":x\"",
        ),
        (
            "SELECT 'it\\'s :x', \"a \\\" :x\", `\\`, :x",
            "SELECT 'it\\'s :x', \"a \\\" :x\", `\\`, ?",
        ),
        ("SELECT 1 -- :x; ?\n, :x", "SELECT 1 -- :x; ?\n, ?"),
        ("SELECT 1 # :x; '\n, :x", "SELECT 1 # :x; '\n, ?"),
        ("SELECT 5--:x", "SELECT 5--?"),
        ("SELECT 1 --\n + :x", "SELECT 1 --\n + ?"),
        (
            "SELECT 1 /* :x; /* ' */ + :x /*! + :x */",
            "SELECT 1 /* :x; /* ' */ + ? /*! + :x */",
        ),
        ("/*!40101 SET @a = 1 */", "/*!40101 SET @a = 1 */"),
        ("/*M!100100 SET @a = 1 */", "/*M!100100 SET @a = 1 */"),
        ("SET @a := :x, @b:=:x", "SET @a := ?, @b:=?"),
        ("SELECT a$1, $1, $$, :x", "SELECT a$1, $1, $$, ?"),
        (
            "SELECT _utf8mb4'é :x', N':x', :x",
            "SELECT _utf8mb4'é :x', N':x', ?",
        ),
    ] {
        let text = format!("\\set x 1\n{text};");
        assert_eq!(sql(Engine::MySql, &text), [expected]);
    }
}

#[test]
fn statements_end_where_the_engine_ends_them() {
    for engine in ENGINES {
        let text = "SELECT 1;;\n -- c\n ; SELECT 2";
        assert_eq!(sql(engine, text), ["SELECT 1", "SELECT 2"]);
    }
    let procedure = "\
SELECT 1;
delimiter //
CREATE PROCEDURE p() BEGIN SELECT ';//'; SELECT 2; END //
SELECT 3//
DELIMITER ;
SELECT 4; SELECT 5";
    assert_eq!(
        sql(Engine::MySql, procedure),
        [
            "SELECT 1",
            "CREATE PROCEDURE p() BEGIN SELECT ';//'; SELECT 2; END",
            "SELECT 3",
            "SELECT 4",
            "SELECT 5",
        ]
    );
    assert_eq!(
        sql(Engine::Postgres, "SELECT 1; DELIMITER //\n; SELECT 2")[1],
        "DELIMITER //"
    );
    let comment = sql(
        Engine::MySql,
        "# one\n-- two\n/* three */ SELECT 1; -- four",
    );
    assert_eq!(comment, ["SELECT 1"]);
}

#[test]
fn what_one_engine_cannot_read_the_other_may() {
    for (text, sound, line, column, message) in [
        (
            "SELECT\n 'it\\'s'",
            Engine::MySql,
            2,
            8,
            "quote is not ended",
        ),
        ("SELECT '\\'", Engine::Postgres, 1, 8, "quote is not ended"),
        ("SELECT 1,\n $x$ abc", Engine::MySql, 2, 2, "dollar quote"),
        ("SELECT $1", Engine::MySql, 1, 8, "numbered parameters"),
        ("SELECT a ? b", Engine::Postgres, 1, 10, "without a name"),
        ("SELECT 1 # '", Engine::MySql, 1, 12, "quote is not ended"),
        (
            "SELECT 1 /* /* */",
            Engine::MySql,
            1,
            10,
            "comment is not ended",
        ),
        (
            "DELIMITER\t' '\nSELECT 1",
            Engine::Postgres,
            1,
            1,
            "cannot end",
        ),
        (
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE t",
            Engine::Postgres,
            1,
            1,
            "no file of this machine",
        ),
    ] {
        let script = script(text);
        for engine in ENGINES {
            let parsed = Script::parse_for(engine, "load.sql", text);
            assert_eq!(script.reading(engine).is_ok(), engine == sound, "{text}");
            assert_eq!(script.print(engine).is_ok(), engine == sound, "{text}");
            assert_eq!(parsed.is_ok(), engine == sound, "{text}");
            if let Err(error) = parsed {
                let at = (error.line, error.column);
                assert_eq!(at, (line, column), "{text}: {error}");
                assert!(error.message.contains(message), "{text}: {error}");
            }
        }
        assert_eq!(script.transactions(), ["load"]);
    }
    let load = "LOAD DATA INFILE '/local/x' INTO TABLE t";
    assert_eq!(sql(Engine::MySql, load), [load]);
}

#[test]
fn the_error_that_stands_further_down_is_told() {
    // To MySQL the first string ends in the second line, where another begins.
    let text = "SELECT 'a\\';\nSELECT 'b';\nSELECT :c";
    let error = Script::parse("load.sql", text).unwrap_err();
    assert_eq!((error.line, error.column), (3, 8), "{error}");
    let error = Script::parse_for(Engine::MySql, "load.sql", text).unwrap_err();
    assert_eq!((error.line, error.column), (2, 10), "{error}");
}

/// A part of a statement: code, a variable, or what no variable is read in.
#[derive(Debug, Clone)]
enum Part {
    Code(&'static str),
    Variable,
    Quoted(String),
}

const PIECES: [&str; 20] = [
    "a",
    ":x",
    " ",
    ";",
    "?",
    "$1",
    "'",
    "\"",
    "`",
    "\\",
    "\n",
    "--",
    "#",
    "/*",
    "*/",
    "$$",
    "é",
    "::",
    "-- :x",
    "DELIMITER //",
];

/// What may stand within quotes, piece by piece.
fn content() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..8)
}

fn without(pieces: &[&str], unwanted: &[char]) -> String {
    let kept = pieces.iter().filter(|piece| !piece.contains(unwanted));
    kept.copied().collect()
}

/// The pieces as a string, a name or a comment of one of the engine's kinds.
fn quote(engine: Engine, kind: usize, pieces: &[&str]) -> String {
    let text = pieces.concat();
    let escaped = text.replace('\\', "\\\\");
    let line = without(pieces, &['\n']);
    let block = without(pieces, &['*', '/']);
    match (engine, kind) {
        (Engine::Postgres, 0) => format!("'{}'", text.replace('\'', "''")),
        (Engine::Postgres, 1) => format!("\"{}\"", text.replace('"', "\"\"")),
        (Engine::Postgres, 2) => format!("E'{}'", escaped.replace('\'', "\\'")),
        (Engine::Postgres, 3) => format!("$q${text}$q$"),
        (Engine::Postgres, 4) => format!("--{line}\n"),
        (Engine::Postgres, _) => format!("/*{block}/*{block}*/{block}*/"),
        (Engine::MySql, 0) => format!("'{}'", escaped.replace('\'', "''")),
        (Engine::MySql, 1) => format!("\"{}\"", escaped.replace('"', "\\\"")),
        (Engine::MySql, 2) => format!("`{}`", text.replace('`', "``")),
        (Engine::MySql, 3) => format!("#{line}\n"),
        (Engine::MySql, 4) => format!("-- {line}\n"),
        (Engine::MySql, 5) => format!("/*!{block}*/"),
        (Engine::MySql, _) => format!("/*{block}*/"),
    }
}

fn part(engine: Engine) -> impl Strategy<Value = Part> {
    let code = vec![
        "+", "1", "a", ",", "(", ")", "::x", "@b :=", "<>", "- 5", "é",
    ];
    prop_oneof![
        prop::sample::select(code).prop_map(Part::Code),
        Just(Part::Variable),
        (0_usize..7, content())
            .prop_map(move |(kind, pieces)| Part::Quoted(quote(engine, kind, &pieces))),
    ]
}

fn parts() -> impl Strategy<Value = (Engine, Vec<Part>)> {
    prop::sample::select(ENGINES.to_vec())
        .prop_flat_map(|engine| (Just(engine), prop::collection::vec(part(engine), 0..12)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn nothing_within_quotes_or_comments_changes((engine, parts) in parts()) {
        let (mut written, mut expected) = ("SELECT ".to_owned(), "SELECT ".to_owned());
        let mut number = 0;
        for part in &parts {
            match part {
                Part::Code(code) => {
                    written.push_str(code);
                    expected.push_str(code);
                }
                Part::Quoted(text) => {
                    written.push_str(text);
                    expected.push_str(text);
                }
                Part::Variable => {
                    number += 1;
                    written.push_str(":x");
                    expected.push_str(&match engine {
                        Engine::Postgres => format!("${number}"),
                        Engine::MySql => "?".to_owned(),
                    });
                }
            }
            written.push(' ');
            expected.push(' ');
        }
        let text = format!("\\set x 1\n{written} end; SELECT 2;");
        let parsed = Script::parse_for(engine, "f.sql", &text);
        let parsed = parsed.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        let reading = parsed.reading(engine).unwrap();
        let statements = reading.transactions[0].body.statements();
        let read: Vec<String> = statements.map(|statement| statement.sql(engine)).collect();
        prop_assert_eq!(read, [format!("{expected} end"), "SELECT 2".to_owned()]);
    }
}
