//! The unprivileged account that the server runs as when dbdyno is root.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::LabError;

/// Accounts to try, in this order; nobody is shared with others and so the last resort.
const CANDIDATES: [&str; 3] = ["dbdyno", "postgres", "nobody"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
}

impl Account {
    /// None when dbdyno itself is unprivileged: the server then runs as the same user.
    pub fn for_server() -> Result<Option<Self>, LabError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let path = "/etc/passwd";
        let passwd = std::fs::read_to_string(path).map_err(LabError::io("read", path))?;
        CANDIDATES
            .iter()
            .find_map(|name| parse(&passwd, name))
            .map(Some)
            .ok_or(LabError::NoAccount)
    }

    pub fn own(&self, path: &Path) -> Result<(), LabError> {
        std::os::unix::fs::lchown(path, Some(self.uid), Some(self.gid))
            .map_err(LabError::io("change the owner of", path))
    }

    /// Account, directory, environment and process group of a server's program: not the terminal's,
    /// so that Ctrl-C reaches its clients alone.
    pub fn prepare(account: Option<&Self>, command: &mut Command) {
        if let Some(account) = account {
            command.uid(account.uid).gid(account.gid);
        }
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("PG")) {
                command.env_remove(name);
            }
        }
        command
            .current_dir("/")
            .process_group(0)
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
    }
}

/// The account of that name in the text of a passwd file, unless it is root's.
fn parse(passwd: &str, wanted: &str) -> Option<Account> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| *name == wanted)?;
        let uid = fields.nth(1)?.parse().ok().filter(|uid| *uid != 0)?;
        let gid = fields.next()?.parse().ok()?;
        Some(Account {
            name: name.to_owned(),
            uid,
            gid,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\n\
        dbdyno:x:0:0:a trap::\n\
        broken\n\
        postgres:x:101:104:PostgreSQL,,,:/var/lib/postgresql:/bin/bash\n";

    #[test]
    fn accounts_are_read_and_root_by_another_name_is_refused() {
        let postgres = Account {
            name: "postgres".into(),
            uid: 101,
            gid: 104,
        };
        assert_eq!(parse(PASSWD, "postgres"), Some(postgres));
        assert_eq!(parse(PASSWD, "dbdyno"), None);
        assert_eq!(parse(PASSWD, "broken"), None);
    }
}
