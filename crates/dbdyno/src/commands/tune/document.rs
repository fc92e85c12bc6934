//! The document of one `tune`, saved after every step that cost time.

use std::path::PathBuf;

use dbdyno_bench::workload::Workload;
use dbdyno_model::run::Run;
use dbdyno_model::tune::{self, Machine, Server};
use dbdyno_model::{Facts, Finding, Plan, Tune};
use dbdyno_store::{Store, StoreError};
use dbdyno_target::lab::Home;

use super::options::Options;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::report_files::ReportFiles;
use crate::{clock, files, store};

/// Where a trial is kept, proven to take it before anything is measured.
#[derive(Debug)]
pub(super) struct Place {
    store: Store,
    output: Option<ReportFiles>,
    /// A document goes here if the store fails in the middle of a trial.
    rescue: PathBuf,
}

impl Place {
    pub(super) fn prepare(
        options: &Options,
        home: &Home,
        printer: &Printer,
    ) -> Result<Self, Failure> {
        let output = options
            .output
            .as_deref()
            .map(|directory| ReportFiles::prepare(directory, None))
            .transpose()?;
        Ok(Self {
            store: store::open(options.store.as_deref(), printer)?,
            output,
            rescue: home.data().join("rescued"),
        })
    }
}

/// The trial so far, in memory and where it is kept.
#[derive(Debug)]
pub(super) struct Document {
    place: Place,
    /// The file that holds what the store would not take.
    rescued: Option<PathBuf>,
    pub(super) tune: Tune,
}

impl Document {
    pub(super) fn new(
        place: Place,
        options: &Options,
        facts: Facts,
        findings: Vec<Finding>,
        plan: Plan,
        machine: Machine,
        server: Server,
    ) -> Self {
        let tune = Tune {
            schema: Tune::SCHEMA.to_owned(),
            name: format!("tune-{}-{}", clock::file_stamp(), clock::suffix()),
            dbdyno_version: env!("CARGO_PKG_VERSION").to_owned(),
            command: options.command.clone(),
            started_at: clock::now(),
            finished_at: None,
            complete: false,
            machine,
            server,
            target: options
                .target
                .as_ref()
                .map(dbdyno_model::Connection::display),
            workload: None,
            budget: None,
            findings,
            plan,
            arms: Vec::new(),
            verdict: None,
            prices: Vec::new(),
            consistency: Vec::new(),
            load: None,
            runs: Vec::new(),
            notes: Vec::new(),
            facts,
        };
        Self {
            place,
            rescued: None,
            tune,
        }
    }

    pub(super) fn describe_workload(&mut self, options: &Options, constants: Option<Constants>) {
        let tpcc = options.warehouses().is_some();
        self.tune.budget = Some(options.budget.to_string());
        self.tune.workload = Some(tune::Workload {
            name: options.workload.name().to_owned(),
            description: format!(
                "{}, {} connections",
                options.workload.description(),
                options.connections
            ),
            warehouses: options.warehouses(),
            connections: options.connections,
            seed: options.seed,
            script: match &options.workload {
                Workload::Script(script) => Some(script.to_string()),
                _ => None,
            },
            disclaimer: tpcc
                .then(|| "derived from TPC-C, not comparable with audited results".to_owned()),
            c_load: constants.map(|constants| constants.load),
            c_run: constants.map(|constants| constants.run),
        });
    }

    /// The first writing: a store that does not take it ends the trial before it begins.
    pub(super) fn save(&mut self) -> Result<(), Failure> {
        self.place
            .store
            .save(&self.tune)
            .map_err(|error| store::failure(&error))
    }

    pub(super) fn add_run(&mut self, run: &Run) -> std::io::Result<Option<String>> {
        self.tune.runs.push(run.clone());
        let saved = self.place.store.add_run(&self.tune.name, run);
        self.kept(saved)
    }

    /// Marks the runs of the pair that are not marked yet.
    pub(super) fn discard_pair(&mut self, pair: u32, why: &str) -> std::io::Result<Option<String>> {
        let of_pair = self
            .tune
            .runs
            .iter_mut()
            .filter(|run| run.pair == Some(pair));
        for run in of_pair {
            run.discarded.get_or_insert_with(|| why.to_owned());
        }
        let saved = self.place.store.discard_pair(&self.tune.name, pair, why);
        self.kept(saved)
    }

    /// Puts the whole document into a file where the store did not take a part of it; says so once.
    fn kept(&mut self, saved: Result<(), StoreError>) -> std::io::Result<Option<String>> {
        let Err(error) = saved else {
            return Ok(None);
        };
        let first = self.rescued.is_none();
        let path = self.rescue()?;
        Ok(first.then(|| format!("{error}; what is measured goes to {}", path.display())))
    }

    fn rescue(&mut self) -> std::io::Result<PathBuf> {
        files::make_writable(&self.place.rescue)?;
        let path = self.place.rescue.join(format!("{}.json", self.tune.name));
        files::write(&path, dbdyno_report::to_json(&self.tune).as_bytes())?;
        self.rescued = Some(path.clone());
        Ok(path)
    }

    /// Nothing more will be measured: what is printed now is what will be kept.
    pub(super) fn end(&mut self, complete: bool) {
        self.tune.complete = complete;
        self.tune.finished_at = Some(clock::now());
    }

    /// Writes the whole document, and the report where one was asked for; tells where it is.
    pub(super) fn keep(&mut self, printer: &Printer) -> Result<(), Failure> {
        let stored = self.place.store.save(&self.tune);
        match &stored {
            Ok(()) => {
                // The store has all of it again.
                if let Some(path) = self.rescued.take() {
                    let _ = std::fs::remove_file(path);
                }
                printer.say(&format!(
                    "saved as {}; `dbdyno report --open` shows it",
                    self.tune.name
                ));
            }
            Err(error) => {
                let path = self.rescue().map_err(|failed| {
                    let message = format!("{error}, and {failed}: the run could not be kept");
                    Failure::new(Exit::Surroundings, message, error.hint())
                })?;
                printer.say(&format!(
                    "{error}; saved in {}: `dbdyno runs import` takes it in",
                    path.display()
                ));
            }
        }
        if let Some(output) = &self.place.output {
            let page = output.write(&self.tune)?;
            printer.say(&format!("report in {}", page.display()));
        }
        stored.map_err(|error| store::failure(&error))
    }
}

/// NURand's constants.
#[derive(Debug, Clone, Copy)]
pub(super) struct Constants {
    pub(super) load: [u32; 3],
    pub(super) run: [u32; 3],
}
