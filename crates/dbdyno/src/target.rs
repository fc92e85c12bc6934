//! What the user typed: the server, the command without its password, a file of statements.

use dbdyno_bench::script::Script;
use dbdyno_model::{Connection, Engine};
use dbdyno_target::{connection, names, process};

use crate::exit::{Exit, Failure};

pub(crate) fn resolve(target: &str) -> Result<Connection, Failure> {
    connection::resolve(target, &|name| std::env::var(name).ok()).map_err(|error| {
        // An address that cannot be read may be repeated, with the password in it.
        let message = names::hidden_text(&error.to_string(), None);
        Failure::new(Exit::Usage, message, error.hint())
    })
}

/// What was typed, the target without its password.
pub(crate) fn command(target: Option<&str>, connection: Option<&Connection>) -> Vec<String> {
    let words = std::env::args().skip(1);
    let shown = words.map(|word| match connection {
        Some(connection) if Some(word.as_str()) == target => connection.display(),
        _ => word,
    });
    std::iter::once("dbdyno".to_owned()).chain(shown).collect()
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
    let row = client.query_one("SELECT pg_catalog.pg_backend_pid()", &[]).ok()?;
    let backend = u32::try_from(row.get::<_, i32>(0)).ok()?;
    let title = std::fs::read(format!("/proc/{backend}/cmdline")).ok()?;
    if !title.starts_with(b"postgres") {
        return None;
    }
    Some(process::stat(backend)?.parent)
}
