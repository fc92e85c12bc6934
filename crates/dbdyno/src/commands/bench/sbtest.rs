//! sysbench's tables: as their options say, and as the database says that they are.

use dbdyno_bench::oltp::{self, Config, Expected, Kind, ReadBackError, Survey};
use dbdyno_bench::tpcc::{ClientError, Mode};
use dbdyno_bench::workload::Workload;
use dbdyno_model::Connection;
use dbdyno_report::shell_word;
use dbdyno_trial::template::with_causes;

use crate::cli::Sbtest;
use crate::exit::{Exit, Failure};

/// Names that a message tells before it only counts.
const NAMED: usize = 3;

/// What removes a table that we have not made.
const REMOVES: &str =
    "sysbench's cleanup with the options of its prepare, or DROP TABLE, removes them";

/// As the options say, with sysbench's defaults, and what was said of the tables themselves.
pub(super) fn config(kind: Kind, options: &Sbtest) -> Result<(Config, Expected), Failure> {
    let usual = Config::new(kind);
    let with_ranges = options.range_selects.unwrap_or(true);
    let ranges = |usual: u32| if with_ranges { usual } else { 0 };
    let config = Config {
        tables: options.tables.unwrap_or(usual.tables),
        table_size: options.table_size.unwrap_or(usual.table_size),
        range_size: options.range_size.unwrap_or(usual.range_size),
        distribution: options.rand_type.unwrap_or(usual.distribution),
        skip_transactions: options.skip_trx,
        point_selects: options.point_selects.unwrap_or(usual.point_selects),
        simple_ranges: options.simple_ranges.unwrap_or(ranges(usual.simple_ranges)),
        sum_ranges: options.sum_ranges.unwrap_or(ranges(usual.sum_ranges)),
        order_ranges: options.order_ranges.unwrap_or(ranges(usual.order_ranges)),
        distinct_ranges: options
            .distinct_ranges
            .unwrap_or(ranges(usual.distinct_ranges)),
        index_updates: options.index_updates.unwrap_or(usual.index_updates),
        non_index_updates: options.non_index_updates.unwrap_or(usual.non_index_updates),
        delete_inserts: options.delete_inserts.unwrap_or(usual.delete_inserts),
        random_points: options.random_points.unwrap_or(usual.random_points),
        number_of_ranges: options.number_of_ranges.unwrap_or(usual.number_of_ranges),
        delta: options.delta.unwrap_or(usual.delta),
        ..usual
    };
    let said = Expected {
        tables: options.tables,
        table_size: options.table_size,
    };
    match config.refusal() {
        Some(why) => Err(Failure::usage(
            why,
            "dbdyno bench run --help names the options",
        )),
        None => Ok((config, said)),
    }
}

/// On the tables as they are.
pub(super) fn loaded(
    config: &Config,
    said: &Expected,
    mode: Option<Mode>,
    connection: &Connection,
) -> Result<Workload, Failure> {
    let pipelined = match mode {
        None | Some(Mode::Unbatched) => false,
        Some(Mode::Pipelined) => true,
        Some(mode @ (Mode::Batched | Mode::Procedures)) => {
            return Err(Failure::usage(
                format!("--mode {} is for tpcc", mode.name()),
                "sysbench's workloads are unbatched or pipelined",
            ));
        }
    };
    let found = oltp::read_back(connection, config, said);
    let found = found.map_err(|error| unread(&error, config.kind, connection))?;
    possible(&found, &connection.display())?;
    Ok(Workload::Oltp(Config { pipelined, ..found }))
}

/// The options were possible with the tables that they were held to be of; the tables that were found
/// may be others.
fn possible(found: &Config, address: &str) -> Result<(), Failure> {
    let Some(why) = found.refusal() else {
        return Ok(());
    };
    Err(Failure::usage(
        format!("{address}: {why}"),
        "give a smaller --range-size or --delta, or say with --tables how many tables to use; smaller \
         tables are loaded with --table-size and --replace",
    ))
}

