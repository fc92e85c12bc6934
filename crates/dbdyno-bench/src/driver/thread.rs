//! One driver thread: a single-threaded runtime with its share of the terminals.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_postgres::NoTls;

use super::error::{Severity, deepest, severity};
use super::schedule::{Schedule, Timer};
use crate::recorder::{Ended, Outcome, Recorder};
use crate::workload::{End, Failure, PrepareError, Terminal, Workload};

/// As often is the same transaction tried again before it is given up.
const MAX_RETRIES: u32 = 10;

/// How long a hard stop waits for the server to take its cancel requests.
const CANCEL_WITHIN: Duration = Duration::from_millis(300);

/// What all terminals do from now on.
#[derive(Debug, Clone)]
pub(crate) enum Pace {
    Wait,
    Closed,
    Open(Arc<Schedule>),
    /// After the transactions under way.
    Stop,
    /// At once.
    Kill,
}

#[derive(Debug)]
pub(crate) enum Event {
    /// All terminals of the thread with this kernel id are connected and prepared.
    Ready(i32),
    Fatal(Fatal),
}

#[derive(Debug)]
pub(crate) enum Fatal {
    Thread(std::io::Error),
    Connect(tokio_postgres::Error),
    Prepare(PrepareError),
    Gone(String),
    /// A transaction that could not even be sent.
    Unsent(String),
    Script(crate::script::ScriptError),
}

/// What a thread is given.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    pub(crate) config: tokio_postgres::Config,
    pub(crate) workload: Workload,
    pub(crate) terminals: Range<u32>,
    pub(crate) seed: u64,
    pub(crate) recorder: Arc<Mutex<Recorder>>,
    pub(crate) pace: watch::Receiver<Pace>,
    pub(crate) events: mpsc::Sender<Event>,
}

pub(crate) fn run(share: Share) {
    // A send fails only when the driver is gone already, and then nobody asks.
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = share.events.send(Event::Fatal(Fatal::Thread(error)));
            return;
        }
    };
    let events = share.events.clone();
    if let Err(fatal) = runtime.block_on(drive_all(share)) {
        let _ = events.send(Event::Fatal(fatal));
    }
    // Without waiting for a name lookup that may hang.
    runtime.shutdown_background();
}

async fn drive_all(share: Share) -> Result<(), Fatal> {
    let mut pace = share.pace.clone();
    let (terminals, cancel) = tokio::select! {
        connected = connect_all(&share) => connected?,
        () = killed(&mut pace) => return Ok(()),
    };
    let mut tasks = JoinSet::new();
    for terminal in terminals {
        let timer = Timer::new().map_err(Fatal::Thread)?;
        let desk = Desk {
            recorder: Arc::clone(&share.recorder),
            pace: share.pace.clone(),
            timer,
        };
        tasks.spawn(drive(terminal, desk));
    }
    let tid = rustix::thread::gettid().as_raw_nonzero().get();
    let _ = share.events.send(Event::Ready(tid));
    loop {
        tokio::select! {
            ended = tasks.join_next() => match ended {
                // A panic in a terminal must not pass for a load that goes on.
                Some(Err(error)) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
                Some(Ok(Err(fatal))) => {
                    let _ = share.events.send(Event::Fatal(fatal));
                }
                Some(_) => {}
                None => return Ok(()),
            },
            () = killed(&mut pace) => {
                cancel_all(cancel).await;
                return Ok(());
            }
        }
    }
}

async fn killed(pace: &mut watch::Receiver<Pace>) {
    // An error says that the driver is gone, which is a kill too.
    let _ = pace.wait_for(|pace| matches!(pace, Pace::Kill)).await;
}

type Terminals = (Vec<Terminal>, Vec<tokio_postgres::CancelToken>);

