//! What a script may look like, and what is said of one that may not.

mod branches;
mod dialects;
mod returns;

use super::*;

const ENGINES: [Engine; 2] = [Engine::Postgres, Engine::MySql];

fn script(text: &str) -> Script {
    Script::parse("load.sql", text).unwrap_or_else(|error| panic!("{error}"))
}

fn reading(engine: Engine, text: &str) -> Arc<Reading> {
    let script = Script::parse_for(engine, "load.sql", text);
    let script = script.unwrap_or_else(|error| panic!("{error}"));
    Arc::clone(script.reading(engine).unwrap())
}

/// The statements of the first transaction, as they are prepared.
fn sql(engine: Engine, text: &str) -> Vec<String> {
    let reading = reading(engine, text);
    let statements = reading.transactions[0].body.statements();
    statements.map(|statement| statement.sql(engine)).collect()
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
    let script = script(SHOP);
    assert_eq!(script.transactions(), ["look", "change"]);
    assert!(script.writes());
    for engine in ENGINES {
        let shop = script.reading(engine).unwrap();
        assert_eq!(shop.transactions[0].weight, 9);
        assert_eq!(
            [shop.transactions[0].wrap, shop.transactions[1].wrap],
            [false, true]
        );
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
}

#[test]
fn a_pgbench_script_is_one_transaction_as_it_stands() {
    let text = "\\set aid random(1, 100000)\nBEGIN;\nUPDATE a SET b = 1 WHERE aid = :aid;\nEND;\n";
    let plain = Script::parse("/tmp/my.load.sql", text).unwrap();
    assert_eq!(plain.transactions(), ["my.load"]);
    assert!(plain.writes());
    let reading = plain.reading(Engine::Postgres).unwrap();
    assert!(!reading.transactions[0].wrap);
    assert_eq!(reading.transactions[0].body.statements().count(), 3);
    assert!(!script("BEGIN; SELECT 1; (SELECT 2); COMMIT").writes());
}

#[test]
fn own_transaction_words_are_honoured() {
    for (statements, wraps) in [
        ("BEGIN; SELECT 1; ROLLBACK", false),
        ("start transaction; SELECT 1; commit work", false),
        ("SELECT 1; SELECT 2", true),
        ("SELECT 1", false),
        ("SAVEPOINT s; SELECT 1; ROLLBACK TO s", true),
        ("SELECT 1; ROLLBACK WORK TO SAVEPOINT s", true),
        ("BEGIN NOT ATOMIC SELECT 1; SELECT 2", true),
        ("START REPLICA; SELECT 1", true),
    ] {
        let text = format!("-- dbdyno: transaction a\n{statements};");
        for engine in ENGINES {
            let reading = reading(engine, &text);
            assert_eq!(reading.transactions[0].wrap, wraps, "{statements}");
        }
    }
}

#[test]
fn what_only_reads_is_known_by_its_first_word() {
    for (statement, writes) in [
        ("select 1", false),
        ("(SELECT 1)", false),
        ("VALUES (1)", false),
        ("SHOW TABLES", false),
        ("SET @a = 1", false),
        ("INSERT INTO t VALUES (1)", true),
        ("WITH a AS (SELECT 1) DELETE FROM t", true),
        ("CALL p()", true),
    ] {
        assert_eq!(script(statement).writes(), writes, "{statement}");
    }
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
            "\n\\shell ls\nSELECT 1",
            2,
            "unknown command \\shell",
            "no programs",
        ),
        (
            "\\setrandom a 1 2\nSELECT 1",
            1,
            "unknown command \\setrandom",
            "\\set NAME random",
        ),
        (
            "SELECT 1 \\gset\n",
            1,
            "unknown command \\gset",
            "join the two",
        ),
        (
            "\\startpipeline\nSELECT 1",
            1,
            "unknown command \\startpipeline",
            "leave it out",
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
        ("/* abc\nSELECT 1", 1, "comment is not ended", "*/"),
        ("SELECT 1; \\set a 1", 1, "backslash within", "of its own"),
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
        let whole = Script::parse("load.sql", text).expect_err(text);
        let [postgres, mysql] =
            ENGINES.map(|engine| Script::parse_for(engine, "load.sql", text).expect_err(text));
        for error in [whole, postgres, mysql] {
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.to_string().starts_with("load.sql:"), "{error}");
            assert!(error.message.contains(message), "{text}: {error}");
            assert!(
                error.hint().is_some_and(|said| said.contains(hint)),
                "{text}: {:?}",
                error.hint()
            );
        }
    }
    let drawn = Script::parse("l", "SELECT 1;\n\\set a random(5, 1)\nSELECT :a").unwrap_err();
    assert_eq!(
        drawn.to_string(),
        "l:2:1: random: the lower bound 5 is above the upper bound 1"
    );
}

#[test]
fn errors_know_their_column() {
    for (text, line, column) in [
        ("SELECT 1;\n  SELECT :nope;", 2, 10),
        ("é SELECT 'x", 1, 10),
        ("\\set a 1 + \\\n  nope(2)\nSELECT 1", 2, 3),
        ("  \\set a :b\nSELECT 1", 1, 10),
        ("\\set 1\nSELECT 1", 1, 6),
        ("SELECT 1;\n \\if 1\nSELECT 1", 2, 2),
        ("\\if 1\n\\else x\n\\endif\nSELECT 1", 2, 7),
        ("SELECT 1 /* x", 1, 10),
        ("\\sleep 5 + x ms\nSELECT 1", 1, 12),
    ] {
        let error = Script::parse("load.sql", text).expect_err(text);
        let at = (error.line, error.column);
        assert_eq!(at, (line, column), "{text}: {error}");
    }
}
