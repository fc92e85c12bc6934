//! Ctrl-C and its like: one flag for all loops, and a watcher that stops what cannot look at it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dbdyno_target::lab::Abort;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

const WATCH: Duration = Duration::from_millis(20);
/// How long a command without a server may take to notice by itself.
const PATIENCE: Duration = Duration::from_millis(500);

#[derive(Debug, Clone)]
pub(crate) struct Interrupt {
    flag: Arc<AtomicBool>,
    /// The lab whose server has to be stopped so that calls waiting for it return.
    lab: Arc<Mutex<Option<Abort>>>,
    /// The command looks at the flag by itself and has something to say before it ends.
    watched: Arc<AtomicBool>,
    /// From then on another signal ends the process at once.
    last_words: Arc<AtomicBool>,
}

impl Interrupt {
    pub(crate) fn install() -> io::Result<Self> {
        let interrupt = Self {
            flag: Arc::default(),
            lab: Arc::default(),
            watched: Arc::default(),
            last_words: Arc::default(),
        };
        let code = i32::from(Exit::Interrupted.code());
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let last_words = Arc::clone(&interrupt.last_words);
            flag::register_conditional_shutdown(signal, code, last_words)?;
            flag::register(signal, Arc::clone(&interrupt.flag))?;
        }
        let watcher = interrupt.clone();
        std::thread::Builder::new()
            .name("interrupt".into())
            .spawn(move || watcher.watch())?;
        Ok(interrupt)
    }

    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.flag
    }

    pub(crate) fn is_set(&self) -> bool {
        self.flag.load(Ordering::SeqCst)
    }

    /// From now on, until it is called again, the command ends by itself after an interrupt.
    pub(crate) fn watches(&self, watched: bool) {
        self.watched.store(watched, Ordering::SeqCst);
    }

    /// From now on an interrupt stops this lab's server, and the ordinary way out cleans up.
    pub(crate) fn watch_over(&self, abort: Abort) {
        *self.lab.lock().unwrap_or_else(PoisonError::into_inner) = Some(abort);
    }

    fn watch(&self) {
        while !self.is_set() {
            std::thread::sleep(WATCH);
        }
        let begun = Instant::now();
        // A server may be started after the first look: keep at it until the process ends.
        loop {
            match &*self.lab.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(abort) => abort.abort(),
                None if self.watched.load(Ordering::SeqCst) => {
                    self.last_words.store(true, Ordering::SeqCst);
                }
                // Nothing of ours runs: a download or a slow connection need not be waited for.
                None if begun.elapsed() > PATIENCE => {
                    std::process::exit(i32::from(Exit::Interrupted.code()))
                }
                None => {}
            }
            std::thread::sleep(WATCH);
        }
    }
}
