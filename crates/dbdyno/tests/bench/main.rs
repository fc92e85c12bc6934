//! `dbdyno bench` as a user meets it, on real servers.

// What a test cannot set up fails it.
#![allow(clippy::unwrap_used)]

mod arrivals;
mod asked;
mod beside;
mod cycle;
mod innodb;
mod kept;
mod keyed;
mod layouts;
mod list;
mod loads;
mod mysql;
mod open_files;
mod options;
mod own_level;
mod postgres;
mod read_only;
mod refusals;
mod restart;
mod sbtest;
mod schema;
mod script;
mod think;
mod tpcc;
mod versions;

use std::process::{Command, Output, Stdio};

use dbdyno_testing::{Place, Running, binaries};

/// A running server, a place for files, and the command line.
struct Bench {
    running: Running,
    place: Place,
}

impl Bench {
    fn start() -> Self {
        Self {
            running: Running::start(binaries(), &[("fsync", "off")]),
            place: Place::new("bench"),
        }
    }

    fn target(&self) -> String {
        self.running.connection().display()
    }

    /// Tables, indexes and routines that are there.
    fn objects(&self) -> i64 {
        let counted = self.running.client().query_one(
            "SELECT (SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace)
                + (SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace)",
            &[],
        );
        counted.unwrap().get(0)
    }

    fn file(&self, name: &str) -> String {
        self.place.root.join(name).display().to_string()
    }

    /// `dbdyno bench` with `{}` standing for the server.
    fn run(&self, arguments: &[&str]) -> Output {
        let target = self.target();
        let words = arguments.iter().map(|word| match *word {
            "{}" => target.as_str(),
            word => word,
        });
        dbdyno().args(words).output().unwrap()
    }

    fn does(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn refuses(&self, arguments: &[&str], named: &str) {
        let output = self.run(arguments);
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert!(errors.contains(named), "{arguments:?}: {errors}");
        assert!(
            errors.contains("hint:") || errors.contains("For more information"),
            "{errors}"
        );
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

fn dbdyno() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dbdyno"));
    command.arg("bench").env("NO_COLOR", "1");
    command.env_remove("PGPASSWORD").stdin(Stdio::null());
    command
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const SCRIPT: &str = "-- dbdyno: setup
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account SELECT i, 100 FROM generate_series(1, 1000) i;
-- dbdyno: transaction move
\\set from random(1, 500)
\\set to random(501, 1000)
UPDATE account SET balance = balance - 1 WHERE id = :from;
UPDATE account SET balance = balance + 1 WHERE id = :to;
-- dbdyno: check nothing-is-lost
SELECT 1 FROM account HAVING sum(balance) <> 100000;
";
