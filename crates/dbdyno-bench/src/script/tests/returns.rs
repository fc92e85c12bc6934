//! What is printed reads as what was printed, for each engine.

use proptest::prelude::*;

use super::super::body::{Body, Step};
use super::super::error::Place;
use super::*;

/// Everything but the places, which printing changes.
fn shape(reading: &Reading) -> Reading {
    let mut reading = reading.clone();
    reading.setup = placeless(reading.setup);
    for transaction in &mut reading.transactions {
        transaction.body = placeless(std::mem::take(&mut transaction.body));
    }
    for check in &mut reading.checks {
        check.query.place = Place::line(0);
    }
    reading
}

fn placeless(mut body: Body) -> Body {
    for step in &mut body.steps {
        match step {
            Step::Set { place, .. } | Step::If { place, .. } | Step::Sleep { place, .. } => {
                *place = Place::line(0);
            }
            Step::Run { statement, .. } => statement.place = Place::line(0),
            Step::Leave { .. } | Step::End => {}
        }
    }
    body
}

fn returns(script: &Script) -> Result<(), TestCaseError> {
    for engine in ENGINES {
        let Ok(reading) = script.reading(engine) else {
            continue;
        };
        let printed = script.print(engine).unwrap();
        let back = Script::parse_for(engine, script.file(), &printed)
            .map_err(|error| TestCaseError::fail(format!("{error}\n{printed}")))?;
        let back = back.reading(engine).unwrap();
        prop_assert_eq!(shape(back), shape(reading), "{}", printed);
    }
    Ok(())
}

#[test]
fn the_examples_return_from_print() {
    returns(&script(SHOP)).unwrap();
    let header = include_str!("../mod.rs");
    let example: String = header
        .lines()
        .skip_while(|line| !line.contains("```sql"))
        .skip(1)
        .take_while(|line| !line.contains("```"))
        .map(|line| format!("{}\n", line.trim_start_matches("//!").trim_start()))
        .collect();
    assert_eq!(script(&example).transactions(), ["look", "transfer"]);
    returns(&script(&example)).unwrap();
    let branches = "\
\\if :client_id = 0 or not random(0, 1) < 1
\\sleep :client_id * 2 ms
\\elif hash(:client_id, 3) % 2
SELECT ':x' # 'one'
;
\\set a 1
\\else
SELECT 2;
\\endif
";
    let branches = script(branches);
    assert!(
        ENGINES
            .iter()
            .all(|engine| branches.reading(*engine).is_ok())
    );
    returns(&branches).unwrap();
    let delimiter = "\
DELIMITER $$
CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW BEGIN SET @n = 1; END -- $$
$$
";
    let delimiter = Script::parse_for(Engine::MySql, "f.sql", delimiter).unwrap();
    let printed = delimiter.print(Engine::MySql).unwrap();
    assert!(printed.contains("SET @n = 1; END -- $$\n$$\n"), "{printed}");
    returns(&delimiter).unwrap();
}

/// Pieces of scripts, sound and unsound, in any order.
fn fragments() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\\set a 1\n",
        "\\set b random(1, :a * 10)\n",
        "\\set ",
        "\\if :a\n",
        "\n\\elif 0\n",
        "\n\\else\n",
        "\n\\endif\n",
        "\\sleep 1 ms\n",
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
        "`",
        "$$",
        "$q$",
        "E'",
        "\\'",
        "-- c\n",
        "--",
        "# c\n",
        "#",
        "/*",
        "/*!",
        "*/",
        "DELIMITER //\n",
        "DELIMITER ",
        "//",
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
        "?",
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
    fn no_expression_panics(text in "[-+*/%(): ,.0-9eax<>=!]{0,40}|random(_zipfian)?\\([-0-9, .e]{0,40}\\)|(not |[0-3]| and | or |\\(|\\)|<|=|pi\\(\\)|least\\(|, ){0,20}") {
        let text = format!("\\set a 5\n\\set x {text}\nSELECT :x");
        if let Ok(script) = Script::parse("f.sql", &text) {
            returns(&script)?;
        }
    }
}