async fn connect_all(share: &Share) -> Result<Terminals, Fatal> {
    let mut tasks = JoinSet::new();
    for index in share.terminals.clone() {
        let share = share.clone();
        tasks.spawn(async move {
            let (client, connection) = share.config.connect(NoTls).await.map_err(Fatal::Connect)?;
            // It ends with the client; its error reaches the terminal as a closed connection.
            tokio::spawn(connection);
            let cancel = client.cancel_token();
            let terminal = share.workload.terminal(client, share.seed, index);
            Ok((terminal.await.map_err(Fatal::Prepare)?, cancel))
        });
    }
    let mut all: Terminals = Default::default();
    while let Some(done) = tasks.join_next().await {
        match done {
            Ok(connected) => {
                let (terminal, cancel) = connected?;
                all.0.push(terminal);
                all.1.push(cancel);
            }
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {}
        }
    }
    Ok(all)
}

/// A statement that hangs on a lock would otherwise stay on the server behind a closed socket.
async fn cancel_all(tokens: Vec<tokio_postgres::CancelToken>) {
    let mut tasks = JoinSet::new();
    for token in tokens {
        tasks.spawn(async move { token.cancel_query(NoTls).await });
    }
    let _ = tokio::time::timeout(CANCEL_WITHIN, async {
        while tasks.join_next().await.is_some() {}
    })
    .await;
}

/// What a terminal needs beside its connection.
struct Desk {
    recorder: Arc<Mutex<Recorder>>,
    pace: watch::Receiver<Pace>,
    timer: Timer,
}

impl Desk {
    fn record(&self, ended: &Ended<'_>) -> Instant {
        self.recorder
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .record(ended)
    }

    /// Whether the pace has changed; a driver that is gone is a change.
    fn has_changed(&self) -> bool {
        self.pace.has_changed().unwrap_or(true)
    }

    async fn changed(&mut self) -> Pace {
        match self.pace.changed().await {
            Ok(()) => self.pace.borrow_and_update().clone(),
            Err(_) => Pace::Kill,
        }
    }
}

/// One terminal's life: the next transaction as soon as the last has ended, or when it is due.
async fn drive(mut terminal: Terminal, mut desk: Desk) -> Result<(), Fatal> {
    let mut pace = desk.pace.borrow_and_update().clone();
    let mut free_since = Instant::now();
    loop {
        let from = match &pace {
            Pace::Stop | Pace::Kill => return Ok(()),
            Pace::Closed => free_since,
            Pace::Wait => {
                pace = desk.changed().await;
                free_since = Instant::now();
                continue;
            }
            Pace::Open(schedule) => {
                let due = schedule.take();
                if due > free_since {
                    tokio::select! {
                        biased;
                        waited = desk.timer.wait_until(due) => waited.map_err(Fatal::Thread)?,
                        changed = desk.pace.changed() => {
                            pace = match changed {
                                Ok(()) => desk.pace.borrow_and_update().clone(),
                                Err(_) => Pace::Kill,
                            };
                            free_since = Instant::now();
                            continue;
                        }
                    }
                }
                schedule.begin();
                due
            }
        };
        free_since = transact(&mut terminal, &desk, from).await?;
        if desk.has_changed() {
            pace = desk.changed().await;
        }
    }
}

/// Runs the next transaction to its end, retries included, and books it.
async fn transact(terminal: &mut Terminal, desk: &Desk, from: Instant) -> Result<Instant, Fatal> {
    let kind = terminal.next();
    let mut retries = 0;
    // One that began under another pace says nothing of this one's latency, but it did end.
    let from = |desk: &Desk| (!desk.has_changed()).then_some(from);
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
                    from: from(desk),
                }));
            }
            Err(Failure::Script(error)) => return Err(Fatal::Script(error)),
            Err(Failure::Postgres(error)) => error,
        };
        let severity = severity(&error);
        match severity {
            Severity::Gone => return Err(Fatal::Gone(deepest(&error))),
            Severity::Client => return Err(Fatal::Unsent(deepest(&error))),
            Severity::Retry | Severity::Transaction => {}
        }
        terminal
            .rollback()
            .await
            .map_err(|error| Fatal::Gone(deepest(&error)))?;
        if severity == Severity::Retry && retries < MAX_RETRIES && terminal.may_retry() {
            retries += 1;
            continue;
        }
        let server = error.as_db_error();
        let outcome = Outcome::Failed {
            code: server.map_or("", |server| server.code().code()),
            message: server.map_or("", |server| server.message()),
        };
        return Ok(desk.record(&Ended {
            kind,
            outcome,
            retries,
            from: None,
        }));
    }
}
