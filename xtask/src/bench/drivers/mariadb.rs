//! MariaDB as the drivers are measured on: durable, with the memory that the data need.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dbdyno_target::process::Signal;

use crate::bench::server::{Place, Server, free_port};

/// Without a password, over the socket and from 127.0.0.1.
pub(super) const USER: &str = "root";

/// All of the data in memory, a log that a run does not fill, and room for a thousand connections that
/// prepare a hundred statements each.
const SETTINGS: [(&str, &str); 5] = [
    ("innodb-buffer-pool-size", "6G"),
    ("innodb-flush-method", "O_DIRECT"),
    ("innodb-log-file-size", "4G"),
    ("max-connections", "1100"),
    ("max-prepared-stmt-count", "1048576"),
];

/// An unpacked package.
#[derive(Debug, Clone)]
pub(super) struct Package {
    root: PathBuf,
}

impl Package {
    pub(super) fn at(root: &Path) -> Option<Self> {
        let server = root.join("usr/sbin/mariadbd");
        server.exists().then(|| Self {
            root: root.to_path_buf(),
        })
    }

    /// With the libraries that were unpacked beside it.
    pub(super) fn program(&self, path: &str) -> Command {
        let triplet = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let mut command = Command::new(self.root.join(path));
        command.env("LD_LIBRARY_PATH", self.root.join(triplet));
        command
    }

    fn share(&self, option: &str, path: &str) -> String {
        format!("--{option}={}", self.root.join("usr").join(path).display())
    }
}

/// A fresh, empty server.
pub(super) fn start(package: &Package) -> Result<Server, String> {
    let place = Place::make("mariadb")?;
    let data = format!("--datadir={}", place.data().display());
    let mut script = package.program("usr/bin/mariadb-install-db");
    script
        .args(["--no-defaults", "--skip-name-resolve", "--force"])
        .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
        .args([&package.share("basedir", ""), &data]);
    place.initialise(&mut script)?;
    let port = free_port()?;
    let mut server = package.program("usr/sbin/mariadbd");
    server
        .arg("--no-defaults")
        .arg(&data)
        .arg(format!("--socket={}", socket(&place).display()))
        .arg(format!("--pid-file={}", place.home.join("pid").display()))
        .arg(format!("--tmpdir={}", place.home.display()))
        .args(["--bind-address=127.0.0.1", "--skip-name-resolve"])
        .arg(format!("--port={port}"))
        .args([
            package.share("basedir", ""),
            package.share("lc-messages-dir", "share/mysql"),
            package.share("character-sets-dir", "share/mysql/charsets"),
            package.share("plugin-dir", "lib/mysql/plugin"),
        ]);
    for (name, value) in SETTINGS {
        server.arg(format!("--{name}={value}"));
    }
    // A clean end would write its pages first, to be removed.
    Server::start(place, port, server, Signal::KILL, &is_ready)
}

pub(super) fn socket(place: &Place) -> PathBuf {
    place.sockets.join("s")
}

/// A greeting begins with the version of the protocol, behind the four bytes of its header; an error
/// would begin with 255.
fn is_ready(place: &Place) -> bool {
    const PROTOCOL_VERSION: u8 = 10;
    let Ok(mut stream) = UnixStream::connect(socket(place)) else {
        return false;
    };
    let mut greeting = [0; 5];
    let patience = Some(Duration::from_secs(5));
    stream.set_read_timeout(patience).is_ok()
        && stream.read_exact(&mut greeting).is_ok()
        && greeting[4] == PROTOCOL_VERSION
}
