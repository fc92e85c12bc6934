//! One lab: its directory, its template of loaded data, and the clones that servers run on.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Signal;

use super::cap::Cap;
use super::clone::clone_tree;
use super::{Account, Binaries, Home, LabError, Server, disk};
use crate::process;

/// A socket's path has to fit into sockaddr_un with `.s.PGSQL.5432` behind it.
const LONGEST_SOCKET_DIRECTORY: usize = 85;

#[derive(Debug, Clone, Default)]
pub struct LabOptions {
    /// Disk that template and clone will need.
    pub disk_bytes: u64,
    /// Cap on the server's memory, enforced by a cgroup where the kernel lets us.
    pub memory_bytes: Option<u64>,
    /// Leave the lab's directory in place at the end.
    pub keep: bool,
}

/// A private place for servers. Dropping it removes it, unless it is kept.
#[derive(Debug)]
pub struct Lab {
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) directory: PathBuf,
    pub(super) sockets: PathBuf,
    pub(super) account: Option<Account>,
    pub(super) binaries: Binaries,
    pub(super) cap: Option<Cap>,
    keep: bool,
    /// Process id of the running postmaster, 0 for none.
    pub(super) running: Arc<AtomicU32>,
    /// Held as long as the lab lives: a lab whose lock is free was left behind.
    _lock: File,
}

/// Stops the lab's server from another thread, whatever its owner is waiting for.
#[derive(Debug, Clone)]
pub struct Abort(Arc<AtomicU32>);

impl Abort {
    pub fn abort(&self) {
        let pid = self.0.load(Ordering::SeqCst);
        if pid != 0 {
            process::signal(pid, Signal::QUIT);
        }
    }
}

impl Lab {
    /// Makes the lab's directory and checks that it has room, before anything is started.
    pub fn create(home: &Home, binaries: Binaries, options: &LabOptions) -> Result<Self, LabError> {
        Home::make(&home.labs)?;
        disk::check(&home.labs, options.disk_bytes)?;
        let account = Account::for_server()?;
        if let Some(account) = &account {
            check_passage(&home.labs, account)?;
        }
        let name = format!("{}-{}", binaries.version.major, std::process::id());
        let directory = unused(&home.labs, &name);
        fs::create_dir(&directory).map_err(LabError::io("create", &directory))?;
        let lock = directory.join("lock");
        let file = File::create_new(&lock).map_err(LabError::io("create", &lock))?;
        file.try_lock()
            .map_err(|error| LabError::io("lock", &lock)(error.into()))?;
        let sockets = make_private(socket_directory(&directory), account.as_ref())?;
        let cap = match options.memory_bytes {
            Some(bytes) => {
                Cap::create(&format!("{name}-{}", directory_tag(&directory)), bytes).ok()
            }
            None => None,
        };
        let shared = Shared {
            directory,
            sockets,
            account,
            binaries,
            cap,
            keep: options.keep,
            running: Arc::default(),
            _lock: file,
        };
        shared.note_leftovers()?;
        make_private_at(&shared.directory, shared.account.as_ref())?;
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    pub fn directory(&self) -> &Path {
        &self.shared.directory
    }

    pub fn binaries(&self) -> &Binaries {
        &self.shared.binaries
    }

    /// Whether a cgroup holds the server to its cap; false where the kernel did not let us.
    pub fn is_capped(&self) -> bool {
        self.shared.cap.is_some()
    }

    pub fn abort_handle(&self) -> Abort {
        Abort(Arc::clone(&self.shared.running))
    }

    pub fn template(&self) -> PathBuf {
        self.shared.directory.join("template")
    }

    /// Makes the template: what initdb writes, and one include for the settings of an arm.
    pub fn init(&self) -> Result<PathBuf, LabError> {
        let template = self.template();
        let mut command = Command::new(self.shared.binaries.program("initdb"));
        command
            .args([
                "--username=postgres",
                "--auth=trust",
                "--encoding=UTF8",
                "--locale=C",
            ])
            // What initdb writes reaches the disk when the template is first cloned.
            .args(["--no-sync", "--pgdata"])
            .arg(&template);
        Account::prepare(self.shared.account.as_ref(), &mut command);
        let output = command.output().map_err(|error| LabError::Failed {
            program: "initdb",
            message: error.to_string(),
        })?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(LabError::Failed {
                program: "initdb",
                message,
            });
        }
        let conf = template.join("postgresql.conf");
        let mut text = fs::read_to_string(&conf).map_err(LabError::io("read", &conf))?;
        text.push_str("\ninclude_if_exists = 'dbdyno.conf'\n");
        fs::write(&conf, text).map_err(LabError::io("write", &conf))?;
        Ok(template)
    }

