//! Tests of what is compared with what, by which method, at which level, and what is refused.

use dbdyno_model::comparison::Method;
use dbdyno_model::verdict::Word;
use dbdyno_model::{Class, Comparison, Tune};
use dbdyno_stats::{Design, interval_of_log_ratios, judge, unpaired_interval_of_log_ratio};

use super::fixtures::{arm, at, compared, elsewhere, later, march, run};
use super::{CompareError, Selection};
use crate::testing;

fn texts(comparison: &Comparison) -> String {
    let texts = comparison.caveats.iter().map(|caveat| caveat.text.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn subjects(comparison: &Comparison, confounds: bool) -> Vec<&str> {
    let unlike = comparison
        .unlike
        .iter()
        .filter(|unlike| unlike.confounds == confounds);
    unlike.map(|unlike| unlike.subject.as_str()).collect()
}

#[test]
fn arms_of_one_trial_are_compared_in_their_pairs() {
    let tune = march();
    // A second copy of the document is the same trial.
    for other in [&tune, &tune.clone()] {
        let comparison = compared(&[arm(&tune, "shipped"), arm(other, "recommended")]).unwrap();
        let difference = &comparison.differences[0];
        let verdict = tune.verdict.as_ref().unwrap();
        assert_eq!(difference.method, Method::Paired);
        assert_eq!(difference.pairs, Some(4));
        assert_eq!(
            (difference.ratio, difference.interval),
            (verdict.ratio, verdict.interval)
        );
        assert_eq!(difference.level.to_bits(), verdict.level.to_bits());
        assert!(comparison.unlike.is_empty() && difference.confounded_by.is_empty());
        assert!(!texts(&comparison).contains("drift"));
    }
}

#[test]
fn only_pairs_that_both_have_count() {
    let mut tune = march();
    let run = tune
        .runs
        .iter_mut()
        .find(|run| run.pair == Some(2))
        .unwrap();
    run.discarded = Some("strangers".to_owned());
    let comparison = compared(&[arm(&tune, "shipped"), arm(&tune, "recommended")]).unwrap();
    let difference = &comparison.differences[0];
    assert_eq!(
        (difference.method, difference.pairs),
        (Method::Paired, Some(3))
    );
    assert_eq!(
        comparison
            .groups
            .iter()
            .map(|group| group.runs)
            .sum::<u32>(),
        7
    );
}

#[test]
fn arms_of_different_trials_are_compared_by_the_spread_of_their_runs() {
    let (march, later) = (march(), later());
    let comparison = compared(&[arm(&march, "recommended"), arm(&later, "recommended")]).unwrap();
    let tps = |tune: &Tune| {
        let runs = tune.runs.iter().filter(|run| run.arm == "recommended");
        runs.map(|run| run.tps_with_checkpoint).collect::<Vec<_>>()
    };
    let expected = unpaired_interval_of_log_ratio(&tps(&march), &tps(&later), 0.95).unwrap();
    let difference = &comparison.differences[0];
    assert_eq!(
        (difference.method, difference.pairs),
        (Method::Unpaired, None)
    );
    assert_eq!(difference.interval, Some([expected.low, expected.high]));
    assert_eq!((difference.base_runs, difference.runs), (4, 4));
    assert!(texts(&comparison).contains("drift"));
    assert_eq!(subjects(&comparison, false), ["server version"]);
    assert!(difference.confounded_by.is_empty());
}

#[test]
fn several_intervals_share_what_may_be_missed() {
    let (march, later) = (testing::with_unsafe_runs(march()), later());
    let base = arm(&march, "shipped");
    let others = [arm(&march, "recommended"), arm(&later, "shipped")];
    let comparison = compared(&[base.clone(), others[0].clone(), others[1].clone()]).unwrap();
    let levels: Vec<f64> = comparison.differences.iter().map(|d| d.level).collect();
    // The trial's own level for its pairs, 95 % between trials, each with half of the misses.
    assert!((levels[0] - 0.9909).abs() < 1e-12 && (levels[1] - 0.975).abs() < 1e-12);
    assert!((comparison.joint_level - 0.95).abs() < 1e-12);
    for (index, other) in others.into_iter().enumerate() {
        let alone = compared(&[base.clone(), other]).unwrap();
        let [narrow, wide] = [&alone.differences[0], &comparison.differences[index]]
            .map(|difference| difference.interval.unwrap());
        assert!(wide[0] < narrow[0] && narrow[1] < wide[1]);
    }
}

#[test]
fn the_level_of_planned_looks_is_kept_however_often_a_trial_might_have_stopped() {
    let design = Design::normal();
    let trials = 20_000;
    let mut state = 1_u64;
    let mut unit = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as f64 + 0.5) / (1_u64 << 31) as f64
    };
    // Twelve uniform numbers are as normal as it takes.
    let mut normal = || (0..12).map(|_| unit()).sum::<f64>() - 6.0;
    let [mut at_95, mut own, mut half] = [0; 3];
    for _ in 0..trials {
        let mut d = Vec::new();
        while !judge(&design, &d).final_ {
            d.push(0.08 * normal());
        }
        let misses = |level| u32::from(interval_of_log_ratios(&d, level).unwrap().excludes_one());
        at_95 += misses(0.95);
        own += misses(super::difference::level(design.level(), 1));
        half += misses(super::difference::level(design.level(), 2));
    }
    let share = |misses: u32| f64::from(misses) / f64::from(trials);
    assert!(share(at_95) > 0.07, "{}", share(at_95));
    assert!(share(own) <= 0.055, "{}", share(own));
    assert!(2.0 * share(half) <= 0.055, "{}", share(half));
}

