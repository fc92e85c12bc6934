//! The document of one `tune`, saved after every step that cost time.

use std::path::{Path, PathBuf};

use dbdyno_model::run::Run;
use dbdyno_model::tune::{Machine, Server, Workload};
use dbdyno_model::{Facts, Finding, Plan, Tune};
use dbdyno_target::lab::Home;

use super::options::Options;
use crate::exit::{Exit, Failure};
use crate::{clock, files};

#[derive(Debug)]
pub(super) struct Document {
    pub(super) path: PathBuf,
    pub(super) tune: Tune,
}

/// Where the document will be, proven writable before anything is measured.
pub(super) fn directory(options: &Options, home: &Home) -> Result<PathBuf, Failure> {
    let own = home.labs.parent().unwrap_or(Path::new(".")).join("runs");
    let directory = options.output.clone().unwrap_or(own);
    files::make_writable(&directory).map_err(|error| {
        Failure::new(
            Exit::Usage,
            format!("cannot write to {}: {error}", directory.display()),
            Some("pass --output DIR, a directory that you may write to".into()),
        )
    })?;
    Ok(directory)
}

impl Document {
    pub(super) fn new(
        directory: &Path,
        options: &Options,
        facts: Facts,
        findings: Vec<Finding>,
        plan: Plan,
        machine: Machine,
        server: Server,
    ) -> Self {
        let name = format!("tune-{}-{}", clock::file_stamp(), std::process::id());
        let path = directory.join(format!("{name}.json"));
        let tune = Tune {
            schema: Tune::SCHEMA.to_owned(),
            name,
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
        Self { path, tune }
    }

    pub(super) fn describe_workload(&mut self, options: &Options, constants: Option<Constants>) {
        let tpcc = options.warehouses().is_some();
        self.tune.budget = Some(options.budget.to_string());
        self.tune.workload = Some(Workload {
            name: options.workload.name().to_owned(),
            description: format!(
                "{}, {} connections",
                options.workload.description(),
                options.connections
            ),
            warehouses: options.warehouses(),
            connections: options.connections,
            seed: options.seed,
            disclaimer: tpcc
                .then(|| "derived from TPC-C, not comparable with audited results".to_owned()),
            c_load: constants.map(|constants| constants.load),
            c_run: constants.map(|constants| constants.run),
        });
    }

    pub(super) fn add_run(&mut self, run: &Run) -> std::io::Result<()> {
        self.tune.runs.push(run.clone());
        self.save()
    }

    pub(super) fn save(&self) -> std::io::Result<()> {
        files::write(&self.path, dbdyno_report::to_json(&self.tune).as_bytes())
    }

    pub(super) fn finish(&mut self, complete: bool) -> Result<(), Failure> {
        self.tune.complete = complete;
        self.tune.finished_at = Some(clock::now());
        self.save().map_err(|error| {
            Failure::new(
                Exit::Surroundings,
                format!("cannot write {}: {error}", self.path.display()),
                Some("the last whole version of it is still there".into()),
            )
        })
    }
}

/// NURand's constants.
#[derive(Debug, Clone, Copy)]
pub(super) struct Constants {
    pub(super) load: [u32; 3],
    pub(super) run: [u32; 3],
}
