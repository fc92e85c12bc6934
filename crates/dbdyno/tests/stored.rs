//! Stored trials as a user meets them: listed, shown, reported, compared, carried and removed.

// What a test cannot set up fails it.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dbdyno_model::run::{Segment, TransactionStats};
use dbdyno_model::tune::Arm;
use dbdyno_model::{Class, Run, Tune};
use dbdyno_testing::{Place, Running, SmallDisk, binaries};

struct User(Place);

impl User {
    fn new(name: &str) -> Self {
        Self(Place::new(&format!("stored-{name}")))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dbdyno"));
        command
            .args(arguments)
            .env("DBDYNO_DATA_DIR", &self.0.root)
            .env_remove("DBDYNO_STORE")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command says that ends with this code.
    fn fail(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(!text.contains("panicked"), "{text}");
        text
    }

    fn write(&self, tune: &Tune) -> PathBuf {
        let path = self.0.root.join(format!("{}.json", tune.name));
        std::fs::write(&path, serde_json::to_vec(tune).unwrap()).unwrap();
        path
    }

    fn import(&self, tune: &Tune) {
        self.succeed(&["runs", "import", text(&self.write(tune))]);
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A plan that was really made, for a server that really runs.
fn planned(user: &User) -> Tune {
    let running = Running::start(binaries(), &[]);
    let dbdyno_model::Address::Socket(directory) = running.connection().address else {
        panic!("not a socket")
    };
    let url = format!(
        "postgres:///postgres?host={}&user=postgres",
        directory.display()
    );
    let json = user.succeed(&["tune", &url, "--json"]);
    serde_json::from_str(&json).unwrap()
}

/// The plan with pairs of runs at these rates.
fn trial(planned: &Tune, name: &str, pairs: &[(f64, f64)]) -> Tune {
    let mut runs = Vec::new();
    for (index, (shipped, recommended)) in pairs.iter().enumerate() {
        for (arm, tps) in [("shipped", *shipped), ("recommended", *recommended)] {
            runs.push(Run {
                number: runs.len() as u32 + 1,
                arm: arm.into(),
                pair: Some(index as u32 + 1),
                started_at: "2026-01-01T00:00:00Z".into(),
                tps,
                tps_with_checkpoint: tps,
                steady: true,
                window: Segment {
                    seconds: 30.0,
                    transactions: (tps * 30.0) as u64,
                },
                per_transaction: vec![TransactionStats {
                    name: "move".into(),
                    ..TransactionStats::default()
                }],
                ..Run::default()
            });
        }
    }
    let arm = |name: &str| Arm {
        name: name.into(),
        class: Class::Safe,
        settings: [("work_mem".to_owned(), format!("{}MB", name.len()))].into(),
        tps_mean: None,
        notpm_mean: None,
        runs: pairs.len() as u32,
        wal_bytes_per_transaction: None,
        server_cpu_us_per_transaction: None,
        driver_cpu_us_per_transaction: None,
        checkpoints_requested: None,
        recovery_s: None,
        latency_ms: None,
        latency_origin: None,
    };
    Tune {
        name: name.into(),
        runs,
        arms: vec![arm("shipped"), arm("recommended")],
        ..planned.clone()
    }
}

#[test]
fn a_plan_is_kept_listed_shown_carried_and_removed() {
    let user = User::new("life");
    assert!(user.succeed(&["runs", "list"]).contains("dbdyno tune"));
    assert!(user.fail(2, &["report"]).contains("dbdyno tune"));
    let tune = planned(&user);
    assert!(user.succeed(&["runs", "list"]).contains(&tune.name));
    assert!(!user.succeed(&["runs", "show"]).is_empty());
    let suffix = tune.name.rsplit('-').next().unwrap();
    let exported = user.succeed(&["runs", "export", suffix]);
    assert!(
        serde_json::from_str::<Tune>(&exported).unwrap() == tune,
        "{exported}"
    );
    let file = user.0.root.join("carried.json");
    user.succeed(&["runs", "export", "latest", "--output", text(&file)]);
    assert!(
        user.fail(2, &["runs", "export", "latest", "--output", text(&file)])
            .contains("there already")
    );

    // Elsewhere, from the file alone.
    let other = User::new("elsewhere");
    other.succeed(&["runs", "import", text(&file)]);
    let again = other.run(&["runs", "import", text(&file)]);
    assert!(again.status.success() && stderr(&again).contains("there already"));
    assert!(other.succeed(&["runs", "export", "latest"]) == exported);
    let page = other.succeed(&["report", text(&file), "--format", "html"]);
    assert!(user.succeed(&["report", "--format", "html"]) == page);

    let refused = user.fail(2, &["runs", "remove", "latest"]);
    assert!(refused.contains("--yes"), "{refused}");
    user.succeed(&["runs", "remove", "latest", "--yes"]);
    assert!(
        user.fail(2, &["runs", "show", &tune.name])
            .contains(&tune.name)
    );
}

#[test]
fn a_report_has_three_files_and_overwrites_nobodys() {
    let user = User::new("files");
    let tune = planned(&user);
    let out = user.0.root.join("a/new/directory");
    user.succeed(&["report", "--output", text(&out)]);
    for name in ["report.html", "report.md", "report.json"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    // The same trial again may go where it is.
    user.succeed(&["report", "--output", text(&out)]);
    user.import(&trial(&tune, "tune-other", &[(100.0, 110.0)]));
    let before = std::fs::read(out.join("report.html")).unwrap();
    let told = user.fail(2, &["report", "tune-other", "--output", text(&out)]);
    assert!(
        told.contains("report.json") && told.contains("another"),
        "{told}"
    );
    assert_eq!(std::fs::read(out.join("report.html")).unwrap(), before);
    // Before the trial starts, not after.
    let told = user.fail(2, &["tune", "--output", text(&out)]);
    assert!(told.contains("report.json"), "{told}");
    let told = user.fail(2, &["report", "--output", text(&out.join("report.md"))]);
    assert!(told.contains("report.md"), "{told}");
    let left: Vec<_> = std::fs::read_dir(&out).unwrap().flatten().collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn what_is_no_trial_is_told_and_changes_nothing() {
    let user = User::new("wrong");
    let tune = planned(&user);
    let path = |name: &str, content: &str| {
        let path = user.0.root.join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let newer = serde_json::to_string(&tune)
        .unwrap()
        .replace("dbdyno.tune/1", "dbdyno.tune/9");
    let good = user.write(&trial(&tune, "tune-good", &[]));
    for (file, told) in [
        (path("newer.json", &newer), "dbdyno.tune/9"),
        (
            path("facts.json", r#"{"schema":"dbdyno.facts/1"}"#),
            "dbdyno.facts/1",
        ),
        (path("text.json", "hello"), "JSON"),
        (user.0.root.join("missing.json"), "missing.json"),
    ] {
        for command in ["report", "import"] {
            let arguments = match command {
                "import" => vec!["runs", "import", text(&good), text(&file)],
                _ => vec!["report", text(&file)],
            };
            let text = user.fail(2, &arguments);
            assert!(text.contains(told), "{command}: {text}");
        }
    }
    assert!(
        !user.succeed(&["runs", "list"]).contains("tune-good"),
        "half an import"
    );
    // Another trial of the same name is never replaced.
    user.import(&trial(&tune, "tune-twice", &[(100.0, 110.0)]));
    let mut twice = trial(&tune, "tune-twice", &[(100.0, 120.0)]);
    twice.started_at = "2020-01-01T00:00:00Z".into();
    let before = user.succeed(&["runs", "export", "tune-twice"]);
    let told = user.fail(2, &["runs", "import", text(&user.write(&twice))]);
    assert!(told.contains("tune-twice"), "{told}");
    assert_eq!(user.succeed(&["runs", "export", "tune-twice"]), before);
}

#[test]
fn comparing_says_what_repeats_allow() {
    let user = User::new("compare");
    let tune = planned(&user);
    user.import(&trial(
        &tune,
        "tune-a",
        &[
            (100.0, 131.0),
            (101.0, 129.0),
            (99.0, 130.0),
            (100.0, 130.0),
        ],
    ));
    let faster = trial(
        &tune,
        "tune-b",
        &[(200.0, 250.0), (203.0, 251.0), (199.0, 249.0)],
    );
    let file = user.write(&faster);

    let paired = user.succeed(&["compare", "tune-a:shipped", "tune-a:recommended"]);
    assert!(
        paired.contains("1.3") && paired.contains("work_mem"),
        "{paired}"
    );
    let mixed = format!("{}:recommended", text(&file));
    let json = user.succeed(&["compare", "tune-a:recommended", &mixed, "--json"]);
    let comparison: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(comparison["schema"], "dbdyno.comparison/1");
    let difference = &comparison["differences"][0];
    assert_eq!(difference["method"], "unpaired", "{difference}");
    let (low, high) = (
        difference["interval"][0].as_f64().unwrap(),
        difference["interval"][1].as_f64().unwrap(),
    );
    assert!(low < 250.0 / 130.0 && 250.0 / 130.0 < high && low > 1.0);
    let single = user.succeed(&["compare", "tune-a/1", "tune-a/2"]);
    assert!(single.contains("one run each proves nothing"), "{single}");
    assert!(
        user.succeed(&["compare", "tune-a/1", "tune-a/2", "--markdown"])
            .contains('|')
    );

    for (arguments, told) in [
        (["tune-a:shipped", "tune-a:none"], "recommended"),
        (["tune-a/1", "tune-a/99"], "99"),
        (["tune-a:shipped", "tune-none:shipped"], "tune-none"),
        (["tune-a", "tune-a/1"], "tune-a:shipped"),
    ] {
        let text = user.fail(2, &["compare", arguments[0], arguments[1]]);
        assert!(text.contains(told), "{arguments:?}: {text}");
    }
}

#[test]
fn a_team_keeps_its_runs_in_postgresql() {
    let user = User::new("team");
    let tune = planned(&user);
    let running = Running::start(binaries(), &[]);
    running
        .client()
        .batch_execute("CREATE DATABASE team")
        .unwrap();
    let dbdyno_model::Address::Socket(directory) = running.connection().address else {
        panic!("not a socket")
    };
    let store = format!(
        "postgres:///team?host={}&user=postgres",
        directory.display()
    );
    let file = user.write(&trial(
        &tune,
        "tune-team",
        &[(100.0, 110.0), (101.0, 112.0)],
    ));
    user.succeed(&["runs", "import", text(&file), "--store", &store]);
    let listed = user.succeed(&["runs", "list", "--store", &store]);
    assert!(listed.contains("tune-team"), "{listed}");
    assert!(!user.succeed(&["runs", "list"]).contains("tune-team"));
    let compared = user.succeed(&[
        "compare",
        "team:shipped",
        "team:recommended",
        "--store",
        &store,
    ]);
    assert!(compared.contains("1.1"), "{compared}");
    let told = user.fail(
        2,
        &["runs", "list", "--store", "postgres:///team?host=/nowhere"],
    );
    assert!(told.contains("/nowhere"), "{told}");
}

#[test]
fn a_damaged_store_is_moved_aside_and_a_newer_one_is_left_alone() {
    let user = User::new("damage");
    planned(&user);
    let file = user.0.root.join("store.sqlite");
    let rubbish = vec![7_u8; 40_000];
    std::fs::write(&file, &rubbish).unwrap();
    let output = user.run(&["runs", "list"]);
    assert!(
        output.status.success() && stderr(&output).contains("damaged"),
        "{}",
        stderr(&output)
    );
    let aside: Vec<PathBuf> = std::fs::read_dir(&user.0.root)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| std::fs::read(path).is_ok_and(|bytes| bytes == rubbish))
        .collect();
    assert_eq!(aside.len(), 1, "{aside:?}");
}

#[test]
fn needs_root_a_disk_that_is_full_leaves_no_half_report() {
    let user = User::new("full");
    let tune = planned(&user);
    let disk = SmallDisk::mount("report-full", 4);
    let out = disk.home().labs.parent().unwrap().join("out");
    std::fs::create_dir(&out).unwrap();
    disk.fill();
    let output = user.run(&["report", &tune.name, "--output", text(&out)]);
    let told = stderr(&output);
    assert!(matches!(output.status.code(), Some(2 | 4)), "{told}");
    assert!(told.contains("out") && told.contains("hint:"), "{told}");
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0);
    // What was measured is still there.
    assert!(user.succeed(&["runs", "list"]).contains(&tune.name));
    disk.unmount();
}