#[test]
fn single_runs_have_no_interval_and_lead_to_what_has_one() {
    let tune = march();
    let comparison = compared(&[run(&tune, 1), run(&tune, 2)]).unwrap();
    let difference = &comparison.differences[0];
    assert_eq!(difference.method, Method::None);
    assert_eq!((difference.ratio, difference.interval), (None, None));
    let why = difference.why_no_interval.as_deref().unwrap();
    assert!(why.starts_with("one run each proves nothing"), "{why}");
    let name = &tune.name;
    assert_eq!(
        difference.next.as_deref().unwrap(),
        format!("dbdyno compare {name}:shipped {name}:recommended")
    );
    assert_eq!(comparison.groups[0].tps_with_checkpoint.relative_sd, None);
    // Two runs of one arm: there is nothing to take instead.
    let comparison = compared(&[run(&tune, 1), run(&tune, 4)]).unwrap();
    let next = comparison.differences[0].next.as_deref().unwrap();
    assert_eq!(next, "dbdyno tune --arms BASE,ARM");
    let comparison = compared(&[run(&tune, 1), arm(&tune, "recommended")]).unwrap();
    let why = comparison.differences[0]
        .why_no_interval
        .as_deref()
        .unwrap();
    assert!(why.starts_with("a single run on one side"), "{why}");
}

#[test]
fn what_no_interval_can_be_made_of() {
    let (march, mut later) = (march(), later());
    at(&mut later, "recommended", &[2_400.0; 4]);
    let pair =
        |tune: &Tune| compared(&[arm(&march, "recommended"), arm(tune, "recommended")]).unwrap();
    let why = pair(&later).differences[0].why_no_interval.clone().unwrap();
    assert!(why.contains("do not vary"), "{why}");
    at(&mut later, "recommended", &[2_400.0, 0.0, 2_410.0, 2_390.0]);
    let why = pair(&later).differences[0].why_no_interval.clone().unwrap();
    assert!(why.contains("no transaction"), "{why}");
}

#[test]
fn another_machine_or_scale_is_no_effect_of_settings() {
    let (march, elsewhere) = (march(), elsewhere());
    let groups = [
        arm(&march, "shipped"),
        arm(&march, "recommended"),
        arm(&elsewhere, "recommended"),
    ];
    let comparison = compared(&groups).unwrap();
    assert_eq!(subjects(&comparison, true), ["scale", "machine"]);
    assert_eq!(subjects(&comparison, false), ["server version", "kernel"]);
    assert!(comparison.differences[0].confounded_by.is_empty());
    assert_eq!(
        comparison.differences[1].confounded_by,
        ["scale", "machine"]
    );
}

#[test]
fn two_scripts_of_one_name_are_two_workloads() {
    let with = |mut tune: Tune, script: &str| {
        let workload = tune.workload.as_mut().unwrap();
        workload.script = Some(script.to_owned());
        tune
    };
    let (one, other) = (with(march(), "SELECT 1;"), with(later(), "SELECT 2;"));
    let pair = [arm(&one, "shipped"), arm(&other, "shipped")];
    let comparison = compared(&pair).unwrap();
    assert_eq!(comparison.differences[0].confounded_by, ["workload"]);
    let same = with(later(), "SELECT 1;");
    let comparison = compared(&[arm(&one, "shipped"), arm(&same, "shipped")]).unwrap();
    assert!(comparison.differences[0].confounded_by.is_empty());
}

