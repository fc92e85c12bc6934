//! Runs a program to its end and says what it used: everything that is measured is judged by this.

use std::io::{BufRead as _, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use dbdyno_target::process::{self, Signal};

use super::steal::Times;

/// A running program is looked at this often, and one that has just begun more often: a wait is the
/// two hundredth part of what it has taken.
const TICK: Duration = Duration::from_millis(10);
const LEAST_TICK: Duration = Duration::from_micros(500);
/// Whatever runs longer hangs.
const LONGEST: Duration = Duration::from_secs(3_600);
/// Lines of its last words that are told where it fails.
const LAST_WORDS: usize = 4;

/// What a program that has ended well came to.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) stdout: String,
    pub(super) seconds: f64,
    /// User and system time, of children that it waited for too.
    pub(super) cpu_s: f64,
    /// The same between the two lines of its output that were asked for.
    pub(super) window_cpu_s: Option<f64>,
    pub(super) peak_rss_bytes: Option<u64>,
    /// Share of the machine's CPU time that the hypervisor gave to others meanwhile.
    pub(super) steal: f64,
}

/// What the lines hold between which a program measures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) begin: &'static str,
    pub(super) end: &'static str,
}

/// A program that did not end well.
#[derive(Debug)]
pub(super) struct Failure {
    /// None where it did not start, or was killed.
    pub(super) code: Option<i32>,
    pub(super) message: String,
}

pub(super) fn measure(command: &mut Command) -> Result<Measured, Failure> {
    measure_within(command, None)
}

pub(super) fn measure_within(
    command: &mut Command,
    window: Option<Window>,
) -> Result<Measured, Failure> {
    // Where it lies is this machine's own.
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    let failed = |why: String| Failure {
        code: None,
        message: format!("{name}: {why}"),
    };
    let unknown = || failed("/proc does not tell what it used".to_owned());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let times = Times::now().map_err(failed)?;
    let cpu_s = process::waited_for_cpu_s().ok_or_else(unknown)?;
    let begun = Instant::now();
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let pid = child.id();
    let (ended, stdout, stderr) = std::thread::scope(|scope| {
        let stdout = scope.spawn(move || read(stdout, pid, window));
        let stderr = scope.spawn(move || read(stderr, pid, None));
        let ended = wait(&mut child, begun);
        // They end with their pipes, and panic at nothing.
        let stdout = stdout.join().unwrap_or_default();
        (ended, stdout, stderr.join().unwrap_or_default())
    });
    let seconds = begun.elapsed().as_secs_f64();
    let (status, peak_rss_bytes) = ended.map_err(failed)?;
    if !status.success() {
        let words = last_words(&stderr.text).or_else(|| last_words(&stdout.text));
        return Err(Failure {
            code: status.code(),
            message: format!("{name}: {}", words.unwrap_or_else(|| status.to_string())),
        });
    }
    let after = process::waited_for_cpu_s().ok_or_else(unknown)?;
    Ok(Measured {
        window_cpu_s: stdout.window_cpu_s(),
        stdout: stdout.text,
        seconds,
        cpu_s: after - cpu_s,
        peak_rss_bytes,
        steal: times.steal_until(&Times::now().map_err(failed)?),
    })
}

/// How it ended, and the last that was seen of its peak.
fn wait(child: &mut Child, begun: Instant) -> Result<(ExitStatus, Option<u64>), String> {
    let mut peak = None;
    loop {
        peak = process::peak_rss_bytes(child.id()).or(peak);
        match child.try_wait() {
            Ok(Some(status)) => return Ok((status, peak)),
            Ok(None) if begun.elapsed() > LONGEST => {
                process::signal(child.id(), Signal::KILL);
                let _ = child.wait();
                return Err(format!("it had not ended after {} s", LONGEST.as_secs()));
            }
            Ok(None) => std::thread::sleep((begun.elapsed() / 200).clamp(LEAST_TICK, TICK)),
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[derive(Debug, Default)]
struct Output {
    text: String,
    /// CPU seconds of the process when it wrote the lines of the window.
    begin: Option<f64>,
    end: Option<f64>,
}

impl Output {
    fn window_cpu_s(&self) -> Option<f64> {
        Some(self.end? - self.begin?)
    }
}

/// To the end, so that nobody waits for room in the pipe.
fn read(pipe: Option<impl Read>, pid: u32, window: Option<Window>) -> Output {
    let mut output = Output::default();
    let Some(pipe) = pipe else { return output };
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while pipe.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line);
        let used = || process::usage(pid).map(|usage| usage.cpu_s);
        if let Some(window) = window {
            if text.contains(window.begin) {
                output.begin = used();
            } else if text.contains(window.end) {
                output.end = used();
            }
        }
        output.text.push_str(&text);
        line.clear();
    }
    output
}

/// None where it said nothing.
fn last_words(text: &str) -> Option<String> {
    let said: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let last = &said[said.len().saturating_sub(LAST_WORDS)..];
    (!last.is_empty()).then(|| last.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    const SPIN: &str = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";

    #[test]
    fn time_memory_and_output_are_those_of_the_program() {
        let script = format!("{SPIN}; echo done; echo aside >&2");
        let measured = measure(&mut shell(&script)).unwrap();
        assert_eq!(measured.stdout, "done\n");
        assert!(measured.cpu_s > 0.0 && measured.cpu_s < 60.0);
        assert!(measured.seconds > 0.0);
        assert!(measured.peak_rss_bytes.unwrap() > 100_000);
        assert!((0.0..=1.0).contains(&measured.steal));
        assert_eq!(measured.window_cpu_s, None);
    }

    #[test]
    fn a_window_is_the_time_between_two_lines() {
        let window = Window {
            begin: "warm",
            end: "over",
        };
        let script = format!("{SPIN}; echo is warm; echo over now; sleep 1");
        let measured = measure_within(&mut shell(&script), Some(window)).unwrap();
        assert!(measured.window_cpu_s.unwrap() < measured.cpu_s);
    }

    #[test]
    fn a_failure_has_its_code_and_its_last_words() {
        let failure = measure(&mut shell("echo out; echo err >&2; exit 2")).unwrap_err();
        assert_eq!(failure.code, Some(2));
        assert_eq!(failure.message, "sh: err");
        let failure = measure(&mut shell("echo out; exit 1")).unwrap_err();
        assert_eq!(failure.message, "sh: out");
        let failure = measure(&mut Command::new("/nowhere/tool")).unwrap_err();
        assert_eq!(failure.code, None);
        assert!(failure.message.starts_with("tool: "));
    }
}
