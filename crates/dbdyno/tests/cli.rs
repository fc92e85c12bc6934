//! The command line as a user meets it: wrong input, a real server, an interrupt, a kill.

// What a test cannot set up fails it.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use dbdyno_target::process::{self, Signal};
use dbdyno_testing::{Running, binaries};

const CANARY: &str = "canary-7391";

/// A place, and the command line that works in it.
struct Place(dbdyno_testing::Place);

impl Place {
    fn new(name: &str) -> Self {
        Self(dbdyno_testing::Place::new(&format!("cli-{name}")))
    }

    fn dbdyno(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dbdyno"));
        command
            .args(arguments)
            .env("DBDYNO_DATA_DIR", &self.0.root)
            .env_remove("PGPASSWORD");
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.dbdyno(arguments).output().unwrap()
    }

    fn labs(&self) -> usize {
        self.0.labs()
    }

    /// Postmasters of labs in this place.
    fn servers(&self) -> Vec<u32> {
        let labs = self.0.home.labs.display().to_string();
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        processes
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
            .filter(|pid| {
                let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                let command = String::from_utf8_lossy(&command).into_owned();
                command.contains(&labs)
                    && command.contains("postgres")
                    && !command.contains("initdb")
            })
            .collect()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn wait_for(what: &str, mut happened: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(
            begun.elapsed() < Duration::from_secs(300),
            "{what} did not happen"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn wrong_input_is_refused_by_name_with_the_next_step_and_code_2() {
    let place = Place::new("usage");
    let file = place.0.root.join("file");
    std::fs::write(&file, "SELECT nothing(:undefined);\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let file = file.display().to_string();
    let below_a_file = format!("{file}/out");
    let cases: &[(&[&str], &str)] = &[
        (&["tune", "--warehouses", "0"], "--warehouses"),
        (&["tune", "--connections", "0"], "--connections"),
        (
            &["tune", "--budget", "fast"],
            "none of quick, normal, proof",
        ),
        (&["tune", "--memory", "lots"], "is not a size"),
        (&["tune", "--memory", "12MB"], "too little"),
        (&["tune", "--memory", "900TB"], "more than this machine's"),
        (&["tune", "--workload", "/nowhere.sql"], "/nowhere.sql"),
        (&["tune", "--workload", &file], "undefined"),
        (&["tune", "--pg-version", "12"], "13 to 18"),
        (&["tune", "--server-bin", "/tmp"], "postgres is missing"),
        (&["tune", "--output", &below_a_file], &below_a_file),
        (&["tune", "--twin-here"], "<TARGET>"),
        (&["tune", "mysql://root@localhost/db"], "mysql"),
        (
            &["tune", "postgres://localhost:1/db?sslmode=disable"],
            "localhost",
        ),
        (&["tune", "postgres:///db?host=/nowhere"], "/nowhere"),
        (&["tune", "postgres://h/db?colour=red"], "colour"),
        (&["tune", "host=h service=nowhere"], "\"nowhere\""),
        (
            &["tune", "host=127.0.0.1,127.0.0.1 port=1,2"],
            "127.0.0.1, port 2",
        ),
        (&["check", "--password-file", &file], "none is given"),
        (
            &["grants", "host=h", "--password-file", &file],
            "chmod 0600",
        ),
        (
            &["tune", "host=h", "--password-command", "exit 7"],
            "exit code 7",
        ),
        (&["tume"], "tune"),
    ];
    for (arguments, named) in cases {
        let output = place.run(arguments);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(named), "{arguments:?}: {text}");
        assert!(
            text.contains("hint:")
                || text.contains("For more information")
                || text.contains("tip:"),
            "{text}"
        );
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert_eq!(
            (place.labs(), place.servers().len()),
            (0, 0),
            "{arguments:?}"
        );
    }
}

#[test]
fn help_names_the_exit_codes() {
    let place = Place::new("help");
    for arguments in [&["--help"][..], &["tune", "--help"]] {
        let output = place.run(arguments);
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("130  interrupted"), "{text}");
    }
}

/// A server of the user's, as far as dbdyno can tell.
fn own_server() -> Running {
    Running::start(binaries(), &[])
}

fn url(own: &Running, user: &str, database: &str) -> String {
    let dbdyno_model::Address::Socket(directory) = own.connection().address else {
        panic!("not a socket")
    };
    format!(
        "postgres:///{database}?host={}&user={user}",
        directory.display()
    )
}

#[test]
fn a_given_server_is_read_and_not_written() {
    let place = Place::new("target");
    let own = own_server();
    let mut client = own.client();
    let settings = "SELECT string_agg(name || setting, ',' ORDER BY name) FROM pg_settings \
        WHERE name NOT LIKE 'application_name'";
    let state = "SELECT (SELECT count(*) FROM pg_class)::text || pg_current_xact_id()::text";
    let before: (String, String) = (
        client.query_one(settings, &[]).unwrap().get(0),
        client.query_one(state, &[]).unwrap().get(0),
    );
    let target = format!("{}&password={CANARY}", url(&own, "postgres", "postgres"));
    let output = place.run(&["tune", &target]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(text.contains("ALTER SYSTEM SET "), "{text}");
    assert!(text.contains("effective_cache_size = "), "{text}");
    assert!(text.contains("--twin-here"), "{text}");
    let after: (String, String) = (
        client.query_one(settings, &[]).unwrap().get(0),
        client.query_one(state, &[]).unwrap().get(0),
    );
    assert_eq!(before.0, after.0);
    // Our own query of the state takes the one transaction id between the two.
    let id = |state: &str| state.chars().rev().take(4).collect::<String>();
    assert_ne!(id(&before.1), "", "{before:?}");
    assert_eq!(place.labs(), 0, "no lab is started for a plan");

    // The same facts give the same plan, and no password reaches any output.
    let output = place.run(&["tune", &target, "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["schema"], "dbdyno.tune/1");
    assert!(json["plan"]["changes"].as_array().unwrap().len() > 3);
    assert!(json["verdict"].is_null() && json["complete"] == true);
    let everything = format!("{text}{json}{}", stderr(&output));
    assert!(!everything.contains(CANARY), "a password leaked");
    let stored = place.run(&["runs", "list", "--json"]);
    let stored: serde_json::Value = serde_json::from_slice(&stored.stdout).unwrap();
    assert_eq!(stored.as_array().unwrap().len(), 2);
    for trial in stored.as_array().unwrap() {
        let output = place.run(&["runs", "export", trial["name"].as_str().unwrap()]);
        let saved = String::from_utf8(output.stdout).unwrap();
        assert!(
            saved.contains("dbdyno.tune/1") && !saved.contains(CANARY),
            "a password leaked"
        );
    }
    let file = place.0.root.join("store.sqlite");
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_role_without_privileges_gets_a_plan_and_the_grant_that_is_missing() {
    let place = Place::new("grant");
    let own = own_server();
    let mut client = own.client();
    client.batch_execute("CREATE ROLE reader LOGIN").unwrap();
    let output = place.run(&["tune", &url(&own, "reader", "postgres"), "--memory", "8GB"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(text.contains("GRANT pg_"), "{text}");
    assert!(text.contains("ALTER SYSTEM SET "), "{text}");
}

#[test]
fn the_twin_asks_before_it_loads_the_servers_own_machine() {
    let place = Place::new("twin");
    let own = own_server();
    let output = place.run(&["tune", &url(&own, "postgres", "postgres"), "--twin-here"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--yes"), "{}", stderr(&output));
    assert_eq!(place.labs(), 0);
}

fn start(place: &Place, arguments: &[&str]) -> Child {
    let mut command = place.dbdyno(arguments);
    command.arg("--server-bin").arg(binaries().directory);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn interrupted_when(name: &str, ready: impl Fn(&Place) -> bool) {
    let place = Place::new(name);
    let child = start(&place, &["tune", "--warehouses", "1"]);
    wait_for(name, || ready(&place));
    let begun = Instant::now();
    assert!(process::signal(child.id(), Signal::INT));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "took {:?}",
        begun.elapsed()
    );
    assert!(
        stderr(&output).contains("nothing is left running"),
        "{}",
        stderr(&output)
    );
    assert_eq!((place.labs(), place.servers()), (0, vec![]));
}

fn some_lab_has(place: &Place, what: &str) -> bool {
    let labs = std::fs::read_dir(&place.0.home.labs)
        .into_iter()
        .flatten()
        .flatten();
    labs.into_iter().any(|lab| lab.path().join(what).exists())
}

#[test]
fn an_interrupt_leaves_nothing_behind_while_the_server_is_initialised() {
    interrupted_when("initdb", |place| some_lab_has(place, "template"));
}

#[test]
fn an_interrupt_leaves_nothing_behind_while_the_server_is_read() {
    interrupted_when("reading", |place| {
        some_lab_has(place, "template/postmaster.pid")
    });
}

#[test]
fn an_interrupt_leaves_nothing_behind_while_data_is_loaded() {
    interrupted_when("loading", |place| {
        let path = |lab: std::fs::DirEntry| lab.path().join("template/dbdyno.conf");
        let labs = std::fs::read_dir(&place.0.home.labs)
            .into_iter()
            .flatten()
            .flatten();
        labs.map(path).any(|conf| {
            std::fs::read_to_string(conf)
                .unwrap_or_default()
                .contains("wal_recycle")
        })
    });
}

#[test]
fn an_interrupt_leaves_nothing_behind_while_a_run_is_measured() {
    interrupted_when("running", |place| some_lab_has(place, "run/postmaster.pid"));
}

#[test]
fn what_a_kill_leaves_is_removed_by_the_next_command() {
    let place = Place::new("kill");
    let mut child = start(&place, &["tune", "--warehouses", "1"]);
    wait_for("a run", || some_lab_has(&place, "run/postmaster.pid"));
    assert!(process::signal(child.id(), Signal::KILL));
    child.wait().unwrap();
    assert!(
        !place.servers().is_empty(),
        "the server outlives a killed dbdyno"
    );
    let output = place.run(&["tune", "postgres:///db?host=/nowhere"]);
    assert!(
        stderr(&output).contains("left behind"),
        "{}",
        stderr(&output)
    );
    wait_for("the end of the server", || place.servers().is_empty());
    assert_eq!(place.labs(), 0);
}

#[test]
fn a_full_disk_is_told_and_nothing_stays() {
    let place = Place::new("full");
    let output = place
        .dbdyno(&["tune", "--warehouses", "10000", "--server-bin"])
        .arg(binaries().directory)
        .output()
        .unwrap();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("free") && text.contains("hint:"), "{text}");
    assert_eq!(place.labs(), 0);
}

#[test]
fn a_shell_pipe_that_closes_is_no_crash() {
    let place = Place::new("pipe");
    let own = own_server();
    let mut child = place
        .dbdyno(&["tune", &url(&own, "postgres", "postgres")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let text = stderr(&output);
    assert!(!text.contains("panicked"), "{text}");
    assert!(place.0.root.exists());
}
