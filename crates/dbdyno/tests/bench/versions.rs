//! The newest PostgreSQL: what the other files ask of the first that is named, in one cycle.

use dbdyno_testing::{Place, Running, all_binaries};

use super::cycle::{self, Server};

#[test]
fn every_workload_is_loaded_run_verified_and_cleaned_on_the_newest_version() {
    let newest = all_binaries()
        .into_iter()
        .max_by_key(|binaries| binaries.version.major)
        .expect("a server");
    let running = Running::start(newest, &[("fsync", "off")]);
    let target = running.database("cycle").display();
    let version = running.client().query_one("SHOW server_version", &[]);
    let sessions = move || -> i64 {
        let others = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = 'cycle' AND backend_type = 'client backend'";
        let counted = running.client().query_one(others, &[]);
        counted.unwrap().get(0)
    };
    let server = Server {
        target,
        engine: "PostgreSQL",
        version: version.unwrap().get(0),
        sessions: Box::new(sessions),
        place: Place::new("newest"),
    };
    cycle::tpcc(&server);
    cycle::others(&server);
}
