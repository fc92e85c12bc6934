//! Lab servers on this machine: started, cloned, killed, swept, and refused with a reason.

// What a test cannot set up fails it.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use dbdyno_target::connection::connect;
use dbdyno_target::lab::{Home, Lab, LabError, LabOptions, Stop, sweep};
use dbdyno_target::process;
use dbdyno_testing::{Place, binaries, settings};

fn show(server: &dbdyno_target::lab::Server, name: &str) -> String {
    let mut client = connect(&server.connection()).unwrap();
    client
        .query_one(&format!("SHOW {name}"), &[])
        .unwrap()
        .get(0)
}

#[test]
fn a_lab_goes_its_whole_way_and_leaves_nothing() {
    let place = Place::new("whole");
    let lab = Lab::create(&place.home, binaries(), &LabOptions::default()).unwrap();
    let template = lab.init().unwrap();
    let server = lab
        .start(&template, &settings(&[("work_mem", "7MB")]))
        .unwrap();
    assert_eq!(show(&server, "work_mem"), "7MB");
    assert_eq!(show(&server, "listen_addresses"), "");
    let mut client = connect(&server.connection()).unwrap();
    client
        .batch_execute("CREATE TABLE t AS SELECT 42 AS x")
        .unwrap();
    drop(client);
    let pid = server.pid();
    let owner = std::fs::metadata(format!("/proc/{pid}")).unwrap();
    assert_ne!(
        std::os::unix::fs::MetadataExt::uid(&owner),
        0,
        "the server runs unprivileged"
    );
    server.stop(Stop::Fast);
    assert!(!process::is_alive(pid));

    let clone = lab.clone_template("run").unwrap();
    let odd = settings(&[("application_name", r"it's a \ 'test'")]);
    let server = lab.start(&clone, &odd).unwrap();
    assert_eq!(
        show(&server, "work_mem"),
        "4MB",
        "the template's settings are not the clone's"
    );
    assert_eq!(show(&server, "application_name"), "dbdyno");
    let mut client = connect(&server.connection()).unwrap();
    let x: i32 = client.query_one("SELECT x FROM t", &[]).unwrap().get(0);
    assert_eq!(x, 42);
    let pid = server.pid();
    drop(server);
    assert!(!process::is_alive(pid), "a dropped server is stopped");
    assert_eq!(place.labs(), 1);
    drop(lab);
    assert_eq!(place.labs(), 0);
}

#[test]
fn a_killed_server_recovers_its_commits() {
    let place = Place::new("kill");
    let lab = Lab::create(&place.home, binaries(), &LabOptions::default()).unwrap();
    let template = lab.init().unwrap();
    let server = lab.start(&template, &BTreeMap::new()).unwrap();
    let mut client = connect(&server.connection()).unwrap();
    client.batch_execute("CREATE TABLE t (x int)").unwrap();
    client
        .batch_execute("INSERT INTO t SELECT generate_series(1, 5000)")
        .unwrap();
    let tree = process::tree(server.pid());
    server.stop(Stop::Kill);
    assert!(tree.iter().all(|pid| !process::is_alive(*pid)));
    let server = lab.start(&template, &BTreeMap::new()).unwrap();
    let mut client = connect(&server.connection()).unwrap();
    let count: i64 = client
        .query_one("SELECT count(*) FROM t", &[])
        .unwrap()
        .get(0);
    assert_eq!(count, 5000);
    assert!(server.started_in().as_secs_f64() > 0.0);
}

#[test]
fn a_setting_that_the_server_refuses_is_shown_in_its_own_words() {
    let place = Place::new("refused");
    let lab = Lab::create(&place.home, binaries(), &LabOptions::default()).unwrap();
    let template = lab.init().unwrap();
    let error = lab
        .start(&template, &settings(&[("shared_buffers", "many")]))
        .unwrap_err();
    assert!(error.to_string().contains("shared_buffers"), "{error}");
    // The lab is not spoilt by it.
    let server = lab.start(&template, &BTreeMap::new()).unwrap();
    assert_eq!(show(&server, "shared_buffers"), "128MB");
}

