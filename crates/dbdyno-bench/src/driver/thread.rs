//! One driver thread: an event loop with its share of the terminals.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::ops::{ControlFlow, Range};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::task::Poll;
use std::time::{Duration, Instant};

use dbdyno_model::bench::FailedReconnects;

use super::error::{Severity, severity};
use super::pace::{Pace, Paces};
use crate::reactor::{Alarm, Reactor};
use crate::recorder::{Ended, Outcome, Recorder};
use crate::tpcc::Think;
use crate::wire::{Cancel, Engine, Isolation, Session, Target, WireError};
use crate::workload::{End, Failure, PrepareError, Terminal, Workload};

/// As often is the same transaction tried again before it is given up.
const MAX_RETRIES: u32 = 10;

/// Between one try to connect again and the next: the first, doubled each time, up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The golden ratio of 2^64: seeds that are far apart.
const NEXT_SEED: u64 = 0x9E37_79B9_7F4A_7C15;

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
    Open(OpenError),
    Gone(String),
    /// A transaction that could not even be sent.
    Unsent(String),
    Script(crate::script::ScriptError),
}

/// Why a terminal could not be connected or prepared.
#[derive(Debug)]
pub(crate) enum OpenError {
    Connect(WireError),
    Prepare(PrepareError),
}

impl OpenError {
    /// As a try to connect again that failed.
    fn refused(&self) -> FailedReconnects {
        let (code, message) = match self {
            Self::Connect(error) | Self::Prepare(PrepareError::Wire(error)) => {
                match error.server() {
                    Some(server) => (Some(server.code()), server.message.clone()),
                    None => (None, error.to_string()),
                }
            }
            Self::Prepare(PrepareError::Script(error)) => (None, error.to_string()),
        };
        FailedReconnects {
            code,
            message,
            count: 1,
        }
    }
}

/// What a thread is given.
#[derive(Debug)]
pub(crate) struct Share {
    pub(crate) target: Target,
    pub(crate) workload: Workload,
    pub(crate) terminals: Range<u32>,
    pub(crate) seed: u64,
    pub(crate) reconnect: bool,
    pub(crate) think: Option<Think>,
    pub(crate) isolation: Option<Isolation>,
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
        cancels: RefCell::new(vec![None; share.terminals.len()]),
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
    /// Of each terminal that is connected.
    cancels: RefCell<Vec<Option<Cancel>>>,
}

impl Desk<'_> {
    fn books(&self) -> MutexGuard<'_, Recorder> {
        let books = self.share.recorder.lock();
        books.unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, ended: &Ended<'_>) -> Instant {
        self.books().record(ended)
    }

    fn set_cancel(&self, index: u32, cancel: Option<&Cancel>) {
        let place = (index - self.share.terminals.start) as usize;
        self.cancels.borrow_mut()[place] = cancel.cloned();
    }

    /// The pace that is no longer of this version.
    async fn changed(&self, version: u64) -> (u64, Pace) {
        while self.share.paces.version() == version {
            self.reactor.pause().await;
        }
        self.share.paces.get()
    }

    /// What the future comes to; none as soon as the load is to end.
    async fn while_loaded<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if self.share.paces.present().is_end() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
        .await
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
    let mut terminal = open(desk, index, 0).await.map_err(Fatal::Open)?;
    desk.opening.set(desk.opening.get() - 1);
    if desk.opening.get() == 0 {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let _ = share.events.send(Event::Ready(tid));
    }
    let mut lost = 0;
    loop {
        match drive(&mut terminal, desk).await {
            Err(Fatal::Gone(_)) if share.reconnect => {
                lost += 1;
                desk.set_cancel(index, None);
                match open_again(desk, index, lost).await {
                    Some(again) => terminal = again,
                    None => return Ok(()),
                }
            }
            ended => {
                ended?;
                break;
            }
        }
    }
    terminal.close().await;
    Ok(())
}

/// Connects and prepares; what the terminal draws also depends on how often it was lost.
async fn open(desk: &Desk<'_>, index: u32, lost: u64) -> Result<Terminal, OpenError> {
    let share = desk.share;
    let mut session = Session::open(&desk.reactor, &share.target)
        .await
        .map_err(OpenError::Connect)?;
    desk.set_cancel(index, session.cancel());
    if let Some(level) = share.isolation {
        session.isolate(level).await.map_err(OpenError::Connect)?;
    }
    let seed = share.seed.wrapping_add(lost.wrapping_mul(NEXT_SEED));
    let terminal = share.workload.terminal(session, seed, index, share.think);
    terminal.await.map_err(OpenError::Prepare)
}

