//! `dbdyno bench` on PostgreSQL, from the load of every workload to its removal.

use dbdyno_target::connection::connect;
use dbdyno_testing::{Place, Running, binaries};

use super::cycle::{self, Server};

#[test]
fn every_workload_is_loaded_run_verified_and_cleaned() {
    let running = Running::start(binaries(), &[("fsync", "off")]);
    let connection = running.connection();
    let version = running.client().query_one("SHOW server_version", &[]);
    let target = connection.display();
    let sessions = move || -> i64 {
        let others = "SELECT count(*) FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        let mut client = connect(&connection).unwrap();
        client.query_one(others, &[]).unwrap().get(0)
    };
    let server = Server {
        target,
        engine: "PostgreSQL",
        version: version.unwrap().get(0),
        sessions: Box::new(sessions),
        place: Place::new("cycle"),
    };
    cycle::tpcc(&server);
    cycle::others(&server);
}
