//! The way to a session: connecting, TLS and logging in.

use std::sync::Arc;

use super::stream::Stream;
use super::target::Tls;
use super::{Inbound, Login, LoginStep, WireError};

/// A session that is not ready yet.
pub(super) struct Opening {
    pub(super) stream: Stream,
    pub(super) inbound: Inbound,
    pub(super) out: Vec<u8>,
}

impl Opening {
    pub(super) async fn log_in(
        &mut self,
        login: &mut impl Login,
        tls: Option<&Tls>,
    ) -> Result<(), WireError> {
        loop {
            let step = login.step(&mut self.inbound, &mut self.out)?;
            if step != LoginStep::More && !self.out.is_empty() {
                self.stream.write_all(&self.out).await?;
                self.out.clear();
            }
            match step {
                LoginStep::Ready => return Ok(()),
                LoginStep::Send => {}
                LoginStep::More => self.stream.read(&mut self.inbound).await?,
                LoginStep::StartTls => {
                    let tls = tls.ok_or_else(|| WireError::protocol("TLS was not asked for"))?;
                    self.stream
                        .start_tls(Arc::clone(&tls.config), tls.name.clone())?;
                }
            }
        }
    }
}