#[test]
fn what_is_nearly_the_same_or_not_known_is_not_unlike_loudly() {
    let (march, mut later) = (march(), later());
    later.machine.memory_bytes = later.machine.memory_bytes.map(|bytes| bytes - bytes / 100);
    later.facts.intent.memory_bytes = Some(4 << 30);
    later.machine.cpus = None;
    let pair = [arm(&march, "shipped"), arm(&later, "shipped")];
    let comparison = compared(&pair).unwrap();
    // Of the memory for the server only one value is known: it is listed, and confounds nothing.
    assert!(comparison.differences[0].confounded_by.is_empty());
    let mut march = march.clone();
    march.facts.intent.memory_bytes = Some(23 << 30);
    later.machine.memory_bytes = later.machine.memory_bytes.map(|bytes| bytes * 2);
    later.workload.as_mut().unwrap().name = "orders.sql".to_owned();
    let comparison = compared(&[arm(&march, "shipped"), arm(&later, "shipped")]).unwrap();
    let confounded = &comparison.differences[0].confounded_by;
    assert_eq!(
        *confounded,
        ["workload", "machine", "memory for the server"]
    );
}

#[test]
fn a_discarded_run_and_broken_data_are_said_loudly() {
    let mut tune = march();
    tune.runs[2].discarded = Some("the hypervisor took 9.1 % of the CPU time of a run".to_owned());
    tune.runs[2].steady = false;
    tune.runs[2].conditions.steal = Some(0.091);
    tune.consistency[0].passed = false;
    let comparison = compared(&[run(&tune, 3), arm(&tune, "shipped")]).unwrap();
    let severe = comparison.caveats.iter().filter(|caveat| caveat.severe);
    let severe: Vec<_> = severe.collect();
    assert_eq!(severe.len(), 2);
    assert!(severe[0].text.contains("worthless") && severe[0].groups.len() == 2);
    assert!(
        severe[1]
            .text
            .starts_with("its trial discarded this run: the hypervisor took 9.1 %")
    );
    assert_eq!(severe[1].groups, [comparison.groups[0].name.clone()]);
    let all = texts(&comparison);
    assert!(
        all.contains("not steady") && all.contains("shared machine"),
        "{all}"
    );
}

#[test]
fn the_trials_own_caveats_and_classes_are_passed_on() {
    let mut tune = testing::with_unsafe_runs(march());
    tune.complete = false;
    let verdict = tune.verdict.as_mut().unwrap();
    verdict.caveats.push("measured on a twin".to_owned());
    verdict.word = Word::TooNoisy;
    let dangerous = tune
        .arms
        .iter()
        .find(|arm| arm.class == Class::MayCorrupt)
        .unwrap();
    let comparison = compared(&[arm(&tune, "shipped"), arm(&tune, &dangerous.name)]).unwrap();
    let all = texts(&comparison);
    for told in [
        "did not finish",
        "measured on a twin",
        "others disturbed",
        "may corrupt",
    ] {
        assert!(all.contains(told), "{told}: {all}");
    }
    assert_eq!(comparison.differences[0].method, Method::Paired);
}

#[test]
fn what_a_group_measured() {
    let tune = march();
    let comparison = compared(&[arm(&tune, "shipped"), run(&tune, 2)]).unwrap();
    let [all, one] = comparison.groups.as_slice() else {
        panic!("two groups");
    };
    let shipped = &tune.arms[0];
    assert!((all.tps_with_checkpoint.mean - shipped.tps_mean.unwrap()).abs() < 1e-9);
    assert!(all.tps.mean > all.tps_with_checkpoint.mean);
    // Spread by hand: runs at 2,410 + 37 · (−1.5, −0.5, 0.5, 1.5).
    let sd = 37.0 * (5.0_f64 / 3.0).sqrt();
    assert!((all.tps_with_checkpoint.relative_sd.unwrap() - sd / 2_410.0).abs() < 1e-12);
    assert_eq!((all.recovery_s, one.recovery_s), (shipped.recovery_s, None));
    // The pairs after the first have a step at a fixed rate: merged, not averaged.
    let step = |run: &&dbdyno_model::Run| run.arm == "shipped" && run.open_loop.is_some();
    let steps = tune
        .runs
        .iter()
        .filter(step)
        .flat_map(|run| run.open_loop.as_ref());
    let counted: u64 = steps
        .flat_map(|step| &step.per_transaction)
        .map(|t| t.count)
        .sum();
    assert_eq!(all.latency_ms.unwrap().count, counted);
    assert_eq!(
        all.latency_origin.as_deref(),
        Some("intended start (open loop at 1690 TPS)")
    );
    assert_eq!(
        one.latency_origin.as_deref(),
        Some("actual start (closed loop)")
    );
    assert!(texts(&comparison).contains("cannot be compared"));
    // What the plan would have changed stood at its own value in the arm that left it alone.
    assert_eq!(all.left_alone["max_wal_size"], "1GB");
    assert!(!one.left_alone.contains_key("max_wal_size"));
    assert_eq!(one.settings.as_ref().unwrap()["max_wal_size"], "8GB");
}