/// Tries until it succeeds; none where the load ends before.
async fn open_again(desk: &Desk<'_>, index: u32, lost: u64) -> Option<Terminal> {
    let mut pause = FIRST_PAUSE;
    loop {
        let (version, pace) = desk.share.paces.get();
        if pace.is_end() {
            return None;
        }
        if desk.wait_until(Instant::now() + pause, version).await {
            let opened = desk.while_loaded(open(desk, index, lost)).await;
            if !matches!(opened, Some(Ok(_))) {
                // The session is gone, and its number may soon be somebody else's.
                desk.set_cancel(index, None);
            }
            match opened? {
                Ok(terminal) => return Some(terminal),
                Err(why) => desk.books().refuse(why.refused()),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// The next transaction as soon as the last has ended, when it is due, or when its user is ready.
async fn drive(terminal: &mut Terminal, desk: &Desk<'_>) -> Result<(), Fatal> {
    let (mut version, mut pace) = desk.share.paces.get();
    let mut free_since = Instant::now();
    loop {
        let (kind, from) = match &pace {
            Pace::Stop | Pace::Kill => return Ok(()),
            Pace::Closed => (terminal.next(), free_since),
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
                (terminal.next(), due)
            }
            Pace::Think => {
                let kind = terminal.next();
                let due = free_since + terminal.wait_before(kind);
                if !desk.wait_until(due, version).await {
                    (version, pace) = desk.share.paces.get();
                    free_since = Instant::now();
                    continue;
                }
                (kind, Instant::now())
            }
        };
        free_since = transact(terminal, desk, kind, from, version).await?;
        if desk.share.paces.version() != version {
            (version, pace) = desk.share.paces.get();
        }
    }
}

/// Runs the transaction drawn last to its end, retries included, and books it.
async fn transact(
    terminal: &mut Terminal,
    desk: &Desk<'_>,
    kind: usize,
    from: Instant,
    version: u64,
) -> Result<Instant, Fatal> {
    let before = terminal.sent();
    let mut retries = 0;
    let (error, gone) = loop {
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
                    sent: terminal.sent().since(before),
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
            Severity::Gone => break (error, true),
            Severity::Client => return Err(Fatal::Unsent(error.to_string())),
            Severity::Retry | Severity::Transaction => {}
        }
        if let Err(error) = terminal.rollback().await {
            break (error, true);
        }
        let may_pass = severity == Severity::Retry || terminal.is_collision(&error);
        if !may_pass || retries == MAX_RETRIES || !terminal.may_retry() {
            break (error, false);
        }
        retries += 1;
    };
    if gone && !desk.share.reconnect {
        return Err(Fatal::Gone(error.to_string()));
    }
    let (code, message) = match &error {
        WireError::Server(error) => (error.code(), error.message.clone()),
        error => (
            lost_code(desk.share.target.engine).into(),
            error.to_string(),
        ),
    };
    let now = desk.record(&Ended {
        kind,
        outcome: Outcome::Failed {
            code: &code,
            message: &message,
        },
        retries,
        sent: terminal.sent().since(before),
        from: None,
    });
    match gone {
        true => Err(Fatal::Gone(message)),
        false => Ok(now),
    }
}

/// What the engine's own clients call a connection that was lost: connection_failure,
/// CR_SERVER_LOST.
fn lost_code(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => "08006",
        Engine::MySql => "2013",
    }
}

/// A statement that hangs on a lock would otherwise stay on the server behind a closed socket.
fn cancel_all(desk: &Desk<'_>) -> std::io::Result<()> {
    let cancels = desk.cancels.take().into_iter().flatten();
    let deadline = Instant::now() + CANCEL_WITHIN;
    let reactor = &desk.reactor;
    let cancel = async |cancel: Cancel| {
        let sent = cancel.send(reactor, &desk.share.target);
        let _ = reactor.until(deadline, sent).await;
    };
    let go_on = |()| ControlFlow::Continue(());
    reactor.run(cancels.map(cancel), go_on, || ControlFlow::Continue(()))
}
