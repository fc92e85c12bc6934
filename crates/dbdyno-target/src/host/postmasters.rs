//! PostgreSQL servers that run here, found by their processes: main process, data directory and port.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::patience;
use super::root::Root;

/// Names of the program; a packager's own stands beside PostgreSQL's.
const PROGRAMS: [&str; 3] = ["postgres", "postmaster", "edb-postgres"];

/// Modes in which the program serves nobody.
const OTHER_MODES: [&str; 4] = ["--single", "--boot", "--check", "--describe-config"];

/// The main process of a server. What may not be read is left open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Postmaster {
    pub pid: u32,
    /// The account that it runs as.
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    /// As the server names it, which in a container is not our name for it.
    pub data_directory: Option<PathBuf>,
    pub port: Option<u16>,
    /// The first one, where it has any.
    pub socket_directory: Option<PathBuf>,
    /// The first one, where it has any; `*` is every address.
    pub listen_address: Option<String>,
}

/// What /proc/PID/status tells of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Status {
    pub parent: Option<u32>,
    /// The effective ones.
    pub uid: Option<u32>,
    pub gid: Option<u32>,
}

/// What postmaster.pid tells, line by line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockFile {
    pub data_directory: Option<PathBuf>,
    pub port: Option<u16>,
    pub socket_directory: Option<PathBuf>,
    pub listen_address: Option<String>,
}

/// Every server whose main process is visible from here, in the order of their ports: process ids
/// are others after each start, and what is said of the servers must not change places by that.
pub fn postmasters(root: &Root) -> Vec<Postmaster> {
    let processes = root.list("/proc").unwrap_or_default();
    let servers: BTreeMap<u32, Status> = processes
        .iter()
        .filter_map(|name| name.parse().ok())
        .filter(|pid| is_program(root, *pid))
        .filter_map(|pid| {
            Some((
                pid,
                status(&root.text(&format!("/proc/{pid}/status")).ok()?),
            ))
        })
        .collect();
    let mut found: Vec<Postmaster> = servers
        .iter()
        // The others are its children.
        .filter(|(_, status)| {
            status
                .parent
                .is_none_or(|parent| !servers.contains_key(&parent))
        })
        .filter_map(|(pid, status)| postmaster(root, *pid, *status))
        .collect();
    found.sort_by(|a, b| place(a).cmp(&place(b)));
    found
}

/// A port that is not known comes last.
fn place(server: &Postmaster) -> (bool, Option<u16>, Option<&Path>, u32) {
    let directory = server.data_directory.as_deref();
    (server.port.is_none(), server.port, directory, server.pid)
}

fn is_program(root: &Root, pid: u32) -> bool {
    let name = root.text(&format!("/proc/{pid}/comm"));
    name.is_ok_and(|name| PROGRAMS.contains(&name.trim()))
}

fn postmaster(root: &Root, pid: u32, status: Status) -> Option<Postmaster> {
    let command = root.lossy_text(&format!("/proc/{pid}/cmdline")).ok()?;
    // A server process whose main process is gone has a title instead of arguments.
    if command.starts_with("postgres: ") {
        return None;
    }
    let arguments: Vec<&str> = command.split('\0').collect();
    if arguments
        .iter()
        .any(|argument| OTHER_MODES.contains(argument))
    {
        return None;
    }
    // The server works in its data directory; the way there leads into its own file system.
    let (tree, path) = (root.clone(), format!("/proc/{pid}/cwd/postmaster.pid"));
    let lock = match patience::within_limit(move || tree.lossy_text(&path)) {
        Ok(Ok(text)) => lock_file(&text),
        _ => LockFile::default(),
    };
    let data_directory = lock
        .data_directory
        .or_else(|| root.link(&format!("/proc/{pid}/cwd")).map(PathBuf::from))
        .or_else(|| data_argument(&arguments));
    Some(Postmaster {
        pid,
        uid: status.uid,
        gid: status.gid,
        data_directory,
        port: lock.port,
        socket_directory: lock.socket_directory,
        listen_address: lock.listen_address,
    })
}

/// `-D DIRECTORY` or `-DDIRECTORY`.
pub fn data_argument(arguments: &[&str]) -> Option<PathBuf> {
    let at = arguments
        .iter()
        .position(|argument| argument.starts_with("-D"))?;
    let directory = match arguments[at].strip_prefix("-D") {
        Some("") | None => arguments.get(at + 1).copied()?,
        Some(directory) => directory,
    };
    let directory = Path::new(directory);
    directory.is_absolute().then(|| directory.to_owned())
}

/// Parent and account; a line that does not parse is left open.
pub fn status(text: &str) -> Status {
    let field = |name: &str, column: usize| -> Option<u32> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().nth(column)?.parse().ok()
    };
    // Real, effective, saved, of the file system.
    Status {
        parent: field("PPid:", 0),
        uid: field("Uid:", 1),
        gid: field("Gid:", 1),
    }
}