#[test]
fn an_abandoned_lab_is_swept_with_its_server_and_a_live_one_is_not() {
    let place = Place::new("sweep");
    let live = Lab::create(&place.home, binaries(), &LabOptions::default()).unwrap();
    let abandoned = Lab::create(&place.home, binaries(), &LabOptions::default()).unwrap();
    let template = abandoned.init().unwrap();
    let server = abandoned.start(&template, &BTreeMap::new()).unwrap();
    let pid = server.pid();
    // What SIGKILL leaves: the server runs, and nobody holds the lock.
    let directory = abandoned.directory().to_path_buf();
    std::mem::forget(server);
    std::fs::remove_file(directory.join("lock")).unwrap();
    std::fs::write(directory.join("lock"), "").unwrap();

    let swept = sweep(&place.home);
    assert_eq!(
        (swept.servers_stopped, swept.labs),
        (1, vec![directory.clone()])
    );
    assert!(!process::is_alive(pid));
    assert!(!directory.exists() && live.directory().exists());
    assert_eq!(sweep(&place.home), dbdyno_target::lab::Swept::default());
    std::mem::forget(abandoned);
}

#[test]
fn too_little_disk_is_said_before_anything_starts() {
    let place = Place::new("disk");
    let options = LabOptions {
        disk_bytes: u64::MAX,
        ..LabOptions::default()
    };
    let error = Lab::create(&place.home, binaries(), &options).unwrap_err();
    assert!(matches!(error, LabError::Disk { .. }), "{error}");
    assert!(error.hint().unwrap().contains("DBDYNO_DATA_DIR"));
    assert_eq!(place.labs(), 0);
}

#[test]
fn a_directory_that_may_not_be_written_is_named() {
    let place = Place::new("denied");
    let file = place.root.join("file");
    std::fs::write(&file, "").unwrap();
    let home = Home {
        labs: file.join("labs"),
        binaries: file.join("binaries"),
    };
    let error = Lab::create(&home, binaries(), &LabOptions::default()).unwrap_err();
    assert!(error.to_string().contains("file/labs"), "{error}");
}

#[test]
fn needs_root_a_home_that_the_server_cannot_reach_is_named() {
    let place = Place::new("closed");
    let closed = place.root.join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    let home = Home {
        labs: closed.join("labs"),
        binaries: place.home.binaries.clone(),
    };
    let error = Lab::create(&home, binaries(), &LabOptions::default()).unwrap_err();
    assert!(matches!(error, LabError::Passage { .. }), "{error}");
    assert!(error.hint().unwrap().contains("chmod o+x"));
}

#[test]
fn long_paths_get_their_socket_elsewhere() {
    let place = Place::new("long");
    let labs = place.root.join("a".repeat(100)).join("labs");
    let home = Home {
        labs,
        binaries: place.home.binaries.clone(),
    };
    let lab = Lab::create(&home, binaries(), &LabOptions::default()).unwrap();
    let server = lab.start_empty(&BTreeMap::new()).unwrap();
    assert_eq!(show(&server, "work_mem"), "4MB");
    let dbdyno_model::Address::Socket(sockets) = server.connection().address else {
        panic!("not a socket")
    };
    drop(server);
    drop(lab);
    assert!(!sockets.exists());
}

#[test]
fn needs_root_the_server_runs_as_somebody_else() {
    let place = Place::new("account");
    let lab = Lab::create(&place.home, binaries(), &LabOptions::default()).unwrap();
    let server = lab.start_empty(&BTreeMap::new()).unwrap();
    let process = std::fs::metadata(format!("/proc/{}", server.pid())).unwrap();
    assert_ne!(std::os::unix::fs::MetadataExt::uid(&process), 0);
}

#[test]
fn a_memory_cap_is_enforced_or_said_not_to_be() {
    let place = Place::new("cap");
    let options = LabOptions {
        memory_bytes: Some(512 << 20),
        ..LabOptions::default()
    };
    let lab = Lab::create(&place.home, binaries(), &options).unwrap();
    let server = lab.start_empty(&BTreeMap::new()).unwrap();
    let cgroup = std::fs::read_to_string(format!("/proc/{}/cgroup", server.pid())).unwrap();
    assert_eq!(cgroup.contains("dbdyno-"), lab.is_capped(), "{cgroup}");
}
