//! Reads a server's counters beside the load, on a thread of its own: a server that stops answering
//! does not stop the clock of who measures it.

use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::time::Duration;

use dbdyno_bench::driver::{Anew, Sampler, Segments, ServerCounters};
use dbdyno_model::Connection;
use dbdyno_trial::HostReader;

use super::sampler::{Again, ServerReader};
use crate::exit::{Exit, Failure};

/// How long an answer is waited for, once; until it comes the counters are unknown.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

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
    anew: Anew,
}

struct Answer {
    counters: Option<ServerCounters>,
    again: Option<Again>,
}

/// Who the server is, once it is connected to.
struct Identity {
    engine: &'static str,
    version: String,
    pid: Option<u32>,
}

impl ServerSampler {
    pub(super) fn open(connection: &Connection) -> Result<Self, Failure> {
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
            anew: Anew::default(),
        })
    }

    /// What the server counts now; none where it does not say so in time.
    fn ask(&mut self) -> Option<ServerCounters> {
        if self.waits {
            // What comes late is of another moment.
            match self.answers.try_recv() {
                Ok(late) => self.follow(late.again),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return None,
            }
        }
        self.waits = self.questions.send(()).is_ok();
        let answer = self.answers.recv_timeout(ANSWER_WITHIN).ok()?;
        self.waits = false;
        self.follow(answer.again);
        answer.counters
    }

    /// Goes on with the processes of the server that was connected to again.
    fn follow(&mut self, again: Option<Again>) {
        let Some(Again { version, pid, anew }) = again else {
            return;
        };
        self.version = version;
        self.pid = pid;
        self.host = HostReader::new(pid);
        self.anew = Anew {
            server: self.anew.server || anew.server,
            counts: self.anew.counts || anew.counts,
            log: self.anew.log || anew.log,
            process: self.anew.process || anew.process,
        };
    }
}

impl Sampler for ServerSampler {
    fn sample(&mut self) -> ServerCounters {
        let mut counters = self.ask().unwrap_or_default();
        self.host.read(&mut counters);
        self.segments.join(counters, std::mem::take(&mut self.anew))
    }
}

fn serve(reader: &mut ServerReader, asked: &Receiver<()>, answer: &Sender<Answer>) {
    while asked.recv().is_ok() {
        let (counters, again) = reader.read();
        if answer.send(Answer { counters, again }).is_err() {
            return;
        }
    }
}
