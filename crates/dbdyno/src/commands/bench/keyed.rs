//! What inserts, selects and friends are made of: by their options, and as their data say.

use std::fmt::Display;

use dbdyno_bench::friends;
use dbdyno_bench::keys::{self, Key, Kind, Order, ReadBackError};
use dbdyno_model::Connection;
use dbdyno_report::shell_word;

use crate::cli::Keyed;
use crate::exit::{Exit, Failure};

/// As a load makes it.
pub(super) fn keys_to_load(
    kind: Kind,
    options: &Keyed,
    seed: u64,
) -> Result<keys::Config, Failure> {
    let fresh = keys::Config::new(kind);
    let key = key(options)?.unwrap_or(fresh.key);
    let config = keys::Config {
        key,
        rows: options.rows.unwrap_or(fresh.rows),
        filler: options.filler.unwrap_or(fresh.filler),
        seed,
        ..fresh
    };
    accepted_keys(options, config, key.natural_order())
}

/// As its data are; an option that says otherwise is refused.
pub(super) fn keys_loaded(
    kind: Kind,
    options: &Keyed,
    connection: &Connection,
) -> Result<keys::Config, Failure> {
    let found = keys::read_back(connection, kind)
        .map_err(|error| unread(&error, kind.name(), connection))?;
    let config = accepted_keys(options, found, found.order)?;
    let wanted = key(options)?.unwrap_or(config.key);
    agree("--key", wanted.name(), found.key.name())?;
    agree("--rows", options.rows.unwrap_or(found.rows), found.rows)?;
    let filler = options.filler.unwrap_or(found.filler);
    agree("--filler", filler, found.filler)?;
    if kind == Kind::Inserts {
        agree("--key-order", config.order.name(), found.order.name())?;
    }
    Ok(config)
}

pub(super) fn friends_to_load(options: &Keyed, seed: u64) -> Result<friends::Config, Failure> {
    let kind = friends_key(options)?.unwrap_or(friends::Kind::Surrogate);
    let fresh = friends::Config::new(kind);
    accepted(
        friends::Config {
            rows: options.rows.unwrap_or(fresh.rows),
            friends: options.friends.unwrap_or(fresh.friends),
            seed,
            ..fresh
        },
        friends::Config::refusal,
    )
}

pub(super) fn friends_loaded(
    options: &Keyed,
    connection: &Connection,
) -> Result<friends::Config, Failure> {
    let found =
        friends::read_back(connection).map_err(|error| unread(&error, "friends", connection))?;
    let wanted = friends_key(options)?.unwrap_or(found.kind);
    agree("--key", wanted.name(), found.kind.name())?;
    let rows = options.rows.unwrap_or(found.rows);
    let wanted = friends::Config { rows, ..found };
    agree("--rows", wanted.stored_rows(), found.stored_rows())?;
    let friends = options.friends.unwrap_or(found.friends);
    agree("--friends", friends, found.friends)?;
    Ok(found)
}

/// What a run does with the rows; inserts go on as the load has begun.
fn accepted_keys(
    options: &Keyed,
    config: keys::Config,
    inserts: Order,
) -> Result<keys::Config, Failure> {
    let usual = match config.kind {
        Kind::Inserts => inserts,
        Kind::Selects => Order::Random,
    };
    accepted(
        keys::Config {
            order: order(options)?.unwrap_or(usual),
            batch: options.batch.unwrap_or(1),
            transaction: options.statements,
            ..config
        },
        keys::Config::refusal,
    )
}

fn accepted<C>(config: C, refusal: fn(&C) -> Option<String>) -> Result<C, Failure> {
    match refusal(&config) {
        Some(why) => Err(Failure::usage(
            why,
            "dbdyno bench run --help names the options",
        )),
        None => Ok(config),
    }
}

fn key(options: &Keyed) -> Result<Option<Key>, Failure> {
    named(
        "--key",
        options.key.as_deref(),
        Key::ALL.map(|key| (key.name(), key)),
    )
}

fn friends_key(options: &Keyed) -> Result<Option<friends::Kind>, Failure> {
    let all = friends::Kind::ALL.map(|kind| (kind.name(), kind));
    named("--key", options.key.as_deref(), all)
}

fn order(options: &Keyed) -> Result<Option<Order>, Failure> {
    let all = Order::ALL.map(|order| (order.name(), order));
    named("--key-order", options.key_order.as_deref(), all)
}

/// The value of this name; people write `uuid-v7` as well.
fn named<T: Copy>(
    option: &str,
    given: Option<&str>,
    all: impl IntoIterator<Item = (&'static str, T)> + Clone,
) -> Result<Option<T>, Failure> {
    let Some(given) = given else {
        return Ok(None);
    };
    let same = |name: &str| name == given.replace('-', "_");
    match all.clone().into_iter().find(|(name, _)| same(name)) {
        Some((_, value)) => Ok(Some(value)),
        None => {
            let names: Vec<&str> = all.into_iter().map(|(name, _)| name).collect();
            Err(Failure::usage(
                format!("{option} {given} is not known here"),
                format!("{option} takes {}", names.join(", ")),
            ))
        }
    }
}

fn agree<T: PartialEq + Display>(option: &str, given: T, found: T) -> Result<(), Failure> {
    if given == found {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{option} says {given}, the data were loaded with {found}"),
        "leave the option out, or load again with --replace",
    ))
}

fn unread(error: &ReadBackError, workload: &str, connection: &Connection) -> Failure {
    let address = connection.display();
    let word = shell_word(&address);
    let hint = match error {
        ReadBackError::Sql(source) => source.hint().map(str::to_owned),
        ReadBackError::NotLoaded(..) => Some(format!("dbdyno bench load {workload} {word}")),
        ReadBackError::Unfinished(_) => Some(format!(
            "dbdyno bench load {workload} {word} with --resume and its options goes on with it, \
             with --replace it begins anew"
        )),
        _ => Some(format!("dbdyno bench load {workload} --replace {word}")),
    };
    Failure::new(Exit::Usage, format!("{address}: {error}"), hint)
}
