//! Stops what a session's server is doing, from another connection.

use std::time::Instant;

use super::session::Session;
use super::stream::Stream;
use super::target::Target;
use super::{Inbound, WireError, mysql, postgres};
use crate::reactor::Reactor;

#[derive(Debug, Clone)]
pub(crate) enum Cancel {
    Postgres { pid: i32, secret: Vec<u8> },
    MySql { connection_id: u32 },
}

impl Cancel {
    /// Returns when the server has taken it.
    pub(crate) async fn send(self, reactor: &Reactor, target: &Target) -> Result<(), WireError> {
        match self {
            Self::Postgres { pid, secret } => {
                let deadline = Instant::now() + target.timeout;
                let mut stream = Stream::connect(reactor, &target.endpoint, deadline).await?;
                stream
                    .write_all(&postgres::cancel_request(pid, &secret))
                    .await?;
                // The server says nothing and closes.
                match stream.read(&mut Inbound::default()).await {
                    Err(WireError::Closed) | Ok(()) => Ok(()),
                    Err(error) => Err(error),
                }
            }
            Self::MySql { connection_id } => {
                let mut session = Session::open(reactor, target).await?;
                session.queue_text(&mysql::kill_query_sql(connection_id));
                session.done().await.map(drop)
            }
        }
    }
}
