//! A private MySQL or MariaDB server from unpacked packages: nothing is installed.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use dbdyno_model::{Address, Connection, Engine, SslMode};
use rustix::process::Signal;

use crate::Place;
use crate::daemon::{Daemon, Site};

/// Roots of unpacked packages, separated by colons.
const NAMED: &str = "DBDYNO_TEST_MYSQL_ROOTS";

/// The longest path that sockaddr_un takes.
const LONGEST_SOCKET: usize = 107;

/// One server that tests can run.
#[derive(Debug, Clone)]
pub struct MySqlBinaries {
    pub root: PathBuf,
    program: PathBuf,
    is_mariadb: bool,
    /// Directories of the libraries that were unpacked beside it, for the dynamic linker.
    libraries: String,
    /// The dynamic linker of those, where they are of another release than this machine.
    linker: Option<PathBuf>,
}

impl MySqlBinaries {
    /// Every server that is named.
    pub fn all() -> Vec<Self> {
        let roots = std::env::var(NAMED).unwrap_or_default();
        let named = roots.split(':').filter(|root| !root.is_empty());
        let all: Vec<Self> = named.map(|root| Self::at(Path::new(root))).collect();
        assert!(
            !all.is_empty(),
            "no MySQL to test with: run cargo xtask test, or name unpacked packages in {NAMED}"
        );
        all
    }

    /// # Panics
    /// There is no server below the root.
    pub fn at(root: &Path) -> Self {
        let sbin = root.join("usr/sbin");
        let (mariadb, mysql) = (sbin.join("mariadbd"), sbin.join("mysqld"));
        let is_mariadb = mariadb.is_file();
        let program = if is_mariadb { mariadb } else { mysql };
        assert!(program.is_file(), "{} holds no server", root.display());
        let triplet = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let libraries = [root.join(triplet), root.join("usr/lib/mysql/private")];
        let linkers = [
            "usr/lib64/ld-linux-x86-64.so.2",
            "usr/lib/ld-linux-aarch64.so.1",
        ];
        let linkers = linkers.map(|linker| root.join(linker));
        Self {
            root: root.to_path_buf(),
            program,
            is_mariadb,
            libraries: libraries.map(|path| path.display().to_string()).join(":"),
            linker: linkers.into_iter().find(|linker| linker.exists()),
        }
    }

    pub fn is_mariadb(&self) -> bool {
        self.is_mariadb
    }

    /// The server's program with the libraries that it was built with.
    fn server(&self) -> Command {
        let Some(linker) = &self.linker else {
            let mut command = Command::new(&self.program);
            command.env("LD_LIBRARY_PATH", &self.libraries);
            return command;
        };
        let mut command = Command::new(linker);
        command
            .env_remove("LD_LIBRARY_PATH")
            .args(["--library-path", &self.libraries])
            .arg(&self.program);
        command
    }

    fn share(&self, path: &str) -> String {
        self.root.join("usr").join(path).display().to_string()
    }

    /// Where its files lie, which it would look for in the system.
    fn places(&self) -> [String; 4] {
        [
            format!("--basedir={}", self.share("")),
            format!("--lc-messages-dir={}", self.share("share/mysql")),
            format!(
                "--character-sets-dir={}",
                self.share("share/mysql/charsets")
            ),
            format!("--plugin-dir={}", self.share("lib/mysql/plugin")),
        ]
    }

    /// Copies a data directory whose root has no password. Making one takes seconds, so that the first
    /// is kept beside the programs, for as long as they are there.
    fn copy_data(&self, site: &Site, data: &Path) {
        let account = site.account.as_ref();
        let owner = account.map_or_else(|| "own".to_owned(), |account| account.uid.to_string());
        let kept = self.root.join(format!("initialised-{owner}"));
        // MariaDB's script has failed beside another one; another program's tests may be making it too.
        let alone = File::create(self.root.join("initialising.lock")).unwrap();
        alone.lock().unwrap();
        if !kept.exists() {
            let making = self.root.join(format!("initialising-{owner}"));
            // One that failed has left what it made.
            if making.exists() {
                fs::remove_dir_all(&making).unwrap();
            }
            fs::create_dir(&making).unwrap();
            site.own(&making);
            self.initialise(site, &making);
            fs::rename(&making, &kept).unwrap();
        }
        drop(alone);
        let mut copy = Command::new("cp");
        copy.args(["-a", "--reflink=auto"]).arg(&kept).arg(data);
        assert!(copy.status().unwrap().success(), "{copy:?}");
    }

