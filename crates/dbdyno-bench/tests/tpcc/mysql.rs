//! TPC-C on MySQL and MariaDB: what the other files here ask of PostgreSQL, of the servers at hand: of
//! all where they differ in SQL, plans or locks, else of one of them, the first or the last. What is
//! sent is then the same text for both, and the test says so.

mod counts;
mod damage;
mod failures;
mod isolation;
mod layouts;
mod loads;
mod plans;
mod procedures;
mod resume;
mod sysbench;

use dbdyno_bench::driver::target;
use dbdyno_bench::reactor::{Alarm, Reactor};
use dbdyno_bench::wire::{Session, WireError};
use dbdyno_model::connection::Connection;
use dbdyno_testing::{MySql, MySqlBinaries};

fn start(binaries: &MySqlBinaries) -> MySql {
    // Room for what the tests load, and no care for a crash that does not come.
    let settings = [
        ("innodb-buffer-pool-size", "512M"),
        ("loose-innodb-log-file-size", "512M"),
        ("loose-innodb-redo-log-capacity", "512M"),
        ("innodb-doublewrite", "0"),
        ("innodb-flush-log-at-trx-commit", "0"),
        ("sync-binlog", "0"),
        ("local-infile", "1"),
    ];
    MySql::start(binaries, &settings)
}

/// A connection that is waited for.
struct Client {
    reactor: Reactor,
    session: Session,
}

impl Client {
    fn open(connection: &Connection) -> Self {
        let reactor = Reactor::new(Alarm::new().unwrap()).unwrap();
        let target = target(connection).unwrap();
        let session = reactor.block_on(Session::open(&reactor, &target));
        Self {
            session: session.unwrap().unwrap(),
            reactor,
        }
    }

    fn run(&mut self, sql: &str) {
        self.session.queue_text(sql);
        let done = self.reactor.block_on(self.session.done());
        done.unwrap()
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// The rows of a statement, a text for each.
    fn texts(&mut self, sql: &str) -> Vec<String> {
        let Self { reactor, session } = self;
        let read = async {
            let statement = session.prepare(sql).await?;
            session.queue(&statement, |_| {})?;
            let mut texts = Vec::new();
            session
                .rows(&statement, |mut row| {
                    texts.push(row.text()?.to_owned());
                    Ok(())
                })
                .await?;
            Ok::<_, WireError>(texts)
        };
        let texts = reactor.block_on(read).unwrap();
        texts.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn number(&mut self, sql: &str) -> i64 {
        let texts = self.texts(&format!("SELECT cast(({sql}) AS char)"));
        texts[0].parse().unwrap()
    }
}

/// A new database on the server.
fn database(server: &MySql, name: &str) -> Connection {
    Client::open(&server.connection()).run(&format!("CREATE DATABASE {name}"));
    Connection {
        database: name.into(),
        ..server.connection()
    }
}
