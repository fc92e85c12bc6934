//! MySQL and MariaDB with as many connections as they admit: the limit that was reached is named.

use std::sync::atomic::AtomicBool;

use dbdyno_bench::driver::{Driver, Options, target};
use dbdyno_bench::wire::Link;
use dbdyno_bench::{Workload, tpcc};
use dbdyno_model::connection::Connection;
use dbdyno_testing::{MySql, MySqlBinaries};

use super::{alone, script};

/// What a load of this many connections is told.
fn told(connection: &Connection, connections: u32) -> (String, String) {
    let options = Options {
        connections,
        ..Options::default()
    };
    let error = Driver::start(connection, &script("SELECT 1"), &options).unwrap_err();
    let hint = error.hint().unwrap_or_default().to_owned();
    (error.to_string(), hint)
}

#[test]
fn needs_mysql_each_limit_on_connections_is_named() {
    let _alone = alone();
    for binaries in &MySqlBinaries::all() {
        let settings = [("max-connections", "12"), ("max-user-connections", "3")];
        let server = MySql::start(binaries, &settings);
        let root = server.connection();
        {
            let mut link = Link::open(&target(&root).unwrap()).unwrap();
            for user in ["app@localhost", "few@localhost WITH MAX_USER_CONNECTIONS 2"] {
                link.run(&format!("CREATE USER {user}")).unwrap();
            }
        }
        let of = |user: &str| Connection {
            user: user.to_owned(),
            ..root.clone()
        };
        let (error, hint) = told(&of("app"), 8);
        assert!(error.contains("(1203)"), "{error}");
        assert!(hint.contains("max_user_connections"), "{error}: {hint}");
        let (error, hint) = told(&of("few"), 8);
        assert!(error.contains("(1226)"), "{error}");
        assert!(hint.contains("MAX_USER_CONNECTIONS"), "{error}: {hint}");
    }
}

#[test]
fn needs_mysql_a_full_server_is_told_from_one_that_is_not_there() {
    let _alone = alone();
    for binaries in &MySqlBinaries::all() {
        let server = MySql::start(binaries, &[("max-connections", "12")]);
        let connection = server.connection();
        let target = target(&connection).unwrap();
        // One more than the limit is let in, for an administrator.
        let taken: Vec<Link> = (0..20).map_while(|_| Link::open(&target).ok()).collect();
        assert!((10..20).contains(&taken.len()), "{}", taken.len());
        let (error, hint) = told(&connection, 1);
        assert!(error.contains("(1040)"), "{error}");
        assert!(hint.contains("raise max_connections"), "{error}: {hint}");
        let load = Workload::Tpcc(tpcc::Config::default(), tpcc::Mode::default());
        let refused = load.load(&connection, 1, &|_| (), &AtomicBool::new(false));
        let error = refused.unwrap_err();
        let hint = error.hint().unwrap_or_default();
        assert!(hint.contains("raise max_connections"), "{error}: {hint}");
    }
}
