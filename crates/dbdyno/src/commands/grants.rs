//! `dbdyno grants`: the least privileges with which everything is read, as SQL.

use std::time::Duration;

use dbdyno_model::Connection;
use dbdyno_model::postgres::MissingPrivilege;
use dbdyno_target::connection;
use dbdyno_target::postgres::{CollectOptions, Granted, NEWEST, OLDEST, collect, granted, grants};

use crate::cli;
use crate::collecting::{within, without_secrets};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::target::resolve_named;

/// For a reading without a sample.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn run(
    arguments: &cli::Grants,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let role = arguments.role.trim();
    if role.is_empty() || role.contains(char::is_control) {
        return Err(Failure::usage(
            format!("--role {:?} is not the name of a role", arguments.role),
            "give the role that dbdyno shall connect as",
        ));
    }
    let named = arguments.target.as_deref();
    let target = resolve_named(named, &arguments.password, interrupt.flag())?;
    let mut lines = match &target {
        Some(to) => of_server(to, printer).map_err(without_secrets)?,
        None => vec![format!("-- For PostgreSQL {OLDEST} to {NEWEST}.")],
    };
    lines.push(
        "-- Run as a superuser. The role reads statistics and settings, and no table.".into(),
    );
    lines.push(
        "-- It logs in by a line of pg_hba.conf, or with a password: \\password in psql.".into(),
    );
    lines.extend(grants(role));
    printer.result(&lines.join("\n"))
}

/// What the server says of the role that is connected, as comments.
fn of_server(to: &Connection, printer: &Printer) -> Result<Vec<String>, Failure> {
    printer.progress(&format!("reading {}", to.display()));
    let mut client = connection::connect(to)
        .map_err(|error| Failure::new(Exit::Usage, error.to_string(), error.hint()))?;
    let asked = within(PATIENCE, &to.display(), move || {
        let failed = |error: dbdyno_target::postgres::CollectError| {
            Failure::new(Exit::Usage, error.to_string(), error.hint())
        };
        let who = granted(&mut client).map_err(failed)?;
        let options = CollectOptions {
            window: Duration::ZERO,
        };
        let read = collect(&mut client, &options).map_err(failed)?;
        Ok((who, read.postgres.missing_privileges))
    });
    printer.clear();
    let (who, missing) = asked?;
    Ok(comments(&who, &missing))
}

fn comments(who: &Granted, missing: &[MissingPrivilege]) -> Vec<String> {
    // A name with a line break in it would end the comment.
    let role = who.role.replace(char::is_control, " ");
    let mut lines = vec![format!("-- For {}.", who.server)];
    if who.is_superuser {
        lines.push(format!(
            "-- {role} is a superuser: it reads everything, and needs less."
        ));
    } else if missing.is_empty() {
        lines.push(format!("-- {role} lacks nothing."));
    } else {
        lines.push(format!("-- {role} may not read:"));
        lines.extend(missing.iter().map(|one| format!("--   {}", one.object)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_role_lacks_is_a_comment_whatever_its_name() {
        let mut who = Granted {
            server: "PostgreSQL 15.18".to_owned(),
            role: "odd\nDROP TABLE t".to_owned(),
            is_superuser: false,
        };
        let missing = [MissingPrivilege {
            object: "pg_ls_waldir()".to_owned(),
            grant: String::new(),
        }];
        let lines = comments(&who, &missing);
        assert!(
            lines
                .iter()
                .all(|line| line.starts_with("-- ") && !line.contains('\n'))
        );
        assert!(lines[2].contains("pg_ls_waldir()"));
        assert!(comments(&who, &[])[1].contains("lacks nothing"));
        who.is_superuser = true;
        assert!(comments(&who, &missing)[1].contains("superuser"));
    }
}
