//! What the user typed: the server, the command without its secrets, a file of statements.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dbdyno_bench::script::Script;
use dbdyno_model::{Connection, Engine, Secret};
use dbdyno_target::connection::{self, Candidates, PasswordError};
use dbdyno_target::{names, process};

use crate::cli::PasswordFrom;
use crate::exit::{Exit, Failure};

/// How long a command that prints the password may take: somebody may have to unlock a vault.
const PASSWORD_PATIENCE: Duration = Duration::from_secs(60);

/// Options whose values may hold a password.
const STORE: &str = "--store";
const SECRETIVE: [&str; 2] = ["--password-command", STORE];

/// Stands for what must not be repeated.
const HIDDEN: &str = "…";

/// The server: of several hosts, the first that answers and is of the kind that was asked for.
pub(crate) fn resolve(
    target: &str,
    password: &PasswordFrom,
    interrupted: &AtomicBool,
) -> Result<Connection, Failure> {
    candidates(target, password, interrupted)?
        .choose()
        .map_err(|error| Failure::new(Exit::Usage, error.to_string(), error.hint()))
}

/// The server, if one was named.
pub(crate) fn resolve_named(
    target: Option<&str>,
    password: &PasswordFrom,
    interrupted: &AtomicBool,
) -> Result<Option<Connection>, Failure> {
    match (target, password.option()) {
        (Some(target), _) => resolve(target, password, interrupted).map(Some),
        (None, None) => Ok(None),
        (None, Some(option)) => Err(Failure::usage(
            format!("{option} is for a TARGET, and none is given"),
            "no password is sent to a server that nobody named",
        )),
    }
}

/// All servers that the target names, none of them asked.
pub(crate) fn candidates(
    target: &str,
    password: &PasswordFrom,
    interrupted: &AtomicBool,
) -> Result<Candidates, Failure> {
    let environment = |name: &str| std::env::var(name).ok();
    let password = read_password(password, interrupted).map_err(|error| match error {
        PasswordError::Interrupted => Failure::interrupted(),
        error => Failure::usage(error.to_string(), error.hint()),
    })?;
    let candidates = match password {
        Some(password) => connection::resolve_with(target, &environment, password),
        None => connection::resolve(target, &environment),
    };
    candidates.map_err(|error| {
        // An address that cannot be read may be repeated, with the password in it.
        let message = names::hidden_text(&error.to_string(), None);
        Failure::new(Exit::Usage, message, error.hint())
    })
}

fn read_password(
    from: &PasswordFrom,
    interrupted: &AtomicBool,
) -> Result<Option<Secret>, PasswordError> {
    if let Some(file) = &from.password_file {
        return connection::password_from_file(file).map(Some);
    }
    let command = from.password_command.as_deref();
    command
        .map(|command| connection::password_from_command(command, PASSWORD_PATIENCE, interrupted))
        .transpose()
}

/// What was typed, without passwords and what may hold one.
pub(crate) fn command(target: Option<&str>, connection: Option<&Connection>) -> Vec<String> {
    let words = std::env::args().skip(1);
    let shown = without_secrets(words).map(|word| match connection {
        Some(connection) if Some(word.as_str()) == target => connection.display(),
        _ => word,
    });
    std::iter::once("dbdyno".to_owned()).chain(shown).collect()
}

/// A command that prints a password may have it in its own words, and a store's address too.
fn without_secrets(words: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    let mut value_of = None;
    words.map(move |word| {
        if let Some(option) = value_of.take() {
            return shown_value(option, word);
        }
        let Some(option) = SECRETIVE
            .into_iter()
            .find(|option| word.starts_with(option))
        else {
            return word;
        };
        match word[option.len()..].strip_prefix('=') {
            Some(value) => format!("{option}={}", shown_value(option, value.to_owned())),
            None => {
                value_of = Some(option).filter(|option| **option == word);
                word
            }
        }
    })
}

fn shown_value(option: &str, value: String) -> String {
    let is_path = option == STORE && !value.contains("://") && !value.contains('=');
    if is_path { value } else { HIDDEN.to_owned() }
}

/// Reads and parses a file of weighted statements for a server of this engine; `hint` is for a file
/// that is not there.
pub(crate) fn read_script(engine: Engine, path: &str, hint: &str) -> Result<Script, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("cannot read the workload {path}: {error}"), hint)
    })?;
    let name = path.rsplit('/').next().unwrap_or(path);
    Script::parse_for(engine, name, &text).map_err(|error| {
        Failure::new(
            Exit::Usage,
            error.to_string(),
            error.hint().map(str::to_owned),
        )
    })
}

/// The server's main process, if it runs under this kernel: our session's own backend is visible
/// then. An address says less, since tunnels and containers answer on the loopback as well.
pub(crate) fn postmaster(client: &mut ::postgres::Client) -> Option<u32> {
    let row = client
        .query_one("SELECT pg_catalog.pg_backend_pid()", &[])
        .ok()?;
    let backend = u32::try_from(row.get::<_, i32>(0)).ok()?;
    let title = std::fs::read(format!("/proc/{backend}/cmdline")).ok()?;
    if !title.starts_with(b"postgres") {
        return None;
    }
    Some(process::stat(backend)?.parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_hold_a_password_is_not_repeated() {
        for words in [
            &["tune", "--password-command", "echo hunter2", "--json"][..],
            &["tune", "--password-command=echo hunter2", "--json"],
            &["tune", "--store", "postgres://u:hunter2@db/x", "--json"],
            &["tune", "--store=host=db password=hunter2", "--json"],
        ] {
            let words = words.iter().map(|word| (*word).to_owned());
            let shown: Vec<String> = without_secrets(words).collect();
            assert!(!shown.concat().contains("hunter2"), "{shown:?}");
            assert_eq!(shown.last().map(String::as_str), Some("--json"));
            assert!(shown.concat().contains(HIDDEN), "{shown:?}");
        }
        let plain = ["tune", "--store", "runs.sqlite", "--store-of=x", "--json"];
        let words = plain.iter().map(|word| (*word).to_owned());
        assert_eq!(without_secrets(words).collect::<Vec<_>>(), plain);
    }

    #[test]
    fn a_password_for_nobody_is_refused() {
        let file = PasswordFrom {
            password_file: Some("/nonexistent".into()),
            ..PasswordFrom::default()
        };
        let never = AtomicBool::new(false);
        let failure = resolve_named(None, &file, &never).unwrap_err();
        assert!(failure.message.contains("--password-file"), "{failure:?}");
        let nothing = PasswordFrom::default();
        assert_eq!(resolve_named(None, &nothing, &never).unwrap(), None);
    }
}
