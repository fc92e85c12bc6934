//! A password from a file, or from a command that prints it: a vault's, a keyring's.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use dbdyno_model::Secret;
use rustix::process::WaitIdStatus;

use super::started::{Group, Started};

/// Longer than any password, and than any line of an error that is worth to be shown.
const LONGEST: u64 = 64 << 10;
const LONGEST_COMPLAINT: usize = 200;

/// How often is looked whether the command has ended.
const TICK: Duration = Duration::from_millis(5);

/// No variant holds anything that may be the password, nor the command, which may hold one.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    #[error("cannot read the password file {path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("the password file {path} can be read by others (mode {mode:04o})")]
    Mode { path: PathBuf, mode: u32 },
    #[error("the password file {path} {what}")]
    Content { path: PathBuf, what: &'static str },
    #[error("cannot start the password command: {0}")]
    Start(#[source] io::Error),
    #[error("the password command {how}{}", behind_colon(complaint))]
    Failed {
        how: String,
        /// The first line that it wrote to standard error.
        complaint: Option<String>,
    },
    #[error("the first line of the password command {what}")]
    Output { what: &'static str },
    #[error("the password command printed no line within {} s", limit.as_secs())]
    Late { limit: Duration },
    #[error("interrupted while the password command ran")]
    Interrupted,
}

fn behind_colon(complaint: &Option<String>) -> String {
    let complaint = complaint.as_ref();
    complaint.map_or_else(String::new, |line| format!(": {line}"))
}

impl PasswordError {
    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            Self::Mode { path, .. } => format!("chmod 0600 {}", path.display()),
            Self::Unreadable { .. } | Self::Content { .. } => {
                "the file holds the password and nothing else".into()
            }
            Self::Start(_) => "/bin/sh -c runs it: is there a shell?".into(),
            Self::Failed { .. } | Self::Output { .. } | Self::Late { .. } => {
                "try it with /bin/sh -c: the first line that it prints is the password".into()
            }
            Self::Interrupted => "start it again".into(),
        }
    }
}

/// What the file holds, without the line break at its end. Nobody else may be able to read it.
///
/// # Errors
/// The file cannot be read, is open to others, or holds no password.
pub fn password_from_file(path: &Path) -> Result<Secret, PasswordError> {
    let failed = |source| PasswordError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let content = |what| PasswordError::Content {
        path: path.to_owned(),
        what,
    };
    let file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(PasswordError::Mode {
            path: path.to_owned(),
            mode,
        });
    }
    let mut bytes = Vec::new();
    let read = file.take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(failed)?;
    secret(bytes).map_err(content)
}

/// The first line that the command prints; /bin/sh runs it.
///
/// # Errors
/// The command fails or prints no password; or it takes longer than `limit`, or `interrupted` becomes
/// true: then it is ended with what it started.
pub fn password_from_command(
    command: &str,
    limit: Duration,
    interrupted: &AtomicBool,
) -> Result<Secret, PasswordError> {
    let patience = Patience {
        limit,
        deadline: Instant::now() + limit,
        interrupted,
    };
    let mut started = Started::start(command, Group::fitting()).map_err(PasswordError::Start)?;
    let answer = answer(&mut started, &patience);
    match &answer {
        Ok(_) | Err(PasswordError::Failed { .. }) => started.leave(),
        Err(_) => started.end(),
    }
    secret(answer?).map_err(|what| PasswordError::Output { what })
}

/// How long we wait.
struct Patience<'a> {
    limit: Duration,
    deadline: Instant,
    interrupted: &'a AtomicBool,
}

impl Patience<'_> {
    fn look(&self) -> Result<(), PasswordError> {
        if self.interrupted.load(Ordering::SeqCst) {
            return Err(PasswordError::Interrupted);
        }
        if Instant::now() >= self.deadline {
            return Err(PasswordError::Late { limit: self.limit });
        }
        Ok(())
    }
}

