//! What a script may look like, and what is said of one that may not.

use proptest::prelude::*;

use super::*;

fn script(text: &str) -> Script {
    Script::parse("load.sql", text).unwrap_or_else(|error| panic!("{error}"))
}

/// The statements of the only transaction, as they are prepared.
fn sql(text: &str) -> Vec<String> {
    script(text).transactions[0]
        .body
        .statements()
        .map(Statement::sql)
        .collect()
}

const SHOP: &str = "\
-- Our shop.
\\set scale 3
-- dbdyno: setup
\\set rows 100 * :scale
CREATE TABLE t (id int, v int);
INSERT INTO t SELECT i, 1 -:rows FROM generate_series(1, :rows) i;
-- dbdyno: transaction look weight=9
\\set id random(1, :rows)
SELECT v FROM t WHERE id = :id;
-- dbdyno: transaction change
\\set id random_zipfian(1, \\
  :rows, 1.2)
UPDATE t SET v = v + 1 WHERE id = :id; -- one
UPDATE t SET v = v - 1 WHERE id = :id
-- dbdyno: check rows
SELECT count(*) FROM t HAVING count(*) <> :rows
";

#[test]
fn a_file_of_sections() {
    let shop = script(SHOP);
    assert_eq!(shop.transactions(), ["look", "change"]);
    assert_eq!(shop.transactions[0].weight, 9);
    assert_eq!(
        [shop.transactions[0].wrap, shop.transactions[1].wrap],
        [false, true]
    );
    assert!(shop.writes());
    let values = shop.setup_values().unwrap();
    assert_eq!(values[1..], [Value::Int(3), Value::Int(300)]);
    assert_eq!(
        shop.checks[0].query.literal(&values),
        "SELECT count(*) FROM t HAVING count(*) <> 300"
    );
    let insert = shop.setup.statements().nth(1).unwrap();
    let negative: Vec<Value> = values.iter().map(|_| Value::Int(-5)).collect();
    assert!(
        insert.literal(&negative).contains("1 -(-5) FROM"),
        "not a comment"
    );
}

#[test]
fn a_pgbench_script_is_one_transaction_as_it_stands() {
    let text = "\\set aid random(1, 100000)\nBEGIN;\nUPDATE a SET b = 1 WHERE aid = :aid;\nEND;\n";
    let plain = Script::parse("/tmp/my.load.sql", text).unwrap();
    assert_eq!(plain.transactions(), ["my.load"]);
    assert!(!plain.transactions[0].wrap && plain.writes());
    assert_eq!(plain.transactions[0].body.statements().count(), 3);
    assert!(!script("BEGIN; SELECT 1; (SELECT 2); COMMIT").writes());
}

#[test]
fn own_transaction_words_are_honoured() {
    let own = script("-- dbdyno: transaction a\nBEGIN; SELECT 1; ROLLBACK;");
    assert!(!own.transactions[0].wrap);
    let wrapped = script("-- dbdyno: transaction a\nSELECT 1; SELECT 2;");
    assert!(wrapped.transactions[0].wrap);
}

#[test]
fn variables_are_bound_only_where_sql_reads_them() {
    for (text, expected) in [
        ("SELECT :x, :x::text", "SELECT $1, $2::text"),
        (
            "SELECT ':x' || \":x\" || $$:x$$ || $a$ $$ :x $a$",
            "SELECT ':x' || \":x\" || $$:x$$ || $a$ $$ :x $a$",
        ),
        ("SELECT 'it''s :x', E'\\':x'", "SELECT 'it''s :x', E'\\':x'"),
        ("SELECT 1 -- :x; ?\n, :x", "SELECT 1 -- :x; ?\n, $1"),
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
        ("SELECT :client_id", "SELECT $1"),
    ] {
        assert_eq!(sql(&format!("\\set x 1\n{text};")), [expected]);
    }
    assert_eq!(
        sql("SELECT 1;;\n -- c\n ; SELECT 2"),
        ["SELECT 1", "SELECT 2"]
    );
}

