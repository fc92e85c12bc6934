//! What all terminals do from now on, changed by the driver and followed by its threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::schedule::Schedule;
use crate::reactor::Alarm;

#[derive(Debug, Clone)]
pub(crate) enum Pace {
    Wait,
    Closed,
    Open(Arc<Schedule>),
    /// When the user at the terminal is done with thinking and keying in.
    Think,
    /// After the transactions under way.
    Stop,
    /// At once.
    Kill,
}

impl Pace {
    /// Whether the load is to end.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self, Self::Stop | Self::Kill)
    }
}

/// The present pace. Asking whether it has changed costs a load.
#[derive(Debug)]
pub(crate) struct Paces {
    present: Mutex<Pace>,
    version: AtomicU64,
    alarms: Mutex<Vec<Alarm>>,
}

impl Paces {
    pub(crate) fn new() -> Self {
        Self {
            present: Mutex::new(Pace::Wait),
            version: AtomicU64::new(0),
            alarms: Mutex::default(),
        }
    }

    /// Its thread is woken by every change from now on.
    pub(crate) fn tell(&self, alarm: Alarm) {
        lock(&self.alarms).push(alarm);
    }

    pub(crate) fn set(&self, pace: Pace) {
        let mut present = lock(&self.present);
        *present = pace;
        self.version.fetch_add(1, Ordering::Release);
        drop(present);
        for alarm in lock(&self.alarms).iter() {
            alarm.ring();
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn present(&self) -> Pace {
        self.get().1
    }

    /// The pace and the version that it is.
    pub(crate) fn get(&self) -> (u64, Pace) {
        let present = lock(&self.present);
        (self.version(), present.clone())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