#[test]
fn runs_without_histograms_have_the_latency_that_the_trial_told() {
    let mut tune = march();
    for run in &mut tune.runs {
        run.per_transaction
            .iter_mut()
            .for_each(|stats| stats.histogram = None);
        run.open_loop = None;
    }
    let comparison = compared(&[arm(&tune, "shipped"), run(&tune, 2)]).unwrap();
    assert_eq!(comparison.groups[0].latency_ms, tune.arms[0].latency_ms);
    assert_eq!(
        comparison.groups[0].latency_origin,
        tune.arms[0].latency_origin
    );
    assert_eq!(comparison.groups[1].latency_ms, tune.runs[1].latency_ms);
}

#[test]
fn a_trial_that_was_killed_has_runs_but_no_described_arms() {
    let mut tune = march();
    tune.arms.clear();
    tune.verdict = None;
    tune.complete = false;
    let comparison = compared(&[arm(&tune, "shipped"), arm(&tune, "recommended")]).unwrap();
    let difference = &comparison.differences[0];
    assert_eq!(
        (difference.method, difference.pairs),
        (Method::Paired, Some(4))
    );
    assert!((difference.level - 0.95).abs() < 1e-12);
    assert_eq!(
        (comparison.groups[0].class, &comparison.groups[0].settings),
        (None, &None)
    );
}

#[test]
fn what_cannot_be_compared_names_what_there_is() {
    let mut tune = march();
    let of = |selections: &[Selection<'_>]| {
        let error = compared(selections).unwrap_err();
        let hint = error.hint().unwrap();
        (error.to_string(), hint)
    };
    let name = tune.name.clone();
    let (error, hint) = of(&[arm(&tune, "shipped"), arm(&tune, "current")]);
    assert_eq!(
        error,
        format!("cannot compare {name}:current: its trial has no arm \"current\"")
    );
    assert_eq!(hint, "it has shipped and recommended");
    let (error, hint) = of(&[arm(&tune, "shipped"), run(&tune, 99)]);
    assert_eq!(
        error,
        format!("cannot compare {name}/99: its trial has no run 99")
    );
    assert_eq!(hint, "it has 1, 2, 3, 4, 5, 6, 7 and 8");
    let (error, _) = of(&[arm(&tune, "shipped"), arm(&tune, "shipped")]);
    assert_eq!(
        error,
        format!("cannot compare {name}:shipped: the same runs are already there")
    );
    assert_eq!(
        compared(&[arm(&tune, "shipped")]).unwrap_err(),
        CompareError::TooFew { groups: 1 }
    );
    assert_eq!(
        compared(&[]).unwrap_err(),
        CompareError::TooFew { groups: 0 }
    );

    for run in &mut tune.runs {
        if run.arm == "recommended" {
            run.discarded = Some("strangers".to_owned());
        }
    }
    tune.runs[7].recovery = Some(dbdyno_model::run::Recovery::default());
    let (error, hint) = of(&[arm(&tune, "shipped"), arm(&tune, "recommended")]);
    assert!(
        error.ends_with("no finished run of recommended counts (4 discarded)"),
        "{error}"
    );
    assert!(hint.contains("TRIAL/NUMBER: 2, 3, 6 and 7"), "{hint}");
    let (error, _) = of(&[arm(&tune, "shipped"), run(&tune, 8)]);
    assert!(error.contains("run 8 was killed"), "{error}");
    tune.runs.clear();
    let (_, hint) = of(&[arm(&tune, "shipped"), arm(&tune, "recommended")]);
    assert_eq!(
        hint,
        "the trial ended before that arm had run: run it again"
    );
    tune.arms.clear();
    let (_, hint) = of(&[arm(&tune, "shipped"), arm(&tune, "recommended")]);
    assert!(hint.contains("no trial was run"), "{hint}");
}

#[test]
fn the_document_comes_back_unchanged() {
    let (march, elsewhere) = (march(), elsewhere());
    let groups = [
        arm(&march, "shipped"),
        run(&march, 2),
        arm(&elsewhere, "recommended"),
    ];
    let comparison = compared(&groups).unwrap();
    assert_eq!(comparison.schema, "dbdyno.comparison/1");
    let json = crate::to_json(&comparison);
    assert!(json.contains("\"method\": \"none\"") && json.contains("\"method\": \"unpaired\""));
    assert_eq!(
        serde_json::from_str::<Comparison>(&json).unwrap(),
        comparison
    );
}
