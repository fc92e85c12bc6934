//! A password from a file or a command opens a session with a server that wants one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dbdyno_model::{Address, Secret};
use dbdyno_target::connection::{
    ConnectError, connect, password_from_command, password_from_file, resolve_with,
};
use dbdyno_testing::{Running, binaries};

const LIMIT: Duration = Duration::from_secs(60);
static NEVER: AtomicBool = AtomicBool::new(false);

#[test]
fn a_password_from_a_file_or_a_command_lets_in() {
    let running = Running::start(binaries(), &[("password_encryption", "scram-sha-256")]);
    let mut admin = running.client();
    admin
        .batch_execute("CREATE ROLE app LOGIN PASSWORD ' right one '")
        .unwrap();
    let hba = running.server.data().join("pg_hba.conf");
    fs::write(
        &hba,
        "local all app scram-sha-256\nlocal all postgres trust\n",
    )
    .unwrap();
    admin.batch_execute("SELECT pg_reload_conf()").unwrap();
    std::thread::sleep(Duration::from_millis(300));

    let local = running.connection();
    let Address::Socket(directory) = &local.address else {
        panic!("a lab server listens on a socket");
    };
    let target = format!(
        "host={} port={} user=app dbname=postgres password=wrong",
        directory.display(),
        local.port
    );
    let attempt = |password: Secret| {
        let resolved = resolve_with(&target, &|_| None, password).unwrap();
        connect(&resolved.choose().unwrap()).map(drop)
    };

    let files = tempfile::tempdir().unwrap();
    let file = files.path().join("password");
    fs::write(&file, " right one \n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    attempt(password_from_file(&file).unwrap()).unwrap();
    let command = format!("cat {}", file.display());
    attempt(password_from_command(&command, LIMIT, &NEVER).unwrap()).unwrap();
    let command = "echo 'not this'; echo ' right one '";
    let error = attempt(password_from_command(command, LIMIT, &NEVER).unwrap()).unwrap_err();
    assert!(
        matches!(error, ConnectError::WrongPassword { .. }),
        "{error:?}"
    );
    assert!(!format!("{error} {error:?}").contains("not this"));
}
