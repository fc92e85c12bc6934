//! SQL as text over either kind of connection that a load has: the client library's and our own.

use postgres::Client;

use crate::tpcc::ClientError;
use crate::wire::Link;

pub(crate) trait TextSql {
    /// Runs statements whose rows, if there are any, do not matter.
    fn run_text(&mut self, sql: &str) -> Result<(), ClientError>;

    /// The rows of a query for one column of text.
    fn texts(&mut self, sql: &str) -> Result<Vec<String>, ClientError>;
}

impl TextSql for Client {
    fn run_text(&mut self, sql: &str) -> Result<(), ClientError> {
        Ok(self.batch_execute(sql)?)
    }

    fn texts(&mut self, sql: &str) -> Result<Vec<String>, ClientError> {
        let rows = self.query(sql, &[])?;
        let texts: Result<Vec<String>, postgres::Error> =
            rows.iter().map(|row| row.try_get(0)).collect();
        Ok(texts?)
    }
}

impl TextSql for Link {
    fn run_text(&mut self, sql: &str) -> Result<(), ClientError> {
        self.run(sql)?;
        Ok(())
    }

    fn texts(&mut self, sql: &str) -> Result<Vec<String>, ClientError> {
        let mut texts = Vec::new();
        self.rows(sql, |mut row| {
            texts.push(row.text()?.to_owned());
            Ok(())
        })?;
        Ok(texts)
    }
}
