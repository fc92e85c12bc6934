//! What is encoded without a server, what a server leaves out, and what is made once.

use super::*;
use crate::generate::Generator;
use crate::ledger::Step;
use crate::tpcc::generate;

#[test]
fn what_the_server_left_out_is_missed() {
    assert!(all_taken(3, 3).is_ok());
    let error = all_taken(2, 3).unwrap_err();
    assert!(error.to_string().contains("2 rows of 3"), "{error}");
}

#[test]
fn what_is_generated_is_what_the_encoder_makes() {
    let config = Config {
        warehouses: 1,
        seed: 7,
    };
    let stop = AtomicBool::new(false);
    let generator = Generator {
        threads: 2,
        progress: &|_| (),
        stop: &stop,
    };
    let generated = generate(&generator, Engine::MySql, &config).unwrap();
    assert_eq!(generated.tables.len(), 9);
    for table in Table::ALL {
        let mut source = source(7, table, u32::from(table != Table::Item));
        let mut encoder = Encoder::new(Form::File);
        assert!(encoder.fill(&mut source, usize::MAX, u64::MAX));
        let mut lines = Vec::new();
        let rows = encoder.take(&mut lines);
        let mut told = generated.tables.iter();
        let told = told.find(|told| told.table == table.name()).unwrap();
        let expected = (rows, lines.len() as u64);
        assert_eq!((told.rows, told.bytes), expected, "{table:?}");
    }
    stop.store(true, Ordering::Relaxed);
    let stopped = generate(&generator, Engine::MySql, &config).unwrap_err();
    assert!(matches!(stopped, LoadError::Stopped), "{stopped}");
}

#[test]
fn what_was_made_is_found_again_in_the_catalogue() {
    let marks = |statements: &[(Table, &str)]| {
        let steps = steps(statements);
        let marks = steps.iter().flat_map(Step::marks);
        marks.count()
    };
    assert_eq!(marks(&schema::INDEXES), 6);
    assert_eq!(marks(&schema::FOREIGN_KEYS), 10);
}
