//! Small trials on real servers: whole, with a server that dies, on a full disk, and interrupted.

// What a test cannot set up fails it.
#![allow(clippy::unwrap_used)]

mod disk;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dbdyno_bench::script::Script;
use dbdyno_bench::workload::Workload;
use dbdyno_model::Class;
use dbdyno_model::run::{Run, Second};
use dbdyno_model::verdict::Word;
use dbdyno_stats::{Design, Tolerance};
use dbdyno_target::lab::{Abort, Lab};
use dbdyno_testing::{Place, SmallDisk, settings};
use dbdyno_trial::{
    ArmSpec, Budget, Estimate, Events, Phase, Progress, Spec, TrialError, load_template, run,
    unsafe_arms,
};

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

/// These tests are about phases and faults, which others on the machine do not undo.
const ANYTHING: Tolerance = Tolerance {
    steal: f64::INFINITY,
    uneven_steal: f64::INFINITY,
    strangers_cpu: f64::INFINITY,
};

/// Two pairs of short runs: enough to walk through every phase.
fn spec(arms: Vec<ArmSpec>, script: &str) -> Spec {
    Spec {
        arms,
        workload: Workload::Script(Arc::new(Script::parse("test.sql", script).unwrap())),
        workload_text: "test.sql".into(),
        machine: "the test's".into(),
        connections: 2,
        seed: 7,
        budget: Budget {
            name: "test",
            design: Design {
                looks: vec![2],
                tolerance: ANYTHING,
                ..Design::quick()
            },
            load: Duration::from_secs(11),
            open_loop: Some(Duration::from_secs(4)),
        },
        caveats: vec!["a test".into()],
        now: || "2026-01-01T00:00:00Z".into(),
    }
}

fn base() -> ArmSpec {
    ArmSpec::new("shipped", Class::Safe, BTreeMap::new())
}

fn other() -> ArmSpec {
    let settings = settings(&[("work_mem", "8MB")]);
    ArmSpec::new("recommended", Class::Safe, settings)
}

#[derive(Default)]
struct Listener<'a> {
    /// The present run, and the seconds told since it began.
    run: u32,
    seconds: u32,
    saved: Vec<Run>,
    pairs: Vec<usize>,
    discarded: Vec<String>,
    /// Stops the server in these runs at these seconds, each once, in this order.
    kill_at: VecDeque<(u32, u32)>,
    abort: Option<Abort>,
    /// Set once the first run is saved, in the middle of the second.
    interrupt: Option<Arc<AtomicBool>>,
    /// Fills the disk in the run behind that many saved ones, once.
    fill_after: Option<(usize, &'a SmallDisk)>,
}

impl Events for Listener<'_> {
    fn phase(&mut self, phase: &Phase, _: &Progress) {
        if let Phase::Running { run, .. } = phase {
            (self.run, self.seconds) = (*run, 0);
        }
    }

    fn second(&mut self, _: &str, _: &Second, progress: &Progress) {
        assert!(progress.remaining_s > 0.0 && progress.max_pairs == 2);
        self.seconds += 1;
        if self.kill_at.front() == Some(&(self.run, self.seconds))
            && let Some(abort) = &self.abort
        {
            self.kill_at.pop_front();
            abort.abort();
        }
        if let Some(flag) = &self.interrupt
            && !self.saved.is_empty()
        {
            flag.store(true, Ordering::SeqCst);
        }
        if let Some((_, disk)) = self
            .fill_after
            .take_if(|(runs, _)| self.saved.len() >= *runs)
        {
            disk.fill();
        }
    }

    fn run_ended(&mut self, run: &Run) -> std::io::Result<()> {
        self.saved.push(run.clone());
        Ok(())
    }

    fn pair_ended(&mut self, estimate: &Estimate<'_>, _: &Progress) {
        self.pairs.push(estimate.log_ratios.len());
    }

    fn pair_discarded(&mut self, pair: u32, why: &str) -> std::io::Result<()> {
        self.discarded.push(format!("{pair}: {why}"));
        Ok(())
    }
}

