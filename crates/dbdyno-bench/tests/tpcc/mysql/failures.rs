//! Attempts that fail half-way: the cause is told, nothing is left behind, the input can be repeated.

use std::collections::BTreeSet;

use dbdyno_bench::driver::target;
use dbdyno_bench::reactor::{Alarm, Reactor};
use dbdyno_bench::tpcc::{Config, End, Mode, Terminal, When, constants};
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
        let mut attempts = Attempts::open(&connection, &stored);
        for (transaction, tables, number) in FAILURES {
            attempts.draw(transaction);
            for table in tables {
                let block = format!("BEGIN; SELECT * FROM {table} FOR UPDATE");
                attempts.fail_while(&block, "ROLLBACK", number);
            }
            attempts.succeed();
        }
        for (transaction, event) in TRIGGERS {
            attempts.draw(transaction);
            let refuse = format!(
                "CREATE TRIGGER refuse {event} FOR EACH ROW SIGNAL SQLSTATE '45000'
                    SET MESSAGE_TEXT = 'refused'"
            );
            attempts.fail_while(&refuse, "DROP TRIGGER refuse", 1644);
            attempts.succeed();
        }
        assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());
    }
}

/// A terminal, and another session that gets into its way.
struct Attempts {
    reactor: Reactor,
    terminal: Terminal,
    other: Client,
}

impl Attempts {
    fn open(connection: &Connection, stored: &Config) -> Self {
        let reactor = Reactor::new(Alarm::new().unwrap()).unwrap();
        let target = target(connection).unwrap();
        let opening = async {
            let session = Session::open(&reactor, &target).await?;
            let constants = constants(stored.seed);
            let terminal = Terminal::prepare(session, stored, Mode::Pipelined, &constants, 3, 0);
            let mut terminal = terminal.await?;
            let session = terminal.session();
            session.queue_text("SET innodb_lock_wait_timeout = 1");
            session.done().await?;
            Ok::<_, WireError>(terminal)
        };
        let terminal = reactor.block_on(opening).unwrap().unwrap();
        Self {
            reactor,
            terminal,
            other: Client::open(connection),
        }
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
