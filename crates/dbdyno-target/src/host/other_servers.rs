//! Database servers of other engines than PostgreSQL that run here, found by their processes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::postmasters::{Status, status};
use super::root::Root;

/// Names of the programs, the engines, and the option that names the data directory.
const PROGRAMS: [(&str, &str, &str); 3] = [
    ("mariadbd", "MariaDB", "--datadir"),
    ("mongod", "MongoDB", "--dbpath"),
    // MariaDB before 10.5 is called so, too.
    ("mysqld", "MySQL or MariaDB", "--datadir"),
];

/// A server that is named and not read. What may not be read is left open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherServer {
    pub pid: u32,
    pub engine: &'static str,
    pub data_directory: Option<PathBuf>,
    /// Where the command line names it.
    pub port: Option<u16>,
}

/// Every such server that is visible from here, in the order of their engines and ports.
pub fn other_servers(root: &Root) -> Vec<OtherServer> {
    let processes = root.list("/proc").unwrap_or_default();
    let pids = processes.iter().filter_map(|name| name.parse().ok());
    let servers: BTreeMap<u32, (OtherServer, Status)> = pids
        .filter_map(|pid| Some((pid, server(root, pid)?)))
        .collect();
    let mut found: Vec<OtherServer> = servers
        .values()
        // A server that is starting has a child of its own name.
        .filter(|(_, status)| {
            status
                .parent
                .is_none_or(|parent| !servers.contains_key(&parent))
        })
        .map(|(server, _)| server.clone())
        .collect();
    found.sort_by(|a, b| place(a).cmp(&place(b)));
    found
}

/// As a PostgreSQL's: process ids are others after each start.
fn place(server: &OtherServer) -> (&str, bool, Option<u16>, Option<&Path>, u32) {
    let directory = server.data_directory.as_deref();
    let port = server.port;
    (server.engine, port.is_none(), port, directory, server.pid)
}

fn server(root: &Root, pid: u32) -> Option<(OtherServer, Status)> {
    let name = root.lossy_text(&format!("/proc/{pid}/comm")).ok()?;
    let (_, engine, directory_option) = PROGRAMS
        .into_iter()
        .find(|(program, _, _)| *program == name.trim())?;
    let status = status(&root.text(&format!("/proc/{pid}/status")).ok()?);
    let command = root.lossy_text(&format!("/proc/{pid}/cmdline"));
    let command = command.unwrap_or_default();
    let arguments: Vec<&str> = command.split('\0').collect();
    // mysqld works in its data directory, mongod where it was started.
    let works_in = || {
        let link = root.link(&format!("/proc/{pid}/cwd"));
        link.filter(|_| directory_option == "--datadir")
    };
    let server = OtherServer {
        pid,
        engine,
        data_directory: option(&arguments, directory_option)
            .filter(|directory| Path::new(directory).is_absolute())
            .map(str::to_owned)
            .or_else(works_in)
            .map(PathBuf::from),
        port: option(&arguments, "--port").and_then(|port| port.parse().ok()),
    };
    Some((server, status))
}

/// `--port=3307` or `--port 3307`; of several the last one counts.
fn option<'a>(arguments: &[&'a str], name: &str) -> Option<&'a str> {
    let value = |at: usize| match arguments[at].strip_prefix(name)? {
        "" => arguments.get(at + 1).copied(),
        rest => rest.strip_prefix('='),
    };
    (0..arguments.len()).rev().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn process(tree: &Path, pid: u32, parent: u32, program: &str, command: &str) {
        let directory = tree.join("proc").join(pid.to_string());
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("comm"), format!("{program}\n")).unwrap();
        fs::write(directory.join("status"), format!("PPid:\t{parent}\n")).unwrap();
        fs::write(directory.join("cmdline"), command).unwrap();
    }

    #[test]
    fn servers_are_named_with_what_their_command_line_tells() {
        let tree = tempfile::tempdir().unwrap();
        let maria = "/usr/sbin/mariadbd\0--datadir=/srv/maria\0--port=3306\0--port=3307\0";
        process(tree.path(), 700, 1, "mariadbd", maria);
        process(tree.path(), 701, 700, "mariadbd", maria);
        let mongo = "mongod\0--dbpath\0/srv/mongo\0--port\0x\0";
        process(tree.path(), 800, 1, "mongod", mongo);
        process(tree.path(), 900, 1, "mysqld_safe", "sh\0mysqld_safe\0");
        process(tree.path(), 950, 1, "mysqld", "");
        process(tree.path(), 960, 1, "postgres", "postgres\0");
        let found = other_servers(&Root::new(tree.path()));
        assert_eq!(
            found,
            [
                OtherServer {
                    pid: 700,
                    engine: "MariaDB",
                    data_directory: Some("/srv/maria".into()),
                    port: Some(3307),
                },
                OtherServer {
                    pid: 800,
                    engine: "MongoDB",
                    data_directory: Some("/srv/mongo".into()),
                    port: None,
                },
                OtherServer {
                    pid: 950,
                    engine: "MySQL or MariaDB",
                    ..OtherServer::default()
                },
            ]
        );
    }

    #[test]
    fn a_server_keeps_its_place_when_it_is_started_anew() {
        let tree = tempfile::tempdir().unwrap();
        for (pid, port) in [(300, 3306), (200, 3308), (100, 3307)] {
            let command = format!("mysqld\0--port={port}\0");
            process(tree.path(), pid, 1, "mysqld", &command);
        }
        let found = other_servers(&Root::new(tree.path()));
        let ports: Vec<Option<u16>> = found.iter().map(|server| server.port).collect();
        assert_eq!(ports, [Some(3306), Some(3307), Some(3308)]);
    }

    #[test]
    fn options_are_taken_whole() {
        let arguments = ["mysqld", "--portable=7", "--port"];
        assert_eq!(option(&arguments, "--port"), None);
        assert_eq!(option(&["--port", "3306"], "--port"), Some("3306"));
        assert_eq!(option(&[], "--port"), None);
    }
}
