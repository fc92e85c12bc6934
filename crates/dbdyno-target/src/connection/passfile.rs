//! The password file of libpq: `host:port:database:user:password`, one line each.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use dbdyno_model::{Address, Connection, Secret};

use super::error::ConnectionError;

/// libpq's own socket directories stand as `localhost` in the file, any other as its path.
const DEFAULT_SOCKETS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// The password for `connection`, where the file has one.
pub(super) fn find(
    path: &Path,
    connection: &Connection,
) -> Result<Option<Secret>, ConnectionError> {
    // A missing file is the usual case, and /dev/null the usual way to have none.
    let Ok(metadata) = fs::metadata(path) else {
        return Ok(None);
    };
    if !metadata.is_file() {
        return Ok(None);
    }
    let text = fs::read(path).map_err(|source| ConnectionError::Passfile {
        path: path.to_owned(),
        source,
    })?;
    let found = search(&String::from_utf8_lossy(&text), connection);
    let mode = metadata.permissions().mode() & 0o777;
    if found.is_some() && mode & 0o077 != 0 {
        return Err(ConnectionError::PassfileMode {
            path: path.to_owned(),
            mode,
        });
    }
    Ok(found)
}

fn search(text: &str, connection: &Connection) -> Option<Secret> {
    let host = match &connection.address {
        Address::Tcp(host) => host.clone(),
        Address::Socket(path) => {
            let path = path.display().to_string();
            if DEFAULT_SOCKETS.contains(&path.as_str()) {
                "localhost".to_owned()
            } else {
                path
            }
        }
    };
    let port = connection.port.to_string();
    let wanted = [&host, &port, &connection.database, &connection.user];
    text.lines()
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let rest = wanted
                .iter()
                .try_fold(line, |rest, wanted| match_field(rest, wanted))?;
            Some(unescape(rest)).filter(|password| !password.is_empty())
        })
        .map(Secret::new)
}

/// What follows the first field, if that is `*` or, unescaped, `wanted`.
fn match_field<'a>(line: &'a str, wanted: &str) -> Option<&'a str> {
    if let Some(rest) = line.strip_prefix("*:") {
        return Some(rest);
    }
    let mut wanted = wanted.chars();
    let mut rest = line.chars();
    loop {
        let mut c = rest.next()?;
        // One within the name, as in ::1, need not be escaped.
        if c == ':' && wanted.as_str().is_empty() {
            return Some(rest.as_str());
        }
        if c == '\\' {
            c = rest.next()?;
        }
        if wanted.next() != Some(c) {
            return None;
        }
    }
}

/// The password: up to a colon that is not escaped; further fields are ignored.
fn unescape(text: &str) -> String {
    let mut chars = text.chars();
    std::iter::from_fn(|| match chars.next()? {
        ':' => None,
        '\\' => chars.next().or(Some('\\')),
        c => Some(c),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use dbdyno_model::{Engine, SslMode};

    use super::*;

    fn connection(address: Address) -> Connection {
        Connection {
            engine: Engine::Postgres,
            address,
            port: 5432,
            user: "app".into(),
            password: None,
            database: "shop".into(),
            ssl_mode: SslMode::Disable,
            ssl_root_cert: None,
            connect_timeout_s: 1,
            options: None,
            client_certificate: None,
        }
    }

    fn password(text: &str, address: Address) -> Option<String> {
        search(text, &connection(address)).map(|secret| secret.expose().to_owned())
    }

    #[test]
    fn the_first_line_that_matches_wins_and_escapes_are_undone() {
        let text =
            "# comment\nother:*:*:*:no\ndb:5433:*:*:no\ndb:5432:shop:app:a\\:b\\\\c\n*:*:*:*:no\n";
        let tcp = |host: &str| Address::Tcp(host.into());
        assert_eq!(password(text, tcp("db")).as_deref(), Some("a:b\\c"));
        assert_eq!(password(text, tcp("elsewhere")).as_deref(), Some("no"));
        assert_eq!(password("db:5432:shop:app", tcp("db")), None);
        assert_eq!(password("db:5432:shop:apples:x", tcp("db")), None);
        assert_eq!(
            password("\\:\\:1:*:*:*:six", tcp("::1")).as_deref(),
            Some("six")
        );
        assert_eq!(
            password("::1:*:*:*:six", tcp("::1")).as_deref(),
            Some("six")
        );
        // What stands behind the password is no part of it.
        assert_eq!(
            password("db:*:*:*:p:since May", tcp("db")).as_deref(),
            Some("p")
        );
        assert_eq!(password("db:*:*:*:p\\", tcp("db")).as_deref(), Some("p\\"));
    }

    #[test]
    fn a_default_socket_is_localhost_and_another_is_its_path() {
        let text = "localhost:*:*:*:default\n/srv/pg:*:*:*:own\n";
        let socket = |path: &str| Address::Socket(path.into());
        assert_eq!(password(text, socket("/tmp")).as_deref(), Some("default"));
        assert_eq!(password(text, socket("/srv/pg")).as_deref(), Some("own"));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused_with_the_command_that_closes_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pgpass");
        let connection = connection(Address::Tcp("db".into()));
        assert!(find(&path, &connection).unwrap().is_none());
        fs::write(&path, "*:*:*:*:hunter2\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = find(&path, &connection).unwrap_err();
        assert_eq!(
            error.hint().unwrap(),
            format!("chmod 0600 {}", path.display())
        );
        assert!(!format!("{error} {error:?}").contains("hunter2"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(
            find(&path, &connection).unwrap().unwrap().expose(),
            "hunter2"
        );
        assert!(find(Path::new("/dev/null"), &connection).unwrap().is_none());
    }
}
