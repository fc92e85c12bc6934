//! A shell command with all that it starts, from its first word to its end.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};

use crate::process;

/// How often is looked what it has started.
const NOTED_EVERY: Duration = Duration::from_millis(25);
/// For a command that has switched the terminal's echo off, and switches it on when it is asked to end.
const GRACE: Duration = Duration::from_millis(200);
const TICK: Duration = Duration::from_millis(5);

/// Where the command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// In a process group of its own, which ends as one.
    Own,
    /// In ours: no other one may read from the terminal. What it has started is noted while it runs,
    /// since its group tells it from nobody else's.
    Ours,
}

impl Group {
    /// Where there is a terminal, the command may ask somebody there.
    pub(super) fn fitting() -> Self {
        if process::is_in_foreground() {
            Self::Ours
        } else {
            Self::Own
        }
    }
}

#[derive(Debug)]
pub(super) struct Started {
    child: Child,
    group: Group,
    /// The shell and what came of it, with the starts: a number may be given again.
    seen: BTreeMap<u32, u64>,
    noted: Instant,
}

impl Started {
    pub(super) fn start(command: &str, group: Group) -> io::Result<Self> {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if group == Group::Own {
            shell.process_group(0);
        }
        let child = shell.spawn()?;
        let seen = process::stat(child.id()).map(|stat| (child.id(), stat.start));
        Ok(Self {
            child,
            group,
            seen: seen.into_iter().collect(),
            noted: Instant::now(),
        })
    }

    pub(super) fn stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    pub(super) fn stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// How the shell ended, once it has. It stays listed, so that nobody else gets its number before
    /// the group of that number is ended.
    pub(super) fn status(&mut self) -> io::Result<Option<WaitIdStatus>> {
        if self.group == Group::Ours && self.noted.elapsed() >= NOTED_EVERY {
            self.note();
            self.noted = Instant::now();
        }
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(Pid::from_child(&self.child)), ended)?)
    }

    /// The shell has ended; what it left running goes on.
    pub(super) fn leave(mut self) {
        let _ = self.child.wait();
    }

    /// With all that it has started.
    pub(super) fn end(mut self) {
        match self.group {
            Group::Own => {
                let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            }
            Group::Ours => self.end_each(),
        }
        let _ = self.child.wait();
    }

    fn end_each(&mut self) {
        self.note();
        self.tell(Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < GRACE && self.left().next().is_some() {
            thread::sleep(TICK);
            self.note();
        }
        // Stopped first, so that none starts another one while they are looked for.
        self.tell(Signal::STOP);
        while self.note() {
            self.tell(Signal::STOP);
        }
        self.tell(Signal::KILL);
    }

    /// Whether there are some that were not seen before.
    fn note(&mut self) -> bool {
        let left: Vec<u32> = self.left().collect();
        let mut is_new = false;
        for pid in left.into_iter().flat_map(process::descendants) {
            if let Some(stat) = process::stat(pid) {
                is_new |= self.seen.insert(pid, stat.start) != Some(stat.start);
            }
        }
        is_new
    }

    fn left(&self) -> impl Iterator<Item = u32> + '_ {
        let is_left = |pid: u32, start: u64| {
            process::stat(pid).is_some_and(|stat| stat.start == start && !stat.zombie)
        };
        let seen = self.seen.iter().map(|(pid, start)| (*pid, *start));
        seen.filter(move |(pid, start)| is_left(*pid, *start))
            .map(|(pid, _)| pid)
    }

    fn tell(&self, signal: Signal) {
        for pid in self.left() {
            process::signal(pid, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !ready() {
            assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
            thread::sleep(TICK);
        }
    }

    /// The numbers that the command wrote, one a line.
    fn pids(file: &Path) -> Vec<u32> {
        let text = fs::read_to_string(file).unwrap_or_default();
        let lines = text.split_inclusive('\n');
        let whole = lines.filter_map(|line| line.strip_suffix('\n'));
        whole.map(|pid| pid.parse().unwrap()).collect()
    }

    #[test]
    fn nothing_that_it_started_is_left_in_either_group() {
        for group in [Group::Own, Group::Ours] {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("pids");
            let path = file.display();
            // A child and its own child, neither of which hears an interrupt of the terminal.
            let command = format!(
                "trap '' INT HUP TERM; echo $$ > {path}; \
                 (sleep 600 & echo $! >> {path}; wait) & echo $! >> {path}; wait"
            );
            let mut started = Started::start(&command, group).unwrap();
            wait_for("three processes", || pids(&file).len() == 3);
            assert!(started.status().unwrap().is_none());
            started.end();
            for pid in pids(&file) {
                let left = format!("{group:?}: {pid} is left");
                wait_for(&left, || !process::is_alive(pid));
            }
        }
    }

    #[test]
    fn an_interrupt_of_the_terminal_that_ends_the_shell_alone_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pids");
        let command = format!("sleep 600 & echo $! > {}; wait", file.display());
        let mut started = Started::start(&command, Group::Ours).unwrap();
        wait_for("a child", || pids(&file).len() == 1);
        thread::sleep(NOTED_EVERY);
        assert!(started.status().unwrap().is_none());
        // A shell without job control has its background commands ignore what ends itself.
        assert!(process::signal(started.child.id(), Signal::KILL));
        wait_for("the shell's end", || started.status().unwrap().is_some());
        assert!(process::is_alive(pids(&file)[0]));
        started.end();
        wait_for("it is left", || !process::is_alive(pids(&file)[0]));
    }

    #[test]
    fn what_outlived_the_shell_ends_with_its_group_or_is_left_to_itself() {
        for ends in [true, false] {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("pids");
            let command = format!("sleep 600 & echo $! > {}", file.display());
            let mut started = Started::start(&command, Group::Own).unwrap();
            wait_for("the shell's end", || started.status().unwrap().is_some());
            // Asked twice, it is still there.
            assert_eq!(started.status().unwrap().unwrap().exit_status(), Some(0));
            if ends {
                started.end();
            } else {
                started.leave();
            }
            let pid = pids(&file)[0];
            if ends {
                wait_for("it is left", || !process::is_alive(pid));
            } else {
                assert!(process::is_alive(pid));
                assert!(process::signal(pid, Signal::KILL));
            }
        }
    }
}