/// The line that it printed, once it has ended well.
fn answer(started: &mut Started, patience: &Patience<'_>) -> Result<Vec<u8>, PasswordError> {
    let printed = first_line(started.stdout()).map_err(PasswordError::Start)?;
    let complained = first_line(started.stderr()).map_err(PasswordError::Start)?;
    let status = loop {
        if let Some(status) = started.status().map_err(PasswordError::Start)? {
            break status;
        }
        patience.look()?;
        thread::sleep(TICK);
    };
    // Something that it left running may hold its output open.
    if status.exit_status() != Some(0) {
        let left = patience.deadline.saturating_duration_since(Instant::now());
        let soon = left.min(Duration::from_millis(200));
        let printed = printed.recv_timeout(soon).unwrap_or_default();
        let complained = complained.recv_timeout(soon).unwrap_or_default();
        // What interrupts us at a terminal ends it, too, and that is no failure of its own.
        if patience.interrupted.load(Ordering::SeqCst) {
            return Err(PasswordError::Interrupted);
        }
        return Err(PasswordError::Failed {
            how: how(status),
            complaint: shown(&complained, &printed),
        });
    }
    loop {
        match printed.recv_timeout(TICK) {
            Ok(line) => return Ok(line),
            Err(RecvTimeoutError::Timeout) => patience.look()?,
            // Its output could not be read.
            Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
        }
    }
}

/// Reads on to the end, so that whoever writes never waits, and keeps the first line.
fn first_line(pipe: Option<impl Read + Send + 'static>) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    if let Some(pipe) = pipe {
        thread::Builder::new()
            .name("password".into())
            .spawn(move || {
                let mut pipe = BufReader::new(pipe);
                let mut line = Vec::new();
                let read = pipe.by_ref().take(LONGEST + 1).read_until(b'\n', &mut line);
                // Nobody waits any more once the time is over.
                let _ = read.map(|_| sender.send(line));
                let _ = io::copy(&mut pipe, &mut io::sink());
            })?;
    }
    Ok(receiver)
}

fn how(status: WaitIdStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "did not end well".to_owned(),
    }
}

/// The line as a terminal may show it, unless the password stands in it.
fn shown(complaint: &[u8], printed: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(complaint);
    let line: String = text
        .trim()
        .replace(char::is_control, " ")
        .chars()
        .take(LONGEST_COMPLAINT)
        .collect();
    let printed = String::from_utf8_lossy(printed);
    let printed = printed.trim();
    let repeats = !printed.is_empty() && text.contains(printed);
    (!line.is_empty() && !repeats).then_some(line)
}

