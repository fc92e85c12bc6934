//! Makes the routines on a server, finds those that are there, and removes them; all of it blocks.

use dbdyno_model::connection::{Connection, Engine};

use super::routine::is_ours;
use super::routines;
use crate::tables::open;
use crate::tpcc::Config;
use crate::tpcc::load_error::{ClientError, LoadError};
use crate::tpcc::names::Names;
use crate::wire::{Link, WireError};

/// A routine that the database has by one of our names.
#[derive(Debug, PartialEq, Eq)]
struct Present {
    name: String,
    /// As DROP takes it.
    signature: String,
    comment: String,
}

/// Makes the routines that are not there yet as they should be.
pub(in crate::tpcc) fn install(connect: &Connection, config: &Config) -> Result<(), LoadError> {
    let engine = connect.engine;
    let mut link = open(connect).map_err(|source| LoadError::Connect {
        server: connect.display(),
        source,
    })?;
    let present = present(&mut link, engine).map_err(|source| LoadError::Sql {
        operation: "look for",
        object: "the routines of TPC-C".to_owned(),
        source: source.into(),
    })?;
    let sets: Vec<Names> = config.names().collect();
    let each = sets
        .iter()
        .flat_map(|names| routines(engine).iter().map(move |it| (names, it)));
    for (names, routine) in each {
        let (name, mark) = (routine.name(names), routine.mark(names, engine));
        let Some(outdated) = outdated(&name, &mark, &present)? else {
            continue;
        };
        // One text of statements is one transaction on PostgreSQL.
        let mut sql: String = outdated.iter().map(|it| drop_sql(it, engine)).collect();
        sql.push_str(&routine.create(names, engine, &mark));
        link.run(&sql).map_err(|source| LoadError::Routine {
            name,
            source: source.into(),
        })?;
    }
    Ok(())
}

/// Drops our routines; whether there were any.
pub(in crate::tpcc) fn remove(connect: &Connection) -> Result<bool, ClientError> {
    let engine = connect.engine;
    let mut link = open(connect)?;
    let mut found = present(&mut link, engine)?;
    found.retain(|routine| is_ours(&routine.comment));
    let sql: String = found.iter().map(|it| drop_sql(it, engine)).collect();
    if !sql.is_empty() {
        link.run(&sql)?;
    }
    Ok(!found.is_empty())
}

/// What has to be dropped before a routine is made; none where it is there as it should be.
fn outdated<'a>(
    name: &str,
    mark: &str,
    present: &'a [Present],
) -> Result<Option<Vec<&'a Present>>, LoadError> {
    let same = present.iter().filter(|it| it.name == name);
    let same: Vec<&Present> = same.collect();
    if same.iter().any(|it| !is_ours(&it.comment)) {
        return Err(LoadError::RoutineTaken(name.to_owned()));
    }
    let made = matches!(same.as_slice(), [only] if only.comment == mark);
    Ok((!made).then_some(same))
}

fn drop_sql(routine: &Present, engine: Engine) -> String {
    let kind = match engine {
        Engine::Postgres => "FUNCTION",
        Engine::MySql => "PROCEDURE",
    };
    format!("DROP {kind} {}; ", routine.signature)
}

fn present(link: &mut Link, engine: Engine) -> Result<Vec<Present>, WireError> {
    let mut found = Vec::new();
    link.rows(&look_sql(engine), |mut row| {
        found.push(Present {
            name: row.text()?.to_owned(),
            signature: row.text()?.to_owned(),
            comment: row.text()?.to_owned(),
        });
        Ok(())
    })?;
    Ok(found)
}

/// Of all sets, whatever the tables say of how many there are.
fn look_sql(engine: Engine) -> String {
    let names = routines(engine)
        .each_ref()
        .map(|it| it.transaction)
        .join("|");
    let names = format!("^dbdyno_({names})[0-9]*$");
    match engine {
        Engine::Postgres => format!(
            "SELECT p.proname::text, p.oid::regprocedure::text,
                coalesce(obj_description(p.oid, 'pg_proc'), '')
             FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
             WHERE n.nspname = current_schema() AND p.proname ~ '{names}'"
        ),
        Engine::MySql => format!(
            "SELECT routine_name, routine_name, coalesce(routine_comment, '')
             FROM information_schema.routines
             WHERE routine_schema = database() AND routine_type = 'PROCEDURE'
               AND routine_name REGEXP '{names}'"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(comment: &str, signature: &str) -> Present {
        Present {
            name: "dbdyno_payment".to_owned(),
            signature: signature.to_owned(),
            comment: comment.to_owned(),
        }
    }

    fn signatures(present: &[Present]) -> Option<Vec<&str>> {
        let outdated = outdated("dbdyno_payment", "dbdyno 2", present).unwrap();
        outdated.map(|all| all.iter().map(|it| it.signature.as_str()).collect())
    }

    #[test]
    fn what_is_there_as_it_should_be_stays() {
        assert_eq!(signatures(&[present("dbdyno 2", "a")]), None);
        let other = Present {
            name: "dbdyno_delivery".to_owned(),
            ..present("dbdyno 1", "a")
        };
        assert_eq!(signatures(&[other]), Some(Vec::new()));
        assert_eq!(signatures(&[]), Some(Vec::new()));
    }

    #[test]
    fn what_another_version_has_made_is_replaced() {
        assert_eq!(signatures(&[present("dbdyno 1", "a")]), Some(vec!["a"]));
        let both = [present("dbdyno 2", "a"), present("dbdyno 1", "b")];
        assert_eq!(signatures(&both), Some(vec!["a", "b"]));
    }

    #[test]
    fn what_somebody_else_has_made_is_left_alone() {
        let taken = [present("dbdyno 2", "a"), present("", "b")];
        let refused = outdated("dbdyno_payment", "dbdyno 2", &taken).unwrap_err();
        assert!(matches!(refused, LoadError::RoutineTaken(name) if name == "dbdyno_payment"));
    }

    #[test]
    fn all_names_are_looked_for() {
        for engine in [Engine::Postgres, Engine::MySql] {
            let sql = look_sql(engine);
            for routine in routines(engine) {
                assert!(sql.contains(routine.transaction), "{sql}");
            }
        }
    }

    #[test]
    fn each_engine_drops_its_own_kind() {
        let payment = present("dbdyno 1", "dbdyno_payment(integer)");
        let [function, procedure] =
            [Engine::Postgres, Engine::MySql].map(|engine| drop_sql(&payment, engine));
        assert_eq!(function, "DROP FUNCTION dbdyno_payment(integer); ");
        assert_eq!(procedure, "DROP PROCEDURE dbdyno_payment(integer); ");
    }
}
