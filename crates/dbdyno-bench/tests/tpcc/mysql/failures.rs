//! Attempts that fail half-way: the cause is told, nothing is left behind, the input can be repeated.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use dbdyno_bench::driver::target;
use dbdyno_bench::reactor::{Alarm, Reactor};
use dbdyno_bench::tpcc::{Config, End, Mode, Terminal, When, constants, install};
use dbdyno_bench::wire::{Session, WireError};
use dbdyno_model::connection::Connection;
use dbdyno_testing::MySqlBinaries;

use super::{Client, database, start};
use crate::{failing, load_quietly};

/// What transactions change, as one text.
const STATE: &str = "SELECT concat_ws(' ',
    (SELECT sum(w_ytd) FROM warehouse), (SELECT sum(d_next_o_id + d_ytd) FROM district),
    (SELECT count(*) FROM orders), (SELECT count(o_carrier_id) FROM orders),
    (SELECT count(*) FROM new_order), (SELECT count(*) FROM order_line),
    (SELECT count(ol_delivery_d) FROM order_line), (SELECT count(*) FROM history),
    (SELECT sum(s_quantity + s_ytd + s_order_cnt + s_remote_cnt) FROM stock),
    (SELECT sum(c_balance + 2 * c_ytd_payment + 3 * c_payment_cnt + 5 * c_delivery_cnt)
     FROM customer))";

/// For each kind of transaction that writes: what another session does so that it fails half-way.
const FAILURES: [(usize, &[&str], u16); 3] = [
    (0, &["stock", "district", "customer"], 1205),
    (1, &["warehouse", "district", "customer"], 1205),
    (3, &["new_order", "orders", "customer"], 1205),
];

/// Triggers that refuse the last statements of each, when the others have already been run.
const TRIGGERS: [(usize, &str); 3] = [
    (0, "BEFORE INSERT ON order_line"),
    (1, "BEFORE INSERT ON history"),
    (3, "BEFORE UPDATE ON customer"),
];

#[test]
fn needs_mysql_a_failed_attempt_leaves_nothing_behind_and_can_be_repeated() {
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        let connection = database(&server, "failures");
        let stored = Config {
            warehouses: 1,
            seed: 2,
            ..Config::default()
        };
        load_quietly(&connection, &stored, 2);
        for mode in [Mode::Pipelined, Mode::Procedures] {
            install(&connection, &stored, mode).unwrap();
            let mut attempts = Attempts::open(&connection, &stored, mode);
            attempts.fail_and_succeed();
            attempts.kill_and_succeed(&connection);
            assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());
        }
    }
}

/// A terminal, and another session that gets into its way.
struct Attempts {
    reactor: Reactor,
    terminal: Terminal,
    /// As the server calls the terminal's connection.
    id: i64,
    other: Client,
}

impl Attempts {
    fn open(connection: &Connection, stored: &Config, mode: Mode) -> Self {
        let reactor = Reactor::new(Alarm::new().unwrap()).unwrap();
        let target = target(connection).unwrap();
        let opening = async {
            let session = Session::open(&reactor, &target).await?;
            let constants = constants(stored.seed);
            let terminal = Terminal::prepare(session, stored, mode, &constants, 3, 0);
            let mut terminal = terminal.await?;
            let session = terminal.session();
            let statement = session.prepare("SELECT connection_id()").await?;
            session.queue(&statement, |_| {})?;
            let mut id = 0;
            session
                .rows(&statement, |mut row| {
                    id = row.int()?;
                    Ok(())
                })
                .await?;
            Ok::<_, WireError>((terminal, id))
        };
        let (terminal, id) = reactor.block_on(opening).unwrap().unwrap();
        Self {
            reactor,
            terminal,
            id,
            other: Client::open(connection),
        }
    }

    fn fail_and_succeed(&mut self) {
        self.wait_for_locks(1);
        for (transaction, tables, number) in FAILURES {
            self.draw(transaction);
            for table in tables {
                let block = format!("BEGIN; SELECT * FROM {table} FOR UPDATE");
                self.fail_while(&block, "ROLLBACK", number);
            }
            self.succeed();
        }
        for (transaction, event) in TRIGGERS {
            self.draw(transaction);
            let refuse = format!(
                "CREATE TRIGGER refuse {event} FOR EACH ROW SIGNAL SQLSTATE '45000'
                    SET MESSAGE_TEXT = 'refused'"
            );
            self.fail_while(&refuse, "DROP TRIGGER refuse", 1644);
            self.succeed();
        }
    }

    /// A new order is ended from outside while it waits for its district, with its stocks taken.
    fn kill_and_succeed(&mut self, connection: &Connection) {
        const QUERY_INTERRUPTED: u16 = 1317;
        self.wait_for_locks(60);
        self.draw(0);
        let (id, connection) = (self.id, connection.clone());
        let killer = thread::spawn(move || {
            let mut client = Client::open(&connection);
            let waiting = format!(
                "SELECT count(*) FROM information_schema.innodb_trx
                 WHERE trx_mysql_thread_id = {id} AND trx_state = 'LOCK WAIT'"
            );
            while client.number(&waiting) == 0 {
                // What MariaDB shows there is a tenth of a second old.
                thread::sleep(Duration::from_millis(200));
            }
            client.run(&format!("KILL QUERY {id}"));
        });
        let block = "BEGIN; SELECT * FROM district FOR UPDATE";
        self.fail_while(block, "ROLLBACK", QUERY_INTERRUPTED);
        killer.join().unwrap();
        self.succeed();
    }

    fn wait_for_locks(&mut self, seconds: u32) {
        let session = self.terminal.session();
        session.queue_text(&format!("SET innodb_lock_wait_timeout = {seconds}"));
        self.reactor.block_on(session.done()).unwrap().unwrap();
    }

    fn draw(&mut self, transaction: usize) {
        while self.terminal.next() != transaction {}
    }

    fn state(&mut self) -> String {
        self.other.texts(STATE).remove(0)
    }

    fn fail_while(&mut self, begin: &str, end: &str, number: u16) {
        let before = self.state();
        self.other.run(begin);
        let error = self.reactor.block_on(self.terminal.execute());
        let error = error.unwrap().unwrap_err();
        let told = error.server().and_then(|server| server.number);
        assert_eq!(told, Some(number), "{begin}: {error:?}");
        let undone = self.reactor.block_on(self.terminal.rollback());
        undone.unwrap().unwrap();
        self.other.run(end);
        assert_eq!(self.state(), before, "{begin}");
    }

    fn succeed(&mut self) {
        let before = self.state();
        let end = self.reactor.block_on(self.terminal.execute());
        assert_eq!(end.unwrap().unwrap(), End::Committed);
        assert_ne!(self.state(), before);
    }
}
