//! Reads a server's counters beside the load, on a thread of its own: a server that stops answering
//! does not stop the clock of who measures it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use dbdyno_bench::driver::{Reset, Sampler, Segments, ServerCounters};
use dbdyno_model::Connection;
use dbdyno_trial::HostReader;

use super::reader::{Again, ServerReader};
use crate::exit::{Exit, Failure};

/// How long an answer is waited for, once; until it comes the counters are unknown.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// How late an interrupt may be seen meanwhile.
const TICK: Duration = Duration::from_millis(100);

/// A server's identity, its counters and those of this machine.
pub(super) struct ServerSampler {
    /// `PostgreSQL`, `MySQL` or `MariaDB`.
    pub(super) engine: &'static str,
    pub(super) version: String,
    /// Its main process, where it runs on this machine.
    pub(super) pid: Option<u32>,
    questions: Sender<()>,
    answers: Receiver<Answer>,
    /// Asked, and not answered yet.
    waits: bool,
    host: HostReader,
    segments: Segments,
    /// What has begun again since the last sample.
    reset: Reset,
    /// An answer is not waited for any longer once it is set.
    stop: Arc<AtomicBool>,
}

struct Answer {
    counters: Option<ServerCounters>,
    again: Option<Again>,
    /// How long it took the server, and when it had come.
    took: Duration,
    at: Instant,
}

/// Who the server is, once it is connected to.
struct Identity {
    engine: &'static str,
    version: String,
    pid: Option<u32>,
}

impl ServerSampler {
    pub(super) fn open(connection: &Connection, stop: &Arc<AtomicBool>) -> Result<Self, Failure> {
        let (questions, asked) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let (sender, opened) = mpsc::channel();
        let connection = connection.clone();
        let named = std::thread::Builder::new().name("sampler".into());
        // Not joined: it ends when nobody asks any more, or with the process.
        let spawned = named.spawn(move || match ServerReader::open(&connection) {
            Ok(mut reader) => {
                let identity = Identity {
                    engine: reader.engine,
                    version: reader.version.clone(),
                    pid: reader.pid,
                };
                if sender.send(Ok(identity)).is_ok() {
                    serve(&mut reader, &asked, &answer);
                }
            }
            Err(failure) => {
                let _ = sender.send(Err(failure));
            }
        });
        spawned.map_err(|error| {
            let message = format!("cannot start a thread: {error}");
            let hint = "raise the limit on processes (ulimit -u)".to_owned();
            Failure::new(Exit::Surroundings, message, Some(hint))
        })?;
        let identity = opened.recv().map_err(|_| {
            let message = "a thread ended by itself; this is a defect of dbdyno";
            Failure::new(Exit::Defect, message, None)
        })??;
        Ok(Self {
            engine: identity.engine,
            version: identity.version,
            pid: identity.pid,
            questions,
            answers,
            waits: false,
            host: HostReader::new(identity.pid),
            segments: Segments::default(),
            reset: Reset::default(),
            stop: Arc::clone(stop),
        })
    }

    /// What the server counts now; none where it does not say so in time. One that was late is not
    /// waited for until it is quick again: what it says in one second is told in the next.
    fn ask(&mut self, within: Duration) -> Option<ServerCounters> {
        if self.waits {
            let late = self.answers.try_recv().ok()?;
            self.follow(late.again);
            if late.took >= within {
                self.waits = self.questions.send(()).is_ok();
                // Samples are a second apart, unless nobody observed meanwhile.
                return late.counters.filter(|_| late.at.elapsed() < 2 * within);
            }
        }
        self.waits = self.questions.send(()).is_ok();
        let answer = self.answer(within)?;
        self.waits = false;
        self.follow(answer.again);
        answer.counters
    }

    fn answer(&self, within: Duration) -> Option<Answer> {
        let begun = Instant::now();
        loop {
            let left = within.saturating_sub(begun.elapsed());
            match self.answers.recv_timeout(left.min(TICK)) {
                Ok(answer) => return Some(answer),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if begun.elapsed() >= within || self.stop.load(Ordering::Relaxed) {
                        return None;
                    }
                }
            }
        }
    }

    /// Goes on with the processes of the server that was connected to again.
    fn follow(&mut self, again: Option<Again>) {
        let Some(Again {
            version,
            pid,
            reset,
        }) = again
        else {
            return;
        };
        self.version = version;
        self.pid = pid;
        self.host = HostReader::new(pid);
        self.reset = Reset {
            server: self.reset.server || reset.server,
            counts: self.reset.counts || reset.counts,
            log: self.reset.log || reset.log,
            process: self.reset.process || reset.process,
        };
    }
}

impl Sampler for ServerSampler {
    fn sample(&mut self) -> ServerCounters {
        let mut counters = self.ask(ANSWER_WITHIN).unwrap_or_default();
        self.host.read(&mut counters);
        self.segments
            .join(counters, std::mem::take(&mut self.reset))
    }
}

fn serve(reader: &mut ServerReader, asked: &Receiver<()>, answer: &Sender<Answer>) {
    while asked.recv().is_ok() {
        let begun = Instant::now();
        let (counters, again) = reader.read();
        let read = Answer {
            counters,
            again,
            took: begun.elapsed(),
            at: Instant::now(),
        };
        if answer.send(read).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    /// One whose server is the test: what it is asked, and where it answers.
    fn sampler() -> (ServerSampler, Receiver<()>, Sender<Answer>) {
        let (questions, asked) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let sampler = ServerSampler {
            engine: "PostgreSQL",
            version: "18".into(),
            pid: None,
            questions,
            answers,
            waits: false,
            host: HostReader::new(None),
            segments: Segments::default(),
            reset: Reset::default(),
            stop: Arc::default(),
        };
        (sampler, asked, answer)
    }

    fn read(fsyncs: u64, took: Duration) -> Answer {
        Answer {
            counters: Some(ServerCounters {
                fsyncs: Some(fsyncs),
                ..ServerCounters::default()
            }),
            again: None,
            took,
            at: Instant::now(),
        }
    }

    #[test]
    fn a_server_that_is_always_late_is_told_a_second_later_and_not_waited_for() {
        let (mut sampler, asked, answer) = sampler();
        let fsyncs = |counters: Option<ServerCounters>| counters.and_then(|all| all.fsyncs);
        assert_eq!(fsyncs(sampler.ask(Duration::ZERO)), None);
        let begun = Instant::now();
        assert_eq!(fsyncs(sampler.ask(LONG)), None, "still under way");
        for second in 1..=3 {
            assert_eq!(asked.try_iter().count(), 1);
            answer.send(read(second, LONG)).unwrap();
            assert_eq!(fsyncs(sampler.ask(LONG)), Some(second));
        }
        // One that took no longer than it may is waited for again.
        answer.send(read(4, Duration::ZERO)).unwrap();
        answer.send(read(5, Duration::ZERO)).unwrap();
        assert_eq!(fsyncs(sampler.ask(LONG)), Some(5));
        assert!(!sampler.waits && begun.elapsed() < LONG / 2);
    }

    #[test]
    fn an_interrupt_ends_the_wait_for_an_answer() {
        let (mut sampler, _asked, _answer) = sampler();
        sampler.stop.store(true, Ordering::Relaxed);
        let begun = Instant::now();
        assert!(sampler.ask(LONG).is_none() && sampler.waits);
        assert!(begun.elapsed() < LONG / 2);
    }
}
