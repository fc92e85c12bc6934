//! BEGIN, COMMIT and ROLLBACK, each as the engine takes it cheapest.

use crate::wire::{Engine, Session, Statement, WireError};

/// PostgreSQL prepares them like any statement; MySQL prepares no BEGIN.
#[derive(Debug)]
pub(crate) struct Control {
    prepared: Option<[Statement; 3]>,
}

impl Control {
    pub(crate) async fn prepare(session: &mut Session) -> Result<Self, WireError> {
        let prepared = match session.engine() {
            Engine::Postgres => Some([
                session.prepare("BEGIN").await?,
                session.prepare("COMMIT").await?,
                session.prepare("ROLLBACK").await?,
            ]),
            Engine::MySql => None,
        };
        Ok(Self { prepared })
    }

    pub(crate) fn queue_begin(&self, session: &mut Session) -> Result<(), WireError> {
        self.queue(session, 0, "BEGIN")
    }

    pub(crate) fn queue_commit(&self, session: &mut Session) -> Result<(), WireError> {
        self.queue(session, 1, "COMMIT")
    }

    pub(crate) fn queue_rollback(&self, session: &mut Session) -> Result<(), WireError> {
        self.queue(session, 2, "ROLLBACK")
    }

    fn queue(&self, session: &mut Session, index: usize, sql: &str) -> Result<(), WireError> {
        match &self.prepared {
            Some(prepared) => session.queue(&prepared[index], |_| {}),
            None => {
                session.queue_text(sql);
                Ok(())
            }
        }
    }
}