    /// A copy of the template that a server may run on; an older clone of that name is removed.
    pub fn clone_template(&self, name: &str) -> Result<PathBuf, LabError> {
        let clone = self.shared.directory.join(name);
        self.remove_clone(&clone)?;
        let from = self.template();
        clone_tree(&from, &clone, self.shared.account.as_ref())?;
        Ok(clone)
    }

    pub fn remove_clone(&self, clone: &Path) -> Result<(), LabError> {
        match fs::remove_dir_all(clone) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(LabError::io("remove", clone)(error))
            }
            _ => Ok(()),
        }
    }

    /// Starts a server on a data directory of this lab with these settings beside initdb's.
    pub fn start(
        &self,
        data: &Path,
        settings: &BTreeMap<String, String>,
    ) -> Result<Server, LabError> {
        Server::start(Arc::clone(&self.shared), data, settings)
    }

    /// A fresh, empty server, for tests and trials of settings.
    pub fn start_empty(&self, settings: &BTreeMap<String, String>) -> Result<Server, LabError> {
        let data = self.init()?;
        self.start(&data, settings)
    }
}

impl Shared {
    /// Writes down what lies outside the directory, for whoever cleans up after a kill.
    fn note_leftovers(&self) -> Result<(), LabError> {
        let mut text = String::new();
        if !self.sockets.starts_with(&self.directory) {
            text.push_str(&format!("directory {}\n", self.sockets.display()));
        }
        if let Some(cap) = &self.cap {
            text.push_str(&format!("cgroup {}\n", cap.directory().display()));
        }
        if self.keep {
            text.push_str("keep\n");
        }
        let path = self.directory.join("leftovers");
        fs::write(&path, text).map_err(LabError::io("write", &path))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if !self.sockets.starts_with(&self.directory) {
            let _ = fs::remove_dir_all(&self.sockets);
        }
        if !self.keep {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// The server's account has to pass every directory above the lab.
fn check_passage(labs: &Path, account: &Account) -> Result<(), LabError> {
    for directory in labs.ancestors() {
        let metadata = fs::metadata(directory).map_err(LabError::io("read", directory))?;
        let (uid, gid) = (metadata.uid(), metadata.gid());
        let execute = match () {
            () if uid == account.uid => 0o100,
            () if gid == account.gid => 0o010,
            () => 0o001,
        };
        if metadata.permissions().mode() & execute == 0 {
            return Err(LabError::Passage {
                directory: directory.to_path_buf(),
                account: account.name.clone(),
            });
        }
    }
    Ok(())
}

fn unused(labs: &Path, name: &str) -> PathBuf {
    (0..u32::MAX)
        .map(|count| labs.join(format!("{name}-{count}")))
        .find(|path| !path.exists())
        .unwrap_or_else(|| labs.join(name))
}

fn directory_tag(directory: &Path) -> String {
    directory
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn socket_directory(directory: &Path) -> PathBuf {
    let inside = directory.join("s");
    if inside.as_os_str().len() <= LONGEST_SOCKET_DIRECTORY {
        return inside;
    }
    unused(
        &std::env::temp_dir(),
        &format!("dbdyno-{}", std::process::id()),
    )
}

fn make_private(directory: PathBuf, account: Option<&Account>) -> Result<PathBuf, LabError> {
    fs::create_dir(&directory).map_err(LabError::io("create", &directory))?;
    make_private_at(&directory, account)?;
    Ok(directory)
}

fn make_private_at(directory: &Path, account: Option<&Account>) -> Result<(), LabError> {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700))
        .map_err(LabError::io("set the mode of", directory))?;
    account.map_or(Ok(()), |account| account.own(directory))
}
