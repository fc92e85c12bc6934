//! A limit for files that may never answer: a file system on a network whose server is gone holds
//! whoever looks at it.

use std::panic;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// A disk that is only slow answers within a second.
const LIMIT: Duration = Duration::from_secs(5);

/// What the work gives, or why it gave nothing in time; its thread is then left behind.
pub(super) fn within_limit<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    within(LIMIT, work)
}

fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let reader = thread::Builder::new()
        .name("files".into())
        .spawn(move || {
            // Nobody waits any more once the time is over.
            let _ = sender.send(work());
        })
        .map_err(|error| format!("cannot start a thread to look at it: {error}"))?;
    match receiver.recv_timeout(limit) {
        Ok(answer) => Ok(answer),
        Err(RecvTimeoutError::Timeout) => Err(format!(
            "its file system did not answer within {} s: is its server gone?",
            limit.as_secs()
        )),
        // A defect stays one, whichever thread it is on.
        Err(RecvTimeoutError::Disconnected) => match reader.join() {
            Err(defect) => panic::resume_unwind(defect),
            Ok(()) => Err("its reader ended without an answer".to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_hangs_is_left_behind_and_an_answer_is_an_answer() {
        let (hold, held) = mpsc::channel::<()>();
        let hung = within(Duration::from_millis(50), move || held.recv().is_ok());
        assert!(hung.unwrap_err().contains("did not answer"));
        drop(hold);
        assert_eq!(within(Duration::from_secs(60), || 7), Ok(7));
    }

    #[test]
    #[should_panic(expected = "a defect")]
    fn a_defect_is_not_taken_for_silence() {
        let _ = within(Duration::from_secs(60), || -> u32 { panic!("a defect") });
    }
}
