//! A connection that is waited for: loading and checking do one thing after the other.

use crate::reactor::{Alarm, Reactor};
use crate::wire::{Cancel, Done, Params, Row, Session, Statement, Target, TextRow, WireError};

/// A session with an event loop of its own. It stays on the thread that opened it.
#[derive(Debug)]
pub struct Link {
    reactor: Reactor,
    session: Session,
}

impl Link {
    /// # Errors
    /// Those of [`Session::open`], or of an event loop that cannot be had.
    pub fn open(target: &Target) -> Result<Self, WireError> {
        let reactor = Alarm::new().and_then(Reactor::new);
        let reactor = reactor.map_err(WireError::io("start an event loop"))?;
        let session = wait(&reactor, Session::open(&reactor, target))?;
        Ok(Self { reactor, session })
    }

    /// See [`Session::is_encrypted`].
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.session.is_encrypted()
    }

    /// Runs a statement whose rows, if there are any, do not matter.
    ///
    /// # Errors
    /// Those of [`Session::done`].
    pub fn run(&mut self, sql: &str) -> Result<Done, WireError> {
        let Self { reactor, session } = self;
        wait(reactor, async {
            session.queue_text(sql);
            session.done().await
        })
    }

    /// See [`Session::text_rows`].
    pub(crate) fn text_rows(
        &mut self,
        sql: &str,
        mut on_row: impl FnMut(TextRow<'_>) -> Result<(), WireError>,
    ) -> Result<Done, WireError> {
        wait(&self.reactor, self.session.text_rows(sql, &mut on_row))
    }

    /// # Errors
    /// Those of [`Session::prepare`].
    pub fn prepare(&mut self, sql: &str) -> Result<Statement, WireError> {
        wait(&self.reactor, self.session.prepare(sql))
    }

    /// Reads the rows of a statement that is needed once.
    ///
    /// # Errors
    /// Those of [`Session::rows`].
    pub fn rows(
        &mut self,
        sql: &str,
        on_row: impl FnMut(Row<'_>) -> Result<(), WireError>,
    ) -> Result<Done, WireError> {
        let statement = self.prepare(sql)?;
        self.rows_of(&statement, on_row)
    }

    /// Reads the rows of a prepared statement that takes no parameters.
    ///
    /// # Errors
    /// Those of [`Session::rows`].
    pub fn rows_of(
        &mut self,
        statement: &Statement,
        on_row: impl FnMut(Row<'_>) -> Result<(), WireError>,
    ) -> Result<Done, WireError> {
        let Self { reactor, session } = self;
        wait(reactor, async {
            session.queue(statement, |_| {})?;
            session.rows(statement, on_row).await
        })
    }

    /// Reads the rows of several statements that take the same parameters. All are sent at once;
    /// the rows come with the index of theirs.
    pub(crate) fn rows_of_all(
        &mut self,
        statements: &[Statement],
        mut fill: impl FnMut(&mut Params<'_>),
        mut on_row: impl FnMut(usize, Row<'_>) -> Result<(), WireError>,
    ) -> Result<(), WireError> {
        let Self { reactor, session } = self;
        wait(reactor, async {
            for statement in statements {
                session.queue(statement, &mut fill)?;
            }
            for (index, statement) in statements.iter().enumerate() {
                session.rows(statement, |row| on_row(index, row)).await?;
            }
            Ok::<(), WireError>(())
        })
    }

    /// See [`Session::send_file`].
    pub(crate) fn send_file(
        &mut self,
        sql: &str,
        next: impl FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<Done, WireError> {
        wait(&self.reactor, self.session.send_file(sql, next))
    }

    /// What stops the statement that is running, from another thread.
    pub(crate) fn cancel(&self) -> Option<&Cancel> {
        self.session.cancel()
    }
}

fn wait<T>(
    reactor: &Reactor,
    future: impl Future<Output = Result<T, WireError>>,
) -> Result<T, WireError> {
    let ended = reactor.block_on(future);
    ended.map_err(WireError::io("wait for the server"))?
}
