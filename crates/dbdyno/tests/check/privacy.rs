//! Secrets are planted wherever somebody keeps them, and looked for in every document and form.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::Command;

use dbdyno_testing::{Place, Running, binaries};

use crate::Setup;

/// None of them may ever be seen.
const SECRETS: [&str; 5] = [
    "canary-in-the-address",
    "canary-in-the-environment",
    "canary-in-the-conninfo",
    "canary-in-a-comment",
    "canary-in-a-query",
];
/// These are seen only with --with-names.
const NAMES: [&str; 3] = ["north-cluster-17", "carolina_reader", "standby_name_17"];

fn planted() -> Setup {
    let conninfo = "host=127.0.0.1 user=replica password=canary-in-the-conninfo";
    let setup = Setup::start(&[("primary_conninfo", conninfo), ("cluster_name", NAMES[0])]);
    let mut conf = OpenOptions::new().append(true).open(setup.conf()).unwrap();
    writeln!(conf, "# the old password was canary-in-a-comment").unwrap();
    let mut client = setup.running.client();
    for statement in [
        format!("CREATE ROLE {} LOGIN", NAMES[1]),
        format!("ALTER SYSTEM SET primary_slot_name = '{}'", NAMES[2]),
        "SELECT pg_reload_conf()".to_owned(),
    ] {
        client.batch_execute(&statement).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    setup
}

/// Everything that is printed and written, with the words in front of each.
fn everything(setup: &Setup, more: &[&str]) -> Vec<(String, String)> {
    everything_within(setup, more, |command| command)
}

/// The same, with each command where `within` puts it.
fn everything_within(
    setup: &Setup,
    more: &[&str],
    within: impl Fn(Command) -> Command,
) -> Vec<(String, String)> {
    let target = format!(
        "{}&password=canary-in-the-address",
        setup.target_as(NAMES[1])
    );
    let mut all = Vec::new();
    let mut run = |arguments: &[&str]| {
        let mut command = setup.command(arguments);
        command.env("PGPASSWORD", "canary-in-the-environment");
        let output = within(command).output().unwrap();
        assert!(output.status.success(), "{}", crate::stderr(&output));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // Progress goes to a terminal, where the target was typed: it shows no secret either.
        let progress = crate::stderr(&output);
        for secret in SECRETS {
            assert!(!progress.contains(secret), "{arguments:?}: {progress}");
        }
        all.push((arguments.join(" "), text));
    };
    for form in [&[][..], &["--json"], &["--sarif"], &["--markdown"]] {
        run(&[&["check", &target][..], form, more].concat());
    }
    run(&[&["collect", &target][..], more].concat());
    run(&[&["collect", &target, "-o", "a.json"][..], more].concat());
    run(&[&["collect", &target, "-o", "b.json"][..], more].concat());
    for form in [&[][..], &["--json"]] {
        run(&[&["diff", "a.json", "b.json"][..], form].concat());
    }
    for form in [&[][..], &["--json"], &["--sarif"], &["--markdown"]] {
        run(&[&["check", "--facts", "a.json"][..], form].concat());
    }
    for name in ["a.json", "b.json"] {
        let text = std::fs::read_to_string(setup.file(name)).unwrap();
        all.push((name.to_owned(), text));
    }
    all
}

#[test]
fn no_secret_and_no_name_is_in_any_document() {
    let setup = planted();
    // It is shown in pg_stat_activity as long as the session is there.
    let mut busy = setup.running.client();
    busy.batch_execute("SELECT 'canary-in-a-query'").unwrap();
    for (what, text) in everything(&setup, &[]) {
        for secret in SECRETS.into_iter().chain(NAMES) {
            assert!(!text.contains(secret), "{secret} in {what}");
        }
    }
    drop(busy);
}

/// What this host is called where the program runs, and only there.
const HOST: &str = "canary-host-17";
const RENAME: &str = "hostname \"$0\" 2>/dev/null || printf %s \"$0\" >/proc/sys/kernel/hostname; \
                      exec \"$@\"";

fn on_the_named_host(command: Command) -> Command {
    let mut outer = Command::new("unshare");
    outer.args(["--uts", "sh", "-ec", RENAME, HOST]);
    crate::behind(outer, &command)
}

#[test]
fn needs_root_the_name_of_this_host_is_in_no_document() {
    let setup = planted();
    let mut client = setup.running.client();
    for statement in [
        format!("ALTER SYSTEM SET log_line_prefix = '{HOST} %m '"),
        format!("ALTER SYSTEM SET log_directory = '/var/log/{HOST}.example'"),
        format!("ALTER SYSTEM SET archive_command = 'rsync %p {HOST}:/archive/%f'"),
        "SELECT pg_reload_conf()".to_owned(),
    ] {
        client.batch_execute(&statement).unwrap();
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    for (what, text) in everything_within(&setup, &[], on_the_named_host) {
        assert!(!text.contains(HOST), "{HOST} in {what}");
    }
    let named = everything_within(&setup, &["--with-names"], on_the_named_host);
    let (_, facts) = named.iter().find(|(what, _)| what == "a.json").unwrap();
    assert!(facts.contains(HOST), "the server's settings name the host");
}

#[test]
fn with_names_the_names_are_there_and_secrets_are_not() {
    let setup = planted();
    let mut busy = setup.running.client();
    busy.batch_execute("SELECT 'canary-in-a-query'").unwrap();
    let all = everything(&setup, &["--with-names"]);
    for (what, text) in &all {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{secret} in {what}");
        }
    }
    let (_, facts) = all.iter().find(|(what, _)| what == "a.json").unwrap();
    assert!(facts.contains(NAMES[0]), "{facts}");
    assert!(facts.contains(NAMES[1]), "the grants name the role");
    drop(busy);
}

#[test]
fn a_standby_has_a_stand_in_that_rules_can_go_by() {
    let waited_for = [("synchronous_standby_names", "ANY 1 (standby_1)")];
    let (primary, standby) = Running::start(binaries(), &[]).with_standby(&waited_for, &[]);
    let setup = Setup {
        running: primary,
        place: Place::new("check"),
    };
    let mut client = setup.running.client();
    let streaming = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
    let begun = std::time::Instant::now();
    while client.query_one(streaming, &[]).unwrap().get::<_, i64>(0) == 0 {
        assert!(begun.elapsed().as_secs() < 60, "nobody streams");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let check = setup.check(&[]);
    crate::finding(&check, "replication.synchronous_standbys");
    assert!(check.to_string().contains("(standby 1)"), "{check}");
    for target in [setup.target(), standby.connection().display()] {
        let facts = setup.does(&["collect", &target]);
        assert!(!facts.contains("standby_1"), "{facts}");
    }
    assert!(!check.to_string().contains("standby_1"), "{check}");
    let named = setup.does(&["collect", &setup.target(), "--with-names"]);
    assert!(named.contains("standby_1"), "{named}");
}
