//! One connection to a server: commands are queued, sent together and answered in order.

use std::io;
use std::time::Instant;

use super::opening::Opening;
use super::row::{Reader, TextRow};
use super::stream::Stream;
use super::target::{Engine, Target};
use super::{
    Cancel, Done, Inbound, Isolation, Params, Row, Statement, Step, WireError, mysql, postgres,
};
use crate::reactor::Reactor;

#[derive(Debug)]
enum Protocol {
    Postgres(postgres::Answers),
    MySql(mysql::Answers),
}

/// Takes the rows of a command that was sent as text.
type TextTaker<'a> = dyn FnMut(TextRow<'_>) -> Result<(), WireError> + 'a;

/// What a session has done since it was opened, preparing left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    /// Statements that succeeded, BEGIN and COMMIT too.
    pub statements: u64,
    /// Times that something was sent and answers were waited for.
    pub round_trips: u64,
}

impl Sent {
    pub(crate) fn add(&mut self, more: Self) {
        self.statements += more.statements;
        self.round_trips += more.round_trips;
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            statements: self.statements - before.statements,
            round_trips: self.round_trips - before.round_trips,
        }
    }
}

#[derive(Debug)]
pub struct Session {
    stream: Stream,
    inbound: Inbound,
    out: Vec<u8>,
    protocol: Protocol,
    /// Answers that are still to come.
    outstanding: usize,
    prepared: u32,
    round_trips: u64,
    cancel: Option<Cancel>,
    in_transaction: bool,
    /// As it was asked for.
    isolation: Option<Isolation>,
}

impl Session {
    /// # Errors
    /// The server cannot be reached in time, or refuses.
    pub async fn open(reactor: &Reactor, target: &Target) -> Result<Self, WireError> {
        let deadline = Instant::now() + target.timeout;
        let opening = async {
            match Self::open_until(reactor, target, deadline).await {
                Err(error) if target.gives_tls_up(&error) => {
                    let plain = Target {
                        tls: None,
                        ..target.clone()
                    };
                    Self::open_until(reactor, &plain, deadline).await
                }
                opened => opened,
            }
        };
        let late = || Err(WireError::io("connect")(io::ErrorKind::TimedOut.into()));
        reactor.until(deadline, opening).await.unwrap_or_else(late)
    }

    async fn open_until(
        reactor: &Reactor,
        target: &Target,
        deadline: Instant,
    ) -> Result<Self, WireError> {
        let mut opening = Opening {
            stream: Stream::connect(reactor, &target.endpoint, deadline).await?,
            inbound: Inbound::default(),
            out: Vec::new(),
        };
        let tls = target.tls.as_ref();
        let (protocol, cancel) = match target.engine {
            Engine::Postgres => {
                let mut login = target.postgres_login();
                opening.log_in(&mut login, tls).await?;
                let cancel = login.key().map(|(pid, secret)| Cancel::Postgres {
                    pid,
                    secret: secret.to_vec(),
                });
                (Protocol::Postgres(postgres::Answers::default()), cancel)
            }
            Engine::MySql => {
                let mut login = target.mysql_login();
                opening.log_in(&mut login, tls).await?;
                let cancel = Cancel::MySql {
                    connection_id: login.server().connection_id,
                };
                let answers = mysql::Answers::new(login.capabilities());
                (Protocol::MySql(answers), Some(cancel))
            }
        };
        Ok(Self {
            stream: opening.stream,
            inbound: opening.inbound,
            out: opening.out,
            protocol,
            outstanding: 0,
            prepared: 0,
            round_trips: 0,
            cancel,
            in_transaction: false,
            isolation: None,
        })
    }

    /// Keeps all transactions to come apart from others in this way.
    ///
    /// # Errors
    /// The server refuses, or is lost.
    pub async fn isolate(&mut self, level: Isolation) -> Result<(), WireError> {
        self.drain().await?;
        self.queue_text(&level.statement(self.engine()));
        self.done().await?;
        self.isolation = Some(level);
        Ok(())
    }

    /// What [`Self::isolate`] was last told.
    pub(crate) fn isolation(&self) -> Option<Isolation> {
        self.isolation
    }

