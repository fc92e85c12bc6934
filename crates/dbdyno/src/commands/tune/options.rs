//! The arguments of `tune`, checked before anything is started.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dbdyno_bench::tpcc;
use dbdyno_bench::workload::Workload;
use dbdyno_model::facts::DeclaredWorkload;
use dbdyno_model::{Connection, Engine};
use dbdyno_report::shell_word;
use dbdyno_target::lab::Wanted;
use dbdyno_trial::Budget;

use crate::cli;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::memory;
use crate::target::{command, read_script, resolve_named};

#[derive(Debug)]
pub(super) struct Options {
    pub(super) target: Option<Connection>,
    pub(super) twin_here: bool,
    pub(super) workload: Workload,
    pub(super) budget: Budget,
    run_seconds: Option<u64>,
    pub(super) connections: u32,
    pub(super) seed: u64,
    /// Names of the arms, base first; empty for the usual two.
    pub(super) arms: Vec<String>,
    pub(super) show_unsafe: bool,
    pub(super) memory_bytes: Option<u64>,
    pub(super) output: Option<PathBuf>,
    pub(super) store: Option<String>,
    pub(super) keep: bool,
    pub(super) yes: bool,
    pub(super) json: bool,
    pub(super) wanted: Wanted,
    /// The command line without any password.
    pub(super) command: Vec<String>,
}

impl Options {
    pub(super) fn check(arguments: &cli::Tune, interrupt: &Interrupt) -> Result<Self, Failure> {
        let named = arguments.target.as_deref();
        let target = resolve_named(named, &arguments.password, interrupt.flag())?;
        Ok(Self {
            twin_here: arguments.twin_here,
            workload: workload(arguments)?,
            budget: sized(arguments.budget.clone(), arguments.run_seconds),
            run_seconds: arguments.run_seconds,
            connections: arguments.connections,
            seed: arguments.seed,
            arms: arguments.arms.clone(),
            show_unsafe: arguments.show_unsafe,
            memory_bytes: memory::given(arguments.memory.as_deref())?,
            output: arguments.output.clone(),
            store: arguments.store.store.clone(),
            keep: arguments.keep,
            yes: arguments.yes,
            json: arguments.json,
            wanted: Wanted {
                server_bin: arguments.server_bin.clone(),
                version: arguments.pg_version.clone(),
            },
            command: command(arguments.target.as_deref(), target.as_ref()),
            target,
        })
    }

    pub(super) fn warehouses(&self) -> Option<u32> {
        match &self.workload {
            Workload::Tpcc(config, _) => Some(config.warehouses),
            _ => None,
        }
    }

    pub(super) fn declared(&self) -> DeclaredWorkload {
        DeclaredWorkload {
            name: self.workload.name().to_owned(),
            writes: self.workload.writes(),
        }
    }

    /// The budget that goes further, with runs of the same length where one was given.
    pub(super) fn next_budget(&self) -> Option<Budget> {
        Some(sized(self.budget.next()?, self.run_seconds))
    }

    /// The same command with another budget, for the reader to go on with.
    pub(super) fn command_with(&self, budget: &Budget) -> String {
        let mut words = Vec::new();
        let mut skip = false;
        for word in &self.command {
            if std::mem::take(&mut skip) || word.starts_with("--budget=") {
                continue;
            }
            skip = word == "--budget";
            if !skip {
                words.push(shell_word(word));
            }
        }
        words.push(format!("--budget {budget}"));
        words.join(" ")
    }
}

fn sized(budget: Budget, run_seconds: Option<u64>) -> Budget {
    match run_seconds {
        Some(seconds) => budget.with_load(Duration::from_secs(seconds)),
        None => budget,
    }
}

fn workload(arguments: &cli::Tune) -> Result<Workload, Failure> {
    if arguments.workload == "tpcc" {
        let (warehouses, seed) = (arguments.warehouses, arguments.seed);
        let data = tpcc::Config {
            warehouses,
            seed,
            ..tpcc::Config::default()
        };
        return Ok(Workload::Tpcc(data, tpcc::Mode::default()));
    }
    let path = &arguments.workload;
    let hint = "--workload takes tpcc or a file of weighted statements";
    // Every lab is one of PostgreSQL.
    let script = read_script(Engine::Postgres, path, hint)?;
    Ok(Workload::Script(Arc::new(script)))
}
