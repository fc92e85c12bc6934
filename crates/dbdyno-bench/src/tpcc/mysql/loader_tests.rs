//! What is encoded without a server, what a server leaves out, and what is made once.

use std::collections::HashSet;

use super::*;
use crate::generate::Generator;
use crate::ledger::Step;
use crate::tpcc::schema::Table;
use crate::tpcc::{Layout, generate};

#[test]
fn what_the_server_left_out_is_missed() {
    assert!(all_taken(3, 3).is_ok());
    let error = all_taken(2, 3).unwrap_err();
    assert!(error.to_string().contains("2 rows of 3"), "{error}");
}

#[test]
fn what_is_generated_is_what_the_encoder_makes() {
    for layout in Layout::ALL {
        let config = Config {
            seed: 7,
            sets: 2,
            layout,
            ..Config::default()
        };
        assert_generated(&config);
    }
}

fn assert_generated(config: &Config) {
    let stop = AtomicBool::new(false);
    let generator = Generator {
        threads: 2,
        progress: &|_| (),
        stop: &stop,
    };
    let generated = generate(&generator, Engine::MySql, config).unwrap();
    assert_eq!(generated.tables.len(), 9);
    for table in Table::ALL {
        let mut expected = (0, 0);
        for set in 1..=config.sets {
            let warehouse = u32::from(table != Table::Item);
            let mut source = source(config.layout, config.set_seed(set), table, warehouse);
            let mut encoder = Encoder::new(Form::File);
            assert!(encoder.fill(&mut source, usize::MAX, u64::MAX));
            let mut lines = Vec::new();
            expected.0 += encoder.take(&mut lines);
            expected.1 += lines.len() as u64;
        }
        let mut told = generated.tables.iter();
        let told = told.find(|told| told.table == table.name()).unwrap();
        assert_eq!((told.rows, told.bytes), expected, "{table:?}");
    }
    stop.store(true, Ordering::Relaxed);
    let stopped = generate(&generator, Engine::MySql, config).unwrap_err();
    assert!(matches!(stopped, LoadError::Stopped), "{stopped}");
}

#[test]
fn what_was_made_is_found_again_in_the_catalogue() {
    for layout in Layout::ALL {
        let config = Config {
            sets: 2,
            layout,
            ..Config::default()
        };
        let marks = |statements: &[(Table, &str)]| {
            let steps = steps(&config, statements);
            let marks: HashSet<String> = steps.iter().flat_map(Step::marks).collect();
            marks.len()
        };
        let schema = Schema::of(layout);
        assert_eq!(marks(&schema.indexes(true)), 2 * 6, "{layout:?}");
        assert_eq!(marks(schema.foreign_keys), 2 * 10, "{layout:?}");
    }
}