fn template(lab: &Lab, spec: &Spec) {
    let stop = AtomicBool::new(false);
    let template = load_template(lab, &spec.workload, 2, 1 << 30, &|_| {}, &stop).unwrap();
    assert!(template.checks.iter().all(|check| check.passed) && template.checks.len() == 1);
}

#[test]
fn a_trial_goes_through_every_phase_and_shows_the_price_of_safety() {
    let place = Place::new("trial");
    let lab = place.lab();
    let mut arms = vec![base(), other()];
    arms.extend(unsafe_arms(&base()).into_iter().skip(1));
    let spec = spec(arms, SCRIPT);
    template(&lab, &spec);
    let mut listener = Listener::default();
    let outcome = run(&lab, &spec, &Arc::default(), &mut listener);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert_eq!(listener.saved.len(), outcome.runs.len());
    let kept: Vec<&Run> = outcome
        .runs
        .iter()
        .filter(|run| run.discarded.is_none())
        .collect();
    assert!(kept.iter().all(|run| run.consistency.len() == 1));
    let recoveries: Vec<&&Run> = kept.iter().filter(|run| run.pair.is_none()).collect();
    assert_eq!(recoveries.len(), 3);
    assert!(
        recoveries
            .iter()
            .all(|run| run.recovery.is_some_and(|r| r.seconds > 0.0))
    );
    for run in kept.iter().filter(|run| run.pair.is_some()) {
        assert!(run.tps > 0.0 && run.tps_with_checkpoint > 0.0, "{run:?}");
        assert!(run.checkpoint.seconds > 0.0);
        assert!(
            run.server.checkpoints_requested.unwrap() >= 1,
            "the closing one is requested"
        );
        assert!(run.server.wal_bytes_per_transaction.unwrap() > 0.0);
        assert!(run.server.cpu_us_per_transaction.unwrap() > 0.0);
        assert!(run.driver.cpu_us_per_transaction.unwrap() > 0.0);
        assert!(run.latency_ms.unwrap().p99 >= run.latency_ms.unwrap().p50);
        // The first pair sets the rate of the latency step.
        assert_eq!(run.open_loop.is_some(), run.pair != Some(1));
    }
    // ABBA: the second pair runs backwards.
    let order = |pair| {
        let runs = kept.iter().filter(move |run| run.pair == Some(pair));
        runs.map(|run| run.arm.as_str()).collect::<Vec<_>>()
    };
    let forwards = ["shipped", "recommended", "may-corrupt"];
    assert_eq!(order(1), forwards);
    assert_eq!(outcome.verdict.pairs, 2);
    assert!(order(2).iter().eq(forwards.iter().rev()));
    let [low, high] = outcome.verdict.interval.unwrap();
    assert!(low < outcome.verdict.ratio.unwrap() && outcome.verdict.ratio.unwrap() < high);
    assert_eq!(outcome.prices.len(), 1);
    assert!(outcome.prices.iter().all(|price| price.interval.is_some()));
    assert!(
        outcome.arms[0]
            .latency_origin
            .as_ref()
            .unwrap()
            .contains("intended start")
    );
    assert!(outcome.verdict.caveats.contains(&"a test".to_owned()));
}

#[test]
fn a_server_that_dies_costs_its_pair_and_no_more() {
    let place = Place::new("dies");
    let lab = place.lab();
    let mut spec = spec(vec![base(), other()], SCRIPT);
    spec.budget.open_loop = None;
    spec.budget.design.max_drops = 2;
    template(&lab, &spec);
    // Under load, and when nobody watches the load any more.
    let mut listener = Listener {
        kill_at: [(1, 3), (4, 11)].into(),
        abort: Some(lab.abort_handle()),
        ..Listener::default()
    };
    let outcome = run(&lab, &spec, &Arc::default(), &mut listener);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert!(listener.kill_at.is_empty(), "{:?}", listener.discarded);
    let dead = ["run 1 (shipped)", "run 4 (recommended)"];
    for (dead, told) in dead.iter().zip(&listener.discarded) {
        assert!(told.contains(&format!("went away during {dead}")), "{told}");
    }
    let verdict = &outcome.verdict;
    assert_eq!((verdict.pairs, verdict.discarded_pairs), (1, 2));
    // The killed run itself measured nothing that could be kept, the rest went on.
    assert!(outcome.runs.iter().any(|run| run.recovery.is_some()));
}