    /// Makes a data directory whose root has no password.
    fn initialise(&self, site: &Site, data: &Path) {
        let mut command = if self.is_mariadb {
            let mut script = Command::new(self.root.join("usr/bin/mariadb-install-db"));
            script
                .env("LD_LIBRARY_PATH", &self.libraries)
                .args(["--no-defaults", "--skip-name-resolve", "--force"])
                .args(["--auth-root-authentication-method=normal", "--skip-test-db"])
                .arg(format!("--basedir={}", self.root.join("usr").display()));
            script
        } else {
            let mut server = self.server();
            server
                .args(["--no-defaults", "--initialize-insecure"])
                .args(self.places())
                .arg("--secure-file-priv=NULL");
            server
        };
        command.arg(format!("--datadir={}", data.display()));
        site.initialise(&mut command);
    }
}

/// A running server with a place of its own. Dropping it kills the server.
#[derive(Debug)]
pub struct MySql {
    daemon: Daemon,
    socket: PathBuf,
    /// Outlives the server.
    _place: Place,
}

impl MySql {
    /// A fresh, empty server, with these options beside its own. It listens on a socket and on a
    /// port of 127.0.0.1.
    pub fn start(binaries: &MySqlBinaries, set: &[(&str, &str)]) -> Self {
        let place = Place::new("mysql");
        let site = Site::below(&place);
        let home = &site.home;
        let (data, socket) = (home.join("data"), home.join("s"));
        let length = socket.as_os_str().len();
        assert!(length <= LONGEST_SOCKET, "{} is too long", socket.display());
        binaries.copy_data(&site, &data);
        let server = |port: u16| {
            let mut command = binaries.server();
            command
                .arg("--no-defaults")
                .args(binaries.places())
                .arg(format!("--datadir={}", data.display()))
                .arg(format!("--socket={}", socket.display()))
                .arg(format!("--pid-file={}", home.join("pid").display()))
                .arg(format!("--tmpdir={}", home.display()))
                .args(["--bind-address=127.0.0.1", "--skip-name-resolve"])
                .arg(format!("--port={port}"));
            if !binaries.is_mariadb {
                command.args(["--secure-file-priv=NULL", "--mysqlx=OFF"]);
            }
            command.args(set.iter().map(|(name, value)| format!("--{name}={value}")));
            command
        };
        let taken = "Address already in use";
        let daemon = site.start(server, || greets(&socket), taken, Signal::KILL);
        Self {
            daemon,
            socket,
            _place: place,
        }
    }

    /// Kills the server, and starts it again on the same data, socket and port.
    pub fn crash(&mut self) {
        self.daemon.restart(|| greets(&self.socket));
    }

    /// As root over the socket; no database is chosen.
    pub fn connection(&self) -> Connection {
        Connection {
            engine: Engine::MySql,
            address: Address::Socket(self.socket.clone()),
            port: self.daemon.port,
            user: "root".into(),
            password: None,
            database: String::new(),
            ssl_mode: SslMode::Disable,
            ssl_root_cert: None,
            connect_timeout_s: 30,
            options: None,
            client_certificate: None,
        }
    }

    /// Of 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.daemon.port
    }

    /// Process id of the server.
    pub fn pid(&self) -> u32 {
        self.daemon.pid()
    }
}

/// A greeting of whom it does not know yet begins with the version of the protocol, behind the four
/// bytes of its header; an error would begin with 255.
fn greets(socket: &Path) -> bool {
    const PROTOCOL_VERSION: u8 = 10;
    let Ok(mut stream) = UnixStream::connect(socket) else {
        return false;
    };
    let mut greeting = [0; 5];
    stream
        .set_read_timeout(Some(Duration::from_secs(5)))
        .is_ok()
        && stream.read_exact(&mut greeting).is_ok()
        && greeting[4] == PROTOCOL_VERSION
}
