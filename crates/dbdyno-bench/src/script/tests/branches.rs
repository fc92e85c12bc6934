//! `\if` and `\sleep`: what is done in which case, and which variables are known where.

use super::super::body::Act;
use super::super::random::Random;
use super::*;

/// What the terminal with this number does: its statements, and its pauses in microseconds.
fn walk(text: &str, client: i64) -> Vec<String> {
    let reading = reading(Engine::Postgres, text);
    let body = &reading.transactions[0].body;
    let mut values = body.values();
    values[0] = Value::Int(client);
    let (mut at, mut random) = (0, Random::new(1, 1));
    let mut done = Vec::new();
    while let Some(act) = body.next(&mut at, &mut values, &mut random).unwrap() {
        done.push(match act {
            Act::Run { number, statement } => {
                let whole: Vec<_> = body.statements().collect();
                assert_eq!(whole[number], statement);
                statement.literal(&values)
            }
            Act::Sleep(pause) => format!("{} us", pause.as_micros()),
        });
    }
    done
}

fn refused(text: &str) -> ScriptError {
    Script::parse("load.sql", text).expect_err(text)
}

#[test]
fn one_arm_is_taken() {
    let text = "\
\\set x 0
\\if :client_id = 0
  \\set x 10
  SELECT 'first', :x;
\\elif :client_id < 3
  \\if :client_id = 1
    SELECT 'second';
  \\endif
  SELECT 'third';
\\else
  \\if :client_id = 3
    SELECT 'fourth'
  \\else
    SELECT 'fifth'
  \\endif
\\endif
SELECT 'end', :x;";
    for (client, expected) in [
        (0, &["SELECT 'first', 10", "SELECT 'end', 10"][..]),
        (1, &["SELECT 'second'", "SELECT 'third'", "SELECT 'end', 0"]),
        (2, &["SELECT 'third'", "SELECT 'end', 0"]),
        (3, &["SELECT 'fourth'", "SELECT 'end', 0"]),
        (4, &["SELECT 'fifth'", "SELECT 'end', 0"]),
    ] {
        assert_eq!(walk(text, client), expected, "{client}");
    }
    assert_eq!(
        walk("\\if 0\nSELECT 1;\n\\endif\nSELECT 2", 0),
        ["SELECT 2"]
    );
}

#[test]
fn pauses_have_units() {
    let text = "\\set n 5\n\\sleep 10ms\n\\sleep :n us\n\\sleep 1.5 s\n\\sleep (:n + 1)ms\n\
        \\sleep 2\n\\sleep :n\nSELECT 1";
    let expected = [
        "10000 us",
        "5 us",
        "1500000 us",
        "6000 us",
        "2000000 us",
        "5000000 us",
        "SELECT 1",
    ];
    assert_eq!(walk(text, 0), expected);
    for pause in ["-1 ms", "1e9", "100000 s"] {
        let error = refused(&format!("SELECT 1;\n\\sleep {pause}"));
        assert_eq!(error.line, 2, "{error}");
        assert!(error.hint().unwrap().contains("a day"), "{error}");
    }
    let error = refused("-- dbdyno: setup\n\\sleep 1\n-- dbdyno: transaction a\nSELECT 1");
    assert!(error.message.contains("cannot stand here"), "{error}");
}

#[test]
fn a_variable_is_known_where_every_way_sets_it() {
    let every = "\\if :client_id\n\\set a 1\n\\elif 0\n\\set a 2\n\\else\n\\set a 3\n\\endif\n";
    assert_eq!(walk(&format!("{every}SELECT :a"), 1), ["SELECT 1"]);
    assert_eq!(walk(&format!("{every}SELECT :a"), 0), ["SELECT 3"]);
    for text in [
        // Without \else none may be set.
        "\\if 1\n\\set a 1\n\\endif\nSELECT :a",
        "\\if 1\n\\set a 1\n\\else\nSELECT 1;\n\\endif\nSELECT :a",
        "\\if 1\n\\set a 1\n\\elif 1\n\\endif\nSELECT :a",
        // Neither is one of another arm.
        "\\if 1\n\\set a 1\n\\else\nSELECT :a;\n\\endif",
        "\\if 0\n\\set a 1\n\\elif :a\n\\endif\nSELECT 1",
    ] {
        let error = refused(text);
        assert!(error.message.contains("on every way"), "{text}: {error}");
        assert!(error.hint().unwrap().contains("\\else"), "{error}");
    }
    let inner = "\\if 1\n\\set a 1\n\\if :a\nSELECT :a;\n\\endif\n\\endif\nSELECT 2";
    assert_eq!(walk(inner, 0), ["SELECT 1", "SELECT 2"]);
    let setup = "-- dbdyno: setup\n\\if 1\n\\set a 1\n\\endif\n-- dbdyno: transaction t\nSELECT :a";
    assert!(refused(setup).message.contains("on every way"));
}

#[test]
fn branches_are_whole() {
    for (text, message) in [
        ("\\endif\nSELECT 1", "no \\if that is open"),
        ("\\else\nSELECT 1", "no \\if that is open"),
        ("\\elif 1\nSELECT 1", "no \\if that is open"),
        ("\\if 1\nSELECT 1", "\\if is not ended"),
        ("\\if 1\n\\else\n\\else\n\\endif\nSELECT 1", "not the last"),
        (
            "\\if 1\n\\else\n\\elif 1\n\\endif\nSELECT 1",
            "not the last",
        ),
        ("\\if\nSELECT 1", "before the end of the line"),
        ("\\if 1\n\\endif now\nSELECT 1", "unexpected 'now'"),
        (
            "-- dbdyno: transaction a\n\\if 1\nSELECT 1\n-- dbdyno: transaction b\n\\endif\nSELECT 1",
            "\\if is not ended",
        ),
    ] {
        let error = refused(text);
        assert!(error.message.contains(message), "{text}: {error}");
    }
}
