//! One driver thread: an event loop with its share of the terminals.

use std::cell::{Cell, RefCell};
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use super::error::{Severity, severity};
use super::pace::{Pace, Paces};
use crate::reactor::{Alarm, Reactor};
use crate::recorder::{Ended, Outcome, Recorder};
use crate::wire::{Cancel, Session, Target, WireError};
use crate::workload::{End, Failure, PrepareError, Terminal, Workload};

/// As often is the same transaction tried again before it is given up.
const MAX_RETRIES: u32 = 10;

/// How long a hard stop waits for the server to take its cancel requests.
const CANCEL_WITHIN: Duration = Duration::from_millis(300);

#[derive(Debug)]
pub(crate) enum Event {
    /// All terminals of the thread with this kernel id are connected and prepared.
    Ready(i32),
    Fatal(Fatal),
}

#[derive(Debug)]
pub(crate) enum Fatal {
    Thread(std::io::Error),
    Connect(WireError),
    Prepare(PrepareError),
    Gone(String),
    /// A transaction that could not even be sent.
    Unsent(String),
    Script(crate::script::ScriptError),
}

/// What a thread is given.
#[derive(Debug)]
pub(crate) struct Share {
    pub(crate) target: Target,
    pub(crate) workload: Workload,
    pub(crate) terminals: Range<u32>,
    pub(crate) seed: u64,
    pub(crate) recorder: Arc<Mutex<Recorder>>,
    pub(crate) paces: Arc<Paces>,
    pub(crate) alarm: Alarm,
    pub(crate) events: mpsc::Sender<Event>,
}

pub(crate) fn run(share: Share) {
    if let Err(error) = drive_all(&share) {
        // A send fails only when the driver is gone already, and then nobody asks.
        let _ = share.events.send(Event::Fatal(Fatal::Thread(error)));
    }
}

fn drive_all(share: &Share) -> std::io::Result<()> {
    let desk = Desk {
        share,
        reactor: Reactor::new(share.alarm.clone())?,
        opening: Cell::new(share.terminals.len()),
        cancels: RefCell::default(),
    };
    let killed = || match share.paces.present() {
        Pace::Kill => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let ended = |end: Result<(), Fatal>| {
        if let Err(fatal) = end {
            let _ = share.events.send(Event::Fatal(fatal));
        }
        ControlFlow::Continue(())
    };
    let terminals = share.terminals.clone();
    desk.reactor
        .run(terminals.map(|index| live(&desk, index)), ended, killed)?;
    if killed().is_break() {
        cancel_all(&desk)?;
    }
    Ok(())
}

/// What the terminals of a thread share.
struct Desk<'a> {
    share: &'a Share,
    reactor: Reactor,
    /// Terminals that are not ready yet.
    opening: Cell<usize>,
    cancels: RefCell<Vec<Cancel>>,
}

impl Desk<'_> {
    fn record(&self, ended: &Ended<'_>) -> Instant {
        self.share
            .recorder
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .record(ended)
    }

    /// The pace that is no longer of this version.
    async fn changed(&self, version: u64) -> (u64, Pace) {
        while self.share.paces.version() == version {
            self.reactor.pause().await;
        }
        self.share.paces.get()
    }

    /// Returns at `due`, never before, or as soon as the pace is no longer of this version, and
    /// whether it was the first.
    async fn wait_until(&self, due: Instant, version: u64) -> bool {
        self.reactor.wake_at(due);
        while self.share.paces.version() == version {
            if Instant::now() >= due {
                return true;
            }
            self.reactor.pause().await;
        }
        false
    }
}

/// One terminal's life, from its connection to its end.
async fn live(desk: &Desk<'_>, index: u32) -> Result<(), Fatal> {
    let share = desk.share;
    let session = Session::open(&desk.reactor, &share.target)
        .await
        .map_err(Fatal::Connect)?;
    desk.cancels.borrow_mut().extend(session.cancel().cloned());
    let terminal = share.workload.terminal(session, share.seed, index);
    let mut terminal = terminal.await.map_err(Fatal::Prepare)?;
    desk.opening.set(desk.opening.get() - 1);
    if desk.opening.get() == 0 {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let _ = share.events.send(Event::Ready(tid));
    }
    drive(&mut terminal, desk).await?;
    terminal.close().await;
    Ok(())
}

/// The next transaction as soon as the last has ended, or when it is due.
async fn drive(terminal: &mut Terminal, desk: &Desk<'_>) -> Result<(), Fatal> {
    let (mut version, mut pace) = desk.share.paces.get();
    let mut free_since = Instant::now();
    loop {
        let from = match &pace {
            Pace::Stop | Pace::Kill => return Ok(()),
            Pace::Closed => free_since,
            Pace::Wait => {
                (version, pace) = desk.changed(version).await;
                free_since = Instant::now();
                continue;
            }
            Pace::Open(schedule) => {
                let due = schedule.take();
                if due > free_since && !desk.wait_until(due, version).await {
                    (version, pace) = desk.share.paces.get();
                    free_since = Instant::now();
                    continue;
                }
                schedule.begin();
                due
            }
        };
        free_since = transact(terminal, desk, from, version).await?;
        if desk.share.paces.version() != version {
            (version, pace) = desk.share.paces.get();
        }
    }
}

/// Runs the next transaction to its end, retries included, and books it.
async fn transact(
    terminal: &mut Terminal,
    desk: &Desk<'_>,
    from: Instant,
    version: u64,
) -> Result<Instant, Fatal> {
    let kind = terminal.next();
    let mut retries = 0;
    loop {
        let error = match terminal.execute().await {
            Ok(end) => {
                let outcome = match end {
                    End::Committed => Outcome::Committed,
                    End::RolledBack => Outcome::RolledBack,
                };
                return Ok(desk.record(&Ended {
                    kind,
                    outcome,
                    retries,
                    // One that began under another pace says nothing of this one's latency, but it
                    // did end.
                    from: (desk.share.paces.version() == version).then_some(from),
                }));
            }
            Err(Failure::Script(error)) => return Err(Fatal::Script(error)),
            Err(Failure::Wire(error)) => error,
        };
        let severity = severity(&error);
        match severity {
            Severity::Gone => return Err(Fatal::Gone(error.to_string())),
            Severity::Client => return Err(Fatal::Unsent(error.to_string())),
            Severity::Retry | Severity::Transaction => {}
        }
        terminal
            .rollback()
            .await
            .map_err(|error| Fatal::Gone(error.to_string()))?;
        if severity == Severity::Retry && retries < MAX_RETRIES && terminal.may_retry() {
            retries += 1;
            continue;
        }
        let (code, message) = match &error {
            WireError::Server(error) => (error.code(), error.message.as_str()),
            _ => (String::new(), ""),
        };
        return Ok(desk.record(&Ended {
            kind,
            outcome: Outcome::Failed {
                code: &code,
                message,
            },
            retries,
            from: None,
        }));
    }
}

/// A statement that hangs on a lock would otherwise stay on the server behind a closed socket.
fn cancel_all(desk: &Desk<'_>) -> std::io::Result<()> {
    let cancels = desk.cancels.take();
    let deadline = Instant::now() + CANCEL_WITHIN;
    let reactor = &desk.reactor;
    let cancel = async |cancel: Cancel| {
        let sent = cancel.send(reactor, &desk.share.target);
        let _ = reactor.until(deadline, sent).await;
    };
    let go_on = |()| ControlFlow::Continue(());
    reactor.run(cancels.into_iter().map(cancel), go_on, || {
        ControlFlow::Continue(())
    })
}