#[test]
fn a_disturbed_first_run_spares_its_pair_the_second() {
    let place = Place::new("disturbed");
    let lab = place.lab();
    let mut spec = spec(vec![base(), other()], SCRIPT);
    spec.budget.load = Duration::from_secs(3);
    spec.budget.open_loop = None;
    // Even a machine of one's own takes more than that.
    spec.budget.design.tolerance.steal = -1.0;
    spec.budget.design.max_drops = 2;
    template(&lab, &spec);
    let mut listener = Listener::default();
    let outcome = run(&lab, &spec, &Arc::default(), &mut listener);
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    assert!(listener.discarded[1].contains("the hypervisor took"));
    assert_eq!(outcome.verdict.word, Word::TooNoisy);
    assert_eq!(outcome.verdict.discarded_pairs, 2);
    let paired = outcome.runs.iter().filter(|run| run.pair.is_some());
    let (arms, discarded): (Vec<&str>, Vec<bool>) = paired
        .map(|run| (run.arm.as_str(), run.discarded.is_some()))
        .unzip();
    assert_eq!((arms, discarded), (vec!["shipped"; 2], vec![true; 2]));
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_leaves_nothing_running() {
    let place = Place::new("interrupt");
    let lab = place.lab();
    let mut spec = spec(vec![base(), other()], SCRIPT);
    spec.budget.open_loop = None;
    template(&lab, &spec);
    let stop = Arc::new(AtomicBool::new(false));
    let interrupt = Some(Arc::clone(&stop));
    let mut listener = Listener {
        interrupt,
        ..Listener::default()
    };
    let outcome = run(&lab, &spec, &stop, &mut listener);
    assert!(
        matches!(outcome.error, Some(TrialError::Interrupted)),
        "{:?}",
        outcome.error
    );
    assert_eq!((outcome.runs.len(), listener.saved.len()), (1, 1));
    let directory = lab.directory().to_path_buf();
    drop(lab);
    assert!(!directory.exists());
}

#[test]
fn data_that_fails_its_check_ends_the_trial() {
    let place = Place::new("inconsistent");
    let lab = place.lab();
    // Each transaction takes more than it gives.
    let broken = SCRIPT.replace("balance - 1", "balance - 2");
    let spec = spec(vec![base(), other()], &broken);
    template(&lab, &spec);
    let outcome = run(&lab, &spec, &Arc::default(), &mut Listener::default());
    let error = outcome.error.unwrap();
    let TrialError::Inconsistent { check, run: 1, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(check, "nothing-is-lost");
}

#[test]
fn statements_that_fail_end_the_trial_with_their_message() {
    let place = Place::new("errors");
    let lab = place.lab();
    // Half of the ids are taken.
    let failing = "-- dbdyno: setup\nCREATE TABLE t (id int PRIMARY KEY);\n\
        INSERT INTO t SELECT generate_series(1, 500);\n\
        -- dbdyno: transaction insert\n\\set id random(1, 600)\nINSERT INTO t VALUES (:id);\n";
    let spec = spec(vec![base(), other()], failing);
    let stop = AtomicBool::new(false);
    load_template(&lab, &spec.workload, 1, 1 << 30, &|_| {}, &stop).unwrap();
    let outcome = run(&lab, &spec, &Arc::default(), &mut Listener::default());
    let error = outcome.error.unwrap();
    assert!(error.to_string().contains("23505"), "{error}");
    assert!(error.hint().is_some());
}
