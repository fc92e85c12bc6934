//! How the server goes about statements that it might lock too much for.

use dbdyno_bench::tpcc::{Config, Mode};
use dbdyno_bench::wire::WireError;
use dbdyno_model::connection::Connection;

use super::Client;
use crate::run;

/// By an index that a foreign key needs, MariaDB would lock a stock in every warehouse, and each order
/// would wait for all others. The statements are those that the terminals have sent, with their values.
pub(super) fn stocks_are_locked_by_their_key(
    connection: &Connection,
    config: &Config,
    is_mariadb: bool,
) {
    let mut client = Client::open(connection);
    client.run("SET GLOBAL log_output = 'TABLE'");
    for mode in [Mode::Unbatched, Mode::Batched] {
        client.run("TRUNCATE TABLE mysql.general_log");
        client.run("SET GLOBAL general_log = ON");
        // A deck has ten orders, of which some may end before they come to their stocks.
        run(connection, config, mode, 1, 23);
        client.run("SET GLOBAL general_log = OFF");
        let statements = client.texts(
            "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log
             WHERE command_type = 'Execute'
               AND CONVERT(argument USING utf8mb4) LIKE '%FROM stock %FOR UPDATE'",
        );
        assert!(statements.len() >= 5, "{mode:?}: {statements:?}");
        // Each number of lines is a statement of its own.
        for statement in &statements {
            let key = key_of_stock(&mut client, statement, is_mariadb);
            assert_eq!(key, "PRIMARY", "{mode:?}: {statement}");
        }
    }
}

/// The index by which the plan reads its only table.
fn key_of_stock(client: &mut Client, statement: &str, is_mariadb: bool) -> String {
    // MySQL has a column more in front of it.
    let before = if is_mariadb { 5 } else { 6 };
    let Client { reactor, session } = client;
    let explain = async {
        let sql = format!("EXPLAIN FORMAT=TRADITIONAL {statement}");
        let plan = session.prepare(&sql).await?;
        session.queue(&plan, |_| {})?;
        let mut key = String::new();
        session
            .rows(&plan, |mut row| {
                for _ in 0..before {
                    row.skip()?;
                }
                key = row.text()?.to_owned();
                Ok(())
            })
            .await?;
        Ok::<_, WireError>(key)
    };
    let key = reactor.block_on(explain).unwrap();
    key.unwrap_or_else(|error| panic!("{statement}: {error}"))
}
