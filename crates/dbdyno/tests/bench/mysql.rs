//! `dbdyno bench` as a user meets it, on every MySQL and MariaDB at hand. Options, pages and files are
//! the same for each engine, and tested on PostgreSQL.

use dbdyno_bench::driver::target;
use dbdyno_bench::wire::Link;
use dbdyno_model::{Address, Connection};
use dbdyno_testing::{MySql, MySqlBinaries, Place};
use serde_json::Value;

use super::cycle::{self, Server};
use super::{dbdyno, innodb, own_level, stderr};

const PASSWORD: &str = "hunter2-of-the-test";

fn start(binaries: &MySqlBinaries) -> MySql {
    let settings = [
        ("innodb-doublewrite", "0"),
        ("innodb-flush-log-at-trx-commit", "0"),
        ("sync-binlog", "0"),
        ("local-infile", "1"),
    ];
    let mysql = MySql::start(binaries, &settings);
    let mut root = open(&mysql.connection());
    for sql in [
        "CREATE DATABASE cycle".to_owned(),
        format!("CREATE USER app@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'"),
        "GRANT ALL ON cycle.* TO app@'127.0.0.1'".to_owned(),
    ] {
        root.run(&sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    mysql
}

fn open(connection: &Connection) -> Link {
    Link::open(&target(connection).unwrap()).unwrap()
}

fn text(connection: &Connection, sql: &str) -> String {
    let mut text = None;
    open(connection)
        .rows(sql, |mut row| {
            text = Some(row.text()?.to_owned());
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    text.unwrap()
}

#[test]
fn needs_mysql_every_workload_is_loaded_run_verified_and_cleaned() {
    for binaries in &MySqlBinaries::all() {
        let mysql = start(binaries);
        let (root, port) = (mysql.connection(), mysql.port());
        // Either scheme speaks to either server.
        let (scheme, engine) = match binaries.is_mariadb() {
            true => ("mariadb", "MariaDB"),
            false => ("mysql", "MySQL"),
        };
        let Address::Socket(socket) = &root.address else {
            panic!("root comes by the socket");
        };
        let socket = socket.display();
        let target = format!("{scheme}://root@localhost/cycle?socket={socket}");
        let version = text(&root, "SELECT version()");
        let sessions = move || -> i64 {
            let others = "SELECT CAST(count(*) AS char) FROM information_schema.processlist
                WHERE db = 'cycle'";
            text(&root, others).parse().unwrap()
        };
        let server = Server {
            target,
            engine,
            version,
            sessions: Box::new(sessions),
            place: Place::new("cycle"),
        };
        cycle::tpcc(&server);
        cycle::others(&server);
        own_level::of_deliveries_is_told(&server);
        let at = format!("127.0.0.1:{port}/cycle");
        passwords_open_and_stay_hidden(&server, &format!("{scheme}://app"), &at);
        // Last, since it sets what slows the others down.
        innodb::what_it_writes_back_is_read(&server, &mut open(&mysql.connection()));
    }
}

/// The file's tables are there. MySQL has made a certificate for itself, MariaDB has none.
fn passwords_open_and_stay_hidden(server: &Server, user: &str, at: &str) {
    let file = server.file("move.sql");
    let short = ["--connections", "2", "--duration", "1s", "--json"];
    let run = |password: &str| {
        let target = format!("{user}:{password}@{at}");
        let run = dbdyno().args(["run", &file, &target]).args(short).output();
        run.unwrap()
    };
    let opened = run(PASSWORD);
    let errors = stderr(&opened);
    assert_eq!(opened.status.code(), Some(0), "{errors}");
    let told = String::from_utf8(opened.stdout).unwrap();
    let document: Value = serde_json::from_str(&told).unwrap();
    let transport = match server.engine {
        "MySQL" => "TLS",
        _ => "TCP",
    };
    assert_eq!(document["transport"], transport, "{told}");
    assert!(document["transactions"].as_u64().unwrap() > 0, "{told}");
    assert!(!told.contains(PASSWORD) && !errors.contains(PASSWORD));

    let wrong = "wrong-and-secret";
    let refused = run(wrong);
    let errors = stderr(&refused);
    assert_eq!(refused.status.code(), Some(2), "{errors}");
    assert!(errors.contains("Access denied"), "{errors}");
    assert!(
        errors.contains("hint: check") && errors.contains("password"),
        "{errors}"
    );
    assert!(!errors.contains(wrong) && refused.stdout.is_empty());
}