/// The lines of postmaster.pid; a file that is being written has fewer.
pub fn lock_file(text: &str) -> LockFile {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let line = |index: usize| lines.get(index).copied().filter(|line| !line.is_empty());
    let path = |index: usize| {
        line(index)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    LockFile {
        data_directory: path(1),
        port: line(3).and_then(|line| line.parse().ok()),
        socket_directory: path(4),
        listen_address: line(5).map(str::to_owned),
    }
}

/// Directories and ports of PostgreSQL's sockets in the text of /proc/net/unix.
pub fn sockets(text: &str) -> Vec<(PathBuf, u16)> {
    let mut found: Vec<(PathBuf, u16)> = text
        .lines()
        .filter_map(|line| {
            // The path is the rest of the line: it may hold blanks.
            let path = Path::new(&line[line.find('/')?..]);
            let port = path.file_name()?.to_str()?.strip_prefix(".s.PGSQL.")?;
            Some((path.parent()?.to_owned(), port.parse().ok()?))
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// The sockets of every PostgreSQL server in this network name space.
pub fn postgres_sockets(root: &Root) -> Vec<(PathBuf, u16)> {
    let text = root.lossy_text("/proc/net/unix");
    text.map(|text| sockets(&text)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    const LOCK: &str = "4242\n/var/lib/postgresql/15/main\n1763759000\n5433\n/var/run/postgresql\nlocalhost\n  5433001    196611\nready   \n";

    fn process(tree: &Path, pid: u32, parent: u32, command: &str, lock: Option<&str>) {
        let directory = tree.join("proc").join(pid.to_string());
        fs::create_dir_all(directory.join("cwd")).unwrap();
        fs::write(directory.join("comm"), "postgres\n").unwrap();
        let status = format!(
            "Name:\tpostgres\nPPid:\t{parent}\nUid:\t0\t101\t101\t101\nGid:\t0\t104\t104\t104\n"
        );
        fs::write(directory.join("status"), status).unwrap();
        fs::write(directory.join("cmdline"), command).unwrap();
        if let Some(lock) = lock {
            fs::write(directory.join("cwd/postmaster.pid"), lock).unwrap();
        }
    }

    #[test]
    fn main_processes_are_found_and_nothing_else() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::new(tree.path());
        let server = "/usr/lib/postgresql/15/bin/postgres\0-D\0/var/lib/postgresql/15/main\0";
        process(tree.path(), 4242, 1, server, Some(LOCK));
        process(tree.path(), 4243, 4242, "postgres: checkpointer \0", None);
        // Its main process was killed.
        process(tree.path(), 4300, 1, "postgres: main: walwriter \0", None);
        process(tree.path(), 4400, 1, "postgres\0--single\0-D\0/x\0", None);
        process(tree.path(), 4500, 1, "postgres\0-D/srv/pg\0", None);
        let found = postmasters(&root);
        assert_eq!(
            found,
            [
                Postmaster {
                    pid: 4242,
                    uid: Some(101),
                    gid: Some(104),
                    data_directory: Some("/var/lib/postgresql/15/main".into()),
                    port: Some(5433),
                    socket_directory: Some("/var/run/postgresql".into()),
                    listen_address: Some("localhost".into()),
                },
                Postmaster {
                    pid: 4500,
                    uid: Some(101),
                    gid: Some(104),
                    data_directory: Some("/srv/pg".into()),
                    ..Postmaster::default()
                },
            ]
        );
    }

    #[test]
    fn a_server_keeps_its_place_when_it_is_started_anew() {
        let tree = tempfile::tempdir().unwrap();
        let command = "/usr/bin/postgres\0";
        let lock = |port: u16| format!("1\n/data/{port}\n1763759000\n{port}\n");
        for (pid, port) in [(300, 5432), (200, 5440), (100, 5433)] {
            process(tree.path(), pid, 1, command, Some(lock(port).as_str()));
        }
        process(tree.path(), 50, 1, "postgres\0-D/srv/pg\0", None);
        let found = postmasters(&Root::new(tree.path()));
        let ports: Vec<Option<u16>> = found.iter().map(|server| server.port).collect();
        assert_eq!(ports, [Some(5432), Some(5433), Some(5440), None]);
    }

    #[test]
    fn a_host_without_proc_has_no_servers() {
        let tree = tempfile::tempdir().unwrap();
        assert_eq!(postmasters(&Root::new(tree.path())), []);
    }

    #[test]
    fn a_lock_file_may_be_short_or_odd() {
        assert_eq!(lock_file(""), LockFile::default());
        let short = lock_file("1\n/data\n");
        assert_eq!(short.data_directory, Some("/data".into()));
        assert_eq!(short.port, None);
        let odd = lock_file("1\nrelative\nx\n99999\n\n\n");
        assert_eq!(odd, LockFile::default());
    }

    #[test]
    fn sockets_are_read_from_the_kernels_list() {
        let text = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20410 /var/run/postgresql/.s.PGSQL.5432\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20411 /tmp/my server/.s.PGSQL.6000\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 20412\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20413 @/tmp/.X11-unix/X0\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 20414 /tmp/.s.PGSQL.99999\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 20415 /var/run/postgresql/.s.PGSQL.5432\n";
        assert_eq!(
            sockets(text),
            [
                (PathBuf::from("/tmp/my server"), 6000),
                (PathBuf::from("/var/run/postgresql"), 5432)
            ]
        );
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "([0-9/@ \n]|\\.s\\.PGSQL\\.|\\PC){0,60}") {
            let _ = (lock_file(&text), sockets(&text), status(&text));
            let _ = data_argument(&text.split(' ').collect::<Vec<_>>());
        }
    }
}