    /// Placeholders are the engine's own: `$1` or `?`.
    ///
    /// # Errors
    /// The server refuses the statement, or is lost.
    pub async fn prepare(&mut self, sql: &str) -> Result<Statement, WireError> {
        self.drain().await?;
        let id = self.prepared;
        self.prepared += 1;
        match &self.protocol {
            Protocol::Postgres(_) => postgres::prepare(&mut self.out, id, sql),
            Protocol::MySql(_) => mysql::prepare(&mut self.out, sql),
        }
        self.flush().await?;
        loop {
            let prepared = match &mut self.protocol {
                Protocol::Postgres(answers) => answers.prepared(&mut self.inbound, id)?,
                Protocol::MySql(answers) => answers.prepared(&mut self.inbound)?,
            };
            match prepared {
                Some(statement) => return Ok(statement),
                None => self.stream.read(&mut self.inbound).await?,
            }
        }
    }

    /// Queues one execution.
    ///
    /// # Errors
    /// A parameter does not fit the statement. Nothing was queued then.
    pub fn queue(
        &mut self,
        statement: &Statement,
        fill: impl FnOnce(&mut Params<'_>),
    ) -> Result<(), WireError> {
        match &mut self.protocol {
            Protocol::Postgres(_) => postgres::execute(&mut self.out, statement, fill)?,
            Protocol::MySql(answers) => {
                mysql::execute(&mut self.out, statement, fill)?;
                answers.expect(Some(statement));
            }
        }
        self.outstanding += 1;
        Ok(())
    }

    /// Queues statements as text, such as BEGIN.
    pub fn queue_text(&mut self, sql: &str) {
        match &mut self.protocol {
            Protocol::Postgres(_) => postgres::query(&mut self.out, sql),
            Protocol::MySql(answers) => {
                mysql::query(&mut self.out, sql);
                answers.expect(None);
            }
        }
        self.outstanding += 1;
    }

    /// Sends what is queued.
    pub async fn flush(&mut self) -> Result<(), WireError> {
        if !self.out.is_empty() {
            self.round_trips += u64::from(self.outstanding > 0);
            let sent = self.stream.write_all(&self.out).await;
            self.out.clear();
            sent?;
        }
        Ok(())
    }

    /// The answer to the oldest command that has none yet, its rows passed over.
    ///
    /// # Errors
    /// The server refused the command, or is lost.
    pub async fn done(&mut self) -> Result<Done, WireError> {
        self.answer(None, |_| Ok(()), None, no_file).await
    }

    /// The same with each row; the statement is the one that was queued.
    ///
    /// # Errors
    /// Those of [`Self::done`], and the first of `on_row`, after which the rest of the rows is
    /// passed over.
    pub async fn rows(
        &mut self,
        statement: &Statement,
        on_row: impl FnMut(Row<'_>) -> Result<(), WireError>,
    ) -> Result<Done, WireError> {
        self.answer(Some(statement), on_row, None, no_file).await
    }

    /// Runs statements as text and hands out their rows, which come as text too.
    ///
    /// # Errors
    /// Those of [`Self::rows`].
    pub(crate) async fn text_rows(
        &mut self,
        sql: &str,
        on_row: &mut dyn FnMut(TextRow<'_>) -> Result<(), WireError>,
    ) -> Result<Done, WireError> {
        self.drain().await?;
        self.queue_text(sql);
        self.answer(None, |_| Ok(()), Some(on_row), no_file).await
    }

    /// Runs one statement that asks for a file, LOAD DATA LOCAL, and sends what `next` puts into
    /// the buffer, which is empty each time, until it says that there was nothing left. A server
    /// that does not want the file does not ask for it.
    ///
    /// # Errors
    /// The server refuses the statement or a row, or is lost.
    pub(crate) async fn send_file(
        &mut self,
        sql: &str,
        next: impl FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<Done, WireError> {
        if self.engine() == Engine::Postgres {
            return Err(WireError::protocol("PostgreSQL asks for no files"));
        }
        self.drain().await?;
        self.queue_text(sql);
        self.answer(None, |_| Ok(()), None, next).await
    }

    /// Ends what a failed attempt left open: answers that nobody took, and the transaction.
    ///
    /// # Errors
    /// The server is lost.
    pub async fn rollback(&mut self) -> Result<(), WireError> {
        self.drain().await?;
        if self.in_transaction() {
            self.queue_text("ROLLBACK");
            self.done().await?;
        }
        Ok(())
    }

    /// Takes all answers that are still to come, refusals included.
    ///
    /// # Errors
    /// The server is lost.
    pub async fn drain(&mut self) -> Result<(), WireError> {
        while self.outstanding > 0 {
            match self.done().await {
                Ok(_) => {}
                Err(WireError::Server(error)) if !error.fatal => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    #[must_use]
    pub fn engine(&self) -> Engine {
        match self.protocol {
            Protocol::Postgres(_) => Engine::Postgres,
            Protocol::MySql(_) => Engine::MySql,
        }
    }

    /// Says goodbye, so that the server does not count the connection as lost. Errors no longer
    /// matter to anybody.
    pub async fn close(mut self) {
        match &self.protocol {
            Protocol::Postgres(_) => postgres::terminate(&mut self.out),
            Protocol::MySql(_) => mysql::quit(&mut self.out),
        }
        let _ = self.flush().await;
    }

    /// Whether it is TLS that the server and we speak.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.stream.is_encrypted()
    }

    #[must_use]
    pub fn sent(&self) -> Sent {
        Sent {
            statements: match &self.protocol {
                Protocol::Postgres(answers) => answers.statements(),
                Protocol::MySql(answers) => answers.statements(),
            },
            round_trips: self.round_trips,
        }
    }

    /// As the last answer told that was no error.
    #[must_use]
    pub fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    pub(crate) fn cancel(&self) -> Option<&Cancel> {
        self.cancel.as_ref()
    }

    /// The event loop that the session lives on.
    pub(crate) fn reactor(&self) -> &Reactor {
        self.stream.reactor()
    }

    async fn answer(
        &mut self,
        statement: Option<&Statement>,
        mut on_row: impl FnMut(Row<'_>) -> Result<(), WireError>,
        mut on_text: Option<&mut TextTaker<'_>>,
        mut next_part: impl FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<Done, WireError> {
        if self.outstanding == 0 {
            return Err(WireError::protocol("no command is waiting for an answer"));
        }
        self.flush().await?;
        let engine = self.engine();
        let mut failed = None;
        loop {
            let step = match &mut self.protocol {
                Protocol::Postgres(answers) => answers.step(&mut self.inbound),
                Protocol::MySql(answers) => answers.step(&mut self.inbound),
            };
            match step {
                Ok(Step::More) => self.stream.read(&mut self.inbound).await?,
                Ok(Step::Row(range)) => {
                    let (Some(statement), None) = (statement, &failed) else {
                        continue;
                    };
                    let body = self.inbound.slice(range);
                    let row = match &self.protocol {
                        Protocol::Postgres(_) => {
                            postgres::row(body, &statement.columns).map(Reader::Postgres)
                        }
                        Protocol::MySql(answers) => {
                            mysql::row(body, answers.columns(statement)).map(Reader::MySql)
                        }
                    };
                    failed = row.and_then(|row| on_row(Row(row))).err();
                }
                Ok(Step::TextRow(range)) => {
                    if let (Some(on_text), None) = (&mut on_text, &failed) {
                        let body = self.inbound.slice(range);
                        failed = on_text(TextRow { engine, body }).err();
                    }
                }
                Ok(Step::Done(done)) => {
                    self.outstanding -= 1;
                    self.in_transaction = done.in_transaction;
                    return failed.map_or(Ok(done), Err);
                }
                Ok(Step::SendFile) => self.send_parts(&mut next_part).await?,
                Err(error) => {
                    if matches!(error, WireError::Server(_)) {
                        self.outstanding -= 1;
                    }
                    return Err(error);
                }
            }
        }
    }

    /// The file that the server asks for, part by part. It reads to the end even when it has
    /// refused a row, and only then says so.
    async fn send_parts(
        &mut self,
        next: &mut impl FnMut(&mut Vec<u8>) -> bool,
    ) -> Result<(), WireError> {
        let Protocol::MySql(answers) = &self.protocol else {
            return Ok(());
        };
        let mut sequence = answers.file_sequence();
        let mut part = Vec::new();
        loop {
            part.clear();
            if !next(&mut part) {
                break;
            }
            mysql::file_chunk(&mut self.out, &mut sequence, &part);
            self.flush().await?;
        }
        mysql::file_end(&mut self.out, &mut sequence);
        self.flush().await
    }
}

/// Nothing on this machine is read because a server asks for it.
fn no_file(_: &mut Vec<u8>) -> bool {
    false
}