#[test]
fn errors_name_line_and_next_step() {
    for (text, line, message, hint) in [
        ("", 1, "empty", "at least one SQL statement"),
        (
            "-- just a word\n\n",
            1,
            "empty",
            "at least one SQL statement",
        ),
        (
            "SELECT 1;\nSELECT :nope;",
            2,
            ":nope is not defined",
            "\\set nope",
        ),
        (
            "\\set a :b + 1\nSELECT 1",
            1,
            ":b is not defined",
            "\\set b",
        ),
        (
            "\\set a rnd(1, 2)\nSELECT 1",
            1,
            "unknown function rnd",
            "random_zipfian",
        ),
        (
            "\n\\sleep 10 ms\nSELECT 1",
            2,
            "unknown command \\sleep",
            "only \\set",
        ),
        (
            "\\set a\nSELECT 1",
            1,
            "cannot read",
            "\\set NAME EXPRESSION",
        ),
        (
            "\\set client_id 4\nSELECT 1",
            1,
            "cannot be set",
            "another name",
        ),
        (
            "SELECT\n 'abc;\n",
            2,
            "quote is not ended",
            "close it with '",
        ),
        ("SELECT $x$ abc;\n", 1, "dollar quote is not ended", "$x$"),
        ("/* abc\nSELECT 1", 1, "comment is not ended", "*/"),
        ("SELECT 1; \\set a 1", 1, "backslash within", "of its own"),
        ("SELECT $1", 1, "numbered parameters", ":name"),
        (
            "SELECT 1;\n-- dbdyno: transaction a\nSELECT 1",
            1,
            "outside of any section",
            "above it",
        ),
        (
            "-- dbdyno: transaction a\n-- dbdyno: check b\nSELECT 1",
            1,
            "empty",
            "statement",
        ),
        (
            "-- dbdyno: setup\nSELECT 1",
            1,
            "no transaction",
            "-- dbdyno: transaction",
        ),
        (
            "-- dbdyno: transaction a weight=0\nSELECT 1",
            1,
            "weight=0",
            "1 or more",
        ),
        (
            "-- dbdyno: transaction a weight=x\nSELECT 1",
            1,
            "weight=x",
            "integer",
        ),
        (
            "-- dbdyno: transaction weight=2\nSELECT 1",
            1,
            "no name",
            "NAME",
        ),
        (
            "-- dbdyno: transactions a\nSELECT 1",
            1,
            "unknown section",
            "sections are",
        ),
        (
            "-- dbdyno: transaction a\nSELECT 1\n-- dbdyno: transaction a\nSELECT 1",
            3,
            "two transaction",
            "own name",
        ),
        (
            "-- dbdyno: transaction a\nSELECT 1\n-- dbdyno: check c\nSELECT 1; SELECT 2",
            3,
            "not a single",
            "one query",
        ),
    ] {
        let error = Script::parse("load.sql", text).expect_err(text);
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.to_string().starts_with("load.sql:"), "{error}");
        assert!(error.message.contains(message), "{text}: {error}");
        assert!(
            error.hint().is_some_and(|said| said.contains(hint)),
            "{text}: {:?}",
            error.hint()
        );
    }
    let drawn = Script::parse("l", "SELECT 1;\n\\set a random(5, 1)\nSELECT :a").unwrap_err();
    assert_eq!(
        drawn.to_string(),
        "l:2: random: the lower bound 5 is above the upper bound 1"
    );
}

/// Everything but the line numbers, which printing changes.
fn shape(script: &Script) -> Script {
    let mut script = script.clone();
    let bodies = script
        .transactions
        .iter_mut()
        .map(|transaction| &mut transaction.body);
    for body in bodies.chain([&mut script.setup]) {
        for step in &mut body.steps {
            match step {
                Step::Set { line, .. } => *line = 0,
                Step::Run(statement) => statement.line = 0,
            }
        }
    }
    for check in &mut script.checks {
        check.query.line = 0;
    }
    script
}

fn returns(script: &Script) -> Result<(), TestCaseError> {
    let printed = script.to_string();
    let back = Script::parse(script.file(), &printed)
        .map_err(|error| TestCaseError::fail(format!("{error}\n{printed}")))?;
    prop_assert_eq!(shape(&back), shape(script), "{}", printed);
    Ok(())
}

#[test]
fn the_example_returns_from_print() {
    returns(&script(SHOP)).unwrap();
    let header = include_str!("mod.rs");
    let example: String = header
        .lines()
        .skip_while(|line| !line.contains("```sql"))
        .skip(1)
        .take_while(|line| !line.contains("```"))
        .map(|line| format!("{}\n", line.trim_start_matches("//!").trim_start()))
        .collect();
    assert_eq!(script(&example).transactions(), ["look", "transfer"]);
    returns(&script(&example)).unwrap();
}

/// Pieces of scripts, sound and unsound, in any order.
fn fragments() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\\set a 1\n",
        "\\set b random(1, :a * 10)\n",
        "\\set ",
        "\\",
        ":a",
        ":b",
        "::int ",
        ":",
        "SELECT ",
        "UPDATE t ",
        "BEGIN",
        "ROLLBACK",
        ";",
        ";\n",
        "\n",
        "'",
        "''",
        "\"",
        "$$",
        "$q$",
        "E'",
        "\\'",
        "-- c\n",
        "--",
        "/*",
        "*/",
        "-- dbdyno: setup\n",
        "\n-- dbdyno: transaction x weight=3\n",
        "\n-- dbdyno: transaction y\n",
        "\n-- dbdyno: check c\n",
        "-- dbdyno:",
        "é",
        "1.5",
        "(",
        ")",
        " ",
        "\t",
        "\r\n",
        "e'x'",
        "$1",
        "\0",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_text_panics_and_what_reads_returns(text in prop_oneof![fragments(), any::<String>()]) {
        if let Ok(script) = Script::parse("f.sql", &text) {
            returns(&script)?;
        }
    }

    #[test]
    fn no_expression_panics(text in "[-+*/%(): ,.0-9eax]{0,40}|random(_zipfian)?\\([-0-9, .e]{0,40}\\)") {
        let text = format!("\\set a 5\n\\set x {text}\nSELECT :x");
        if let Ok(script) = Script::parse("f.sql", &text) {
            returns(&script)?;
        }
    }
}