/// The bytes without one line break at their end, where they can be a password.
fn secret(mut bytes: Vec<u8>) -> Result<Secret, &'static str> {
    if bytes.len() as u64 > LONGEST {
        return Err("holds more than a password");
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
    }
    if bytes.is_empty() {
        return Err("holds no password");
    }
    if bytes.iter().any(|byte| matches!(byte, 0 | b'\n')) {
        return Err("holds more than one line, or a zero byte");
    }
    let text = String::from_utf8(bytes).map_err(|_| "holds something that is not UTF-8")?;
    Ok(Secret::new(text))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::process;

    const LIMIT: Duration = Duration::from_secs(60);
    static NEVER: AtomicBool = AtomicBool::new(false);

    fn printed(command: &str) -> Result<String, String> {
        match password_from_command(command, LIMIT, &NEVER) {
            Ok(secret) => Ok(secret.expose().to_owned()),
            Err(error) => {
                let text = format!("{error} {error:?} {}", error.hint());
                assert!(!text.contains("hunter"), "{text}");
                Err(error.to_string())
            }
        }
    }

    #[test]
    fn the_first_line_that_a_command_prints_is_the_password() {
        assert_eq!(printed("echo hunter2").unwrap(), "hunter2");
        assert_eq!(printed("printf 'no newline'").unwrap(), "no newline");
        assert_eq!(
            printed("printf ' blanks \\r\\nsecond\\n'").unwrap(),
            " blanks "
        );
        assert_eq!(printed("echo a; echo noise >&2").unwrap(), "a");
        assert_eq!(printed("echo a; yes | head -c 1000000").unwrap(), "a");
        // Whatever it leaves running does not keep us.
        let begun = Instant::now();
        assert_eq!(printed("echo a; sleep 20 &").unwrap(), "a");
        assert!(begun.elapsed() < Duration::from_secs(15));
    }

    #[test]
    fn a_command_that_fails_is_told_by_its_code_and_its_first_complaint() {
        let told = printed("echo hunter2; echo 'no vault\x1b[31m' >&2; echo more >&2; exit 3");
        let told = told.unwrap_err();
        assert_eq!(
            told,
            "the password command ended with exit code 3: no vault [31m"
        );
        let told = printed("echo hunter2; echo 'wrong: hunter2' >&2; exit 3").unwrap_err();
        assert_eq!(told, "the password command ended with exit code 3");
        let told = printed("kill -9 $$").unwrap_err();
        assert!(told.contains("signal 9"), "{told}");
        let told = printed("no-such-program-here hunter").unwrap_err();
        assert!(told.contains("exit code 127"), "{told}");
        for silent in ["true", "echo", "printf '\\n\\nlate'"] {
            assert!(
                printed(silent).unwrap_err().contains("no password"),
                "{silent}"
            );
        }
        assert!(printed("printf '\\377\\n'").unwrap_err().contains("UTF-8"));
        assert!(printed("yes | head -c 200000 | tr -d '\\n'").is_err());
    }

    /// Killed, it stays listed until whoever inherited it has looked.
    fn wait_for_the_end_of(pid: &str) {
        let pid = pid.trim().parse().unwrap();
        let begun = Instant::now();
        while process::is_alive(pid) {
            assert!(begun.elapsed() < Duration::from_secs(10), "it runs on");
            thread::sleep(TICK);
        }
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended_with_what_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let pid = directory.path().join("pid");
        let command = format!("sleep 600 & echo $! > {}; wait", pid.display());
        let limit = Duration::from_secs(2);
        let error = password_from_command(&command, limit, &NEVER).unwrap_err();
        assert!(matches!(error, PasswordError::Late { .. }), "{error}");
        wait_for_the_end_of(&fs::read_to_string(pid).unwrap());
    }

    #[test]
    fn an_interrupt_ends_a_command_with_what_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let pid = directory.path().join("pid");
        let command = format!("sleep 600 & echo $! > {}; wait", pid.display());
        let interrupted = AtomicBool::new(false);
        let begun = Instant::now();
        let error = thread::scope(|scope| {
            let waiting = scope.spawn(|| password_from_command(&command, LIMIT, &interrupted));
            while !fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n')) {
                assert!(begun.elapsed() < LIMIT / 2, "it does not start");
                thread::sleep(TICK);
            }
            interrupted.store(true, Ordering::SeqCst);
            waiting.join().unwrap().unwrap_err()
        });
        assert!(matches!(error, PasswordError::Interrupted), "{error}");
        assert!(begun.elapsed() < LIMIT);
        wait_for_the_end_of(&fs::read_to_string(pid).unwrap());
    }

    #[test]
    fn a_file_is_the_password_of_whoever_alone_can_read_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        let of = |bytes: &[u8], mode: u32| {
            fs::write(&path, bytes).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let read = password_from_file(&path);
            read.map(|secret| secret.expose().to_owned())
        };
        for bytes in [&b" hunter2 "[..], b" hunter2 \n", b" hunter2 \r\n"] {
            assert_eq!(of(bytes, 0o600).unwrap(), " hunter2 ");
        }
        assert_eq!(of(b"x", 0o400).unwrap(), "x");
        for mode in [0o640, 0o604, 0o644, 0o620] {
            let error = of(b"hunter2", mode).unwrap_err();
            assert!(matches!(error, PasswordError::Mode { .. }), "{error}");
            assert_eq!(error.hint(), format!("chmod 0600 {}", path.display()));
        }
        for bytes in [
            &b""[..],
            b"\n",
            b"hunter\n\n",
            b"hunter\nmore\n",
            b"hunter\0",
            b"hunter\xff",
        ] {
            let error = of(bytes, 0o600).unwrap_err();
            let text = format!("{error} {error:?} {}", error.hint());
            assert!(
                text.contains("password") && !text.contains("hunter"),
                "{text}"
            );
        }
        fs::remove_file(&path).unwrap();
        let error = password_from_file(&path).unwrap_err();
        assert!(matches!(error, PasswordError::Unreadable { .. }), "{error}");
    }
}
