//! One connection that draws transactions and runs them.

use super::Config;
use super::input::{Dealer, Input};
use super::statements::Statements;
use crate::tpcc::End;
use crate::tpcc::control::Control;
use crate::wire::{Engine, Sent, Session, WireError};

/// Commands that are sent together at most: they have to fit into the socket's buffers, or each side
/// would wait for the other to read.
const LONGEST_FLIGHT: usize = 64;

/// One connection with its random numbers and its statements.
#[derive(Debug)]
pub struct Terminal {
    session: Session,
    dealer: Dealer,
    input: Input,
    control: Control,
    statements: Statements,
    wrapped: bool,
    pipelined: bool,
    /// What fails undoes all of its transaction, whatever was sent behind it.
    fails_whole: bool,
}

/// A command of the transaction: BEGIN and COMMIT stand before and behind the steps.
#[derive(Debug, Clone, Copy)]
enum Command {
    Begin,
    Step(usize),
    Commit,
}

impl Terminal {
    /// Prepares the statements. What the terminal draws depends on `seed` and `index` alone.
    ///
    /// # Errors
    /// Nothing can be drawn from the configuration; or the server refuses a statement, as where
    /// nothing was loaded, or is lost.
    pub async fn prepare(
        mut session: Session,
        config: &Config,
        seed: u64,
        index: u32,
    ) -> Result<Self, WireError> {
        if let Some(reason) = config.refusal() {
            return Err(WireError::protocol(reason));
        }
        let control = Control::prepare(&mut session).await?;
        let statements = Statements::prepare(&mut session, config).await?;
        let wrapped = config.is_wrapped();
        Ok(Self {
            // MySQL runs what is queued behind a failed command as if nothing had happened; and
            // without a transaction so does PostgreSQL.
            fails_whole: wrapped && session.engine() == Engine::Postgres,
            session,
            dealer: Dealer::new(config, seed, index),
            input: Input::default(),
            control,
            statements,
            wrapped,
            pipelined: config.pipelined,
        })
    }

    /// Draws the next transaction; returns its index, of which there is one.
    #[expect(
        clippy::should_implement_trait,
        reason = "an endless deal is no iteration"
    )]
    pub fn next(&mut self) -> usize {
        self.dealer.deal(&mut self.input);
        0
    }

    /// One attempt at the transaction drawn last; may be repeated with the same input where
    /// [`Self::may_retry`] says so.
    ///
    /// # Errors
    /// The server refuses a statement, or is lost. Call [`Self::rollback`] before anything else.
    pub async fn execute(&mut self) -> Result<End, WireError> {
        if self.input.steps.is_empty() {
            self.next();
        }
        let count = self.commands();
        let mut answered = 0;
        for number in 0..count {
            self.queue(self.command(number))?;
            let room = number + 1 < count && number - answered < LONGEST_FLIGHT;
            if room && self.shares(number, number + 1) {
                continue;
            }
            for number in answered..=number {
                self.take(self.command(number)).await?;
            }
            answered = number + 1;
        }
        Ok(End::Committed)
    }

    /// Ends what a failed attempt left open: answers that nobody took, and the transaction.
    ///
    /// # Errors
    /// The server is lost.
    pub async fn rollback(&mut self) -> Result<(), WireError> {
        self.session.rollback().await
    }

    /// Whether a failed attempt left nothing behind: what was committed one by one must not be done
    /// twice.
    #[must_use]
    pub fn may_retry(&self) -> bool {
        let writes = self.input.steps.iter().filter(|step| step.command.writes());
        self.wrapped || writes.count() < 2
    }

    /// Whether the error is in the nature of the workload, and another attempt may pass: another
    /// transaction has inserted the row that this one wanted to delete and insert again. PostgreSQL
    /// looks no further than the version that is gone; sysbench tries again too.
    #[must_use]
    pub fn is_collision(error: &WireError) -> bool {
        const UNIQUE_VIOLATION: &str = "23505";
        let server = error.server();
        server.is_some_and(|error| error.sqlstate == UNIQUE_VIOLATION)
    }

    pub(crate) fn sent(&self) -> Sent {
        self.session.sent()
    }

    pub(crate) fn into_session(self) -> Session {
        self.session
    }

    /// The connection, for settings and for the driver's own statements between transactions.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    fn commands(&self) -> usize {
        self.input.steps.len() + if self.wrapped { 2 } else { 0 }
    }

    fn command(&self, number: usize) -> Command {
        if !self.wrapped {
            return Command::Step(number);
        }
        match number {
            0 => Command::Begin,
            _ if number == self.input.steps.len() + 1 => Command::Commit,
            _ => Command::Step(number - 1),
        }
    }

    /// Whether the second of two commands may be sent before the first is answered: nothing that
    /// changes data follows what may fail, nor is followed, unless a failure takes all with it.
    fn shares(&self, first: usize, second: usize) -> bool {
        let harmless = |number| !self.changes(self.command(number));
        self.pipelined && (self.fails_whole || harmless(first) && harmless(second))
    }

    fn changes(&self, command: Command) -> bool {
        match command {
            Command::Begin => false,
            Command::Step(index) => self.input.steps[index].command.writes(),
            Command::Commit => self.input.steps.iter().any(|step| step.command.writes()),
        }
    }

    fn queue(&mut self, command: Command) -> Result<(), WireError> {
        let session = &mut self.session;
        match command {
            Command::Begin => self.control.queue_begin(session),
            Command::Commit => self.control.queue_commit(session),
            Command::Step(index) => {
                let input = &self.input;
                self.statements.queue(session, input, &input.steps[index])
            }
        }
    }

    async fn take(&mut self, command: Command) -> Result<(), WireError> {
        let session = &mut self.session;
        match command {
            Command::Begin | Command::Commit => session.done().await.map(drop),
            Command::Step(index) => {
                self.statements
                    .take(session, &self.input.steps[index])
                    .await
            }
        }
    }
}
