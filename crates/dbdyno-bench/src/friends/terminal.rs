//! One connection that asks for the friends of one user after the other.

use std::hint::black_box;

use super::config::Config;
use super::layout::TABLE;
use super::stream;
use crate::tables::numbers::below;
use crate::tables::{Contents as _, recognise};
use crate::tpcc::End;
use crate::tpcc::random::Random;
use crate::tpcc::sql::prepare;
use crate::wire::{Sent, Session, Statement, WireError};

#[derive(Debug)]
pub struct Terminal {
    session: Session,
    friends_of: Statement,
    random: Random,
    users: u64,
    friends: u64,
    /// From 1; 0 where none was drawn yet.
    user: i64,
}

impl Terminal {
    /// What the terminal draws depends on `seed` and `index` alone.
    ///
    /// # Errors
    /// The database holds another load or none, the server refuses a statement, or it is lost.
    pub async fn prepare(
        mut session: Session,
        config: &Config,
        seed: u64,
        index: u32,
    ) -> Result<Self, WireError> {
        config.validate().map_err(WireError::protocol)?;
        recognise(&mut session, config).await?;
        let friends_of = format!(
            "SELECT id, user_id, friend_user_id, created, active FROM {TABLE} WHERE user_id = ?"
        );
        Ok(Self {
            friends_of: prepare(&mut session, &friends_of).await?,
            session,
            random: Random::stream(seed, &[stream::TERMINAL, index.into()]),
            users: config.users(),
            friends: config.friends.into(),
            user: 0,
        })
    }

    /// Draws the next user; returns the transaction's index, which is always the same.
    #[expect(
        clippy::should_implement_trait,
        reason = "an endless draw is no iteration"
    )]
    pub fn next(&mut self) -> usize {
        self.user = 1 + below(&mut self.random, self.users.into()) as i64;
        0
    }

    /// One query for the user drawn last; may be repeated.
    ///
    /// # Errors
    /// The server refuses the query, or is lost. Call [`Self::rollback`] before anything else.
    pub async fn execute(&mut self) -> Result<End, WireError> {
        if self.user == 0 {
            self.next();
        }
        let user = self.user;
        self.session.queue(&self.friends_of, |params| {
            params.int(user);
        })?;
        let mut found = 0;
        self.session
            .rows(&self.friends_of, |mut row| {
                row.skip()?;
                row.skip()?;
                black_box(row.int()?);
                found += 1;
                Ok(())
            })
            .await?;
        if found == self.friends {
            return Ok(End::Committed);
        }
        let friends = self.friends;
        Err(WireError::protocol(format!(
            "user {user} has {found} friends where {friends} were loaded"
        )))
    }

    /// Ends what a failed attempt left open: answers that nobody took.
    ///
    /// # Errors
    /// The server is lost.
    pub async fn rollback(&mut self) -> Result<(), WireError> {
        self.session.drain().await
    }

    pub(crate) fn sent(&self) -> Sent {
        self.session.sent()
    }

    pub(crate) fn into_session(self) -> Session {
        self.session
    }
}