fn unread(error: &ReadBackError, kind: Kind, connection: &Connection) -> Failure {
    let address = connection.display();
    let load = format!("dbdyno bench load {} {}", kind.name(), shell_word(&address));
    let hint = match error {
        ReadBackError::Sql(source) => source.hint().map(str::to_owned),
        ReadBackError::NotLoaded => Some(load),
        ReadBackError::Unfinished => Some(format!(
            "{load} with --resume and its options goes on with it, with --replace it begins anew"
        )),
        ReadBackError::Uneven(_, least, ..) => Some(format!(
            "a load that was cut off leaves that, and so do inserts: load them again, or say \
             --table-size {least} for the rows that all of them have"
        )),
        ReadBackError::Size { .. } => Some(
            "leave the option out to take the rows that are there, or load others with --replace"
                .to_owned(),
        ),
        ReadBackError::Missing(_) => Some(format!(
            "say how many there are with --tables, or load them: {load} --replace"
        )),
        _ => Some(format!("load them again: {load} --replace; {REMOVES}")),
    };
    Failure::new(Exit::Usage, format!("{address}: {error}"), hint)
}

/// Removes what a load of ours has made: all of it, or as many tables as are asked for.
pub(super) fn clean(
    config: &Config,
    said: Expected,
    connection: &Connection,
) -> Result<bool, Failure> {
    let tables = match said.tables {
        Some(tables) => tables,
        None => survey(connection)?.ours.last().copied().unwrap_or(0),
    };
    let config = Config { tables, ..*config };
    oltp::clean(connection, &config).map_err(|error| {
        let hint = error.hint().map(str::to_owned);
        Failure::new(Exit::Usage, with_causes(&error), hint)
    })
}

/// Removes all that an earlier load of ours has left, unless what somebody else made would be in the
/// way of the next one all the same.
pub(super) fn make_room(config: &Config, connection: &Connection) -> Result<(), Failure> {
    let mut others = survey(connection)?.others;
    others.retain(|table| *table <= config.tables);
    if !others.is_empty() {
        return Err(Failure::usage(
            format!(
                "{}: cannot replace {}: no load of dbdyno has made them",
                connection.display(),
                names(&others)
            ),
            format!("choose an empty database; {REMOVES}"),
        ));
    }
    clean(config, Expected::default(), connection).map(drop)
}

/// What is said of tables that are left because they are not ours.
pub(super) fn left(connection: &Connection) -> Result<Option<String>, Failure> {
    let others = survey(connection)?.others;
    Ok((!others.is_empty()).then(|| {
        let names = names(&others);
        format!("{names}: left, for no load of dbdyno has made them; {REMOVES}")
    }))
}

fn survey(connection: &Connection) -> Result<Survey, Failure> {
    oltp::survey(connection).map_err(|error| unreadable(&error, connection))
}

fn unreadable(error: &ClientError, connection: &Connection) -> Failure {
    let message = format!("{}: {}", connection.display(), error.deepest());
    Failure::new(Exit::Usage, message, error.hint().map(str::to_owned))
}

fn names(tables: &[u32]) -> String {
    let some = tables
        .iter()
        .take(NAMED)
        .map(|table| oltp::table_name(*table));
    let some = some.collect::<Vec<_>>().join(", ");
    match tables.len().saturating_sub(NAMED) {
        0 => some,
        more => format!("{some} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_were_found_are_held_against_the_options_too() {
        let asked = Config {
            range_size: 2_000_000_000,
            ..Config::new(Kind::ReadOnly)
        };
        assert!(asked.refusal().is_none() && possible(&asked, "there").is_ok());
        let found = Config {
            table_size: 200_000_000,
            ..asked
        };
        let refused = possible(&found, "there").unwrap_err();
        assert_eq!(refused.exit, Exit::Usage);
        let message = refused.message;
        assert!(message.starts_with("there: ") && message.contains("200000000 rows"));
    }

    #[test]
    fn many_tables_are_counted() {
        assert_eq!(names(&[2]), "sbtest2");
        assert_eq!(names(&[1, 2, 3]), "sbtest1, sbtest2, sbtest3");
        assert_eq!(
            names(&[1, 2, 3, 4, 9]),
            "sbtest1, sbtest2, sbtest3 and 2 more"
        );
    }
}
