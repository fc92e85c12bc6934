//! Which option belongs to which workloads: one that means nothing to a workload is refused, not
//! passed over.

use dbdyno_bench::oltp::Kind;

use super::options::{self, Named};
use crate::cli::{
    BenchAction, BenchData, BenchLoad, BenchRun, BenchStored, Keyed, Sbtest, TpccData, TpccLoad,
};
use crate::exit::Failure;

/// Workloads that take the same options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Tpcc,
    /// All of sysbench's; those that follow are some of these.
    Oltp,
    Reads,
    IndexUpdates,
    NonIndexUpdates,
    Writes,
    Transactions,
    RandomPoints,
    RandomRanges,
    Keys,
    Friends,
}

use Family::{
    Friends, IndexUpdates, Keys, NonIndexUpdates, Oltp, RandomPoints, RandomRanges, Reads, Tpcc,
    Transactions, Writes,
};

/// Options that not every workload takes, each with those that do. Seed and threads are a load's.
const OPTIONS: [(&str, &[Family]); 32] = [
    ("--warehouses", &[Tpcc]),
    ("--sets", &[Tpcc]),
    ("--layout", &[Tpcc]),
    ("--no-foreign-keys", &[Tpcc]),
    ("--think", &[Tpcc]),
    ("--mode", &[Tpcc, Oltp]),
    ("--tables", &[Oltp]),
    ("--table-size", &[Oltp]),
    ("--rand-type", &[Oltp]),
    ("--skip-trx", &[Transactions]),
    ("--range-size", &[Reads]),
    ("--range-selects", &[Reads]),
    ("--point-selects", &[Reads]),
    ("--simple-ranges", &[Reads]),
    ("--sum-ranges", &[Reads]),
    ("--order-ranges", &[Reads]),
    ("--distinct-ranges", &[Reads]),
    ("--index-updates", &[IndexUpdates]),
    ("--non-index-updates", &[NonIndexUpdates]),
    ("--delete-inserts", &[Writes]),
    ("--random-points", &[RandomPoints]),
    ("--number-of-ranges", &[RandomRanges]),
    ("--delta", &[RandomRanges]),
    ("--key", &[Keys, Friends]),
    ("--rows", &[Keys, Friends]),
    ("--friends", &[Friends]),
    ("--filler", &[Keys]),
    ("--key-order", &[Keys]),
    ("--batch", &[Keys]),
    ("--statements", &[Keys]),
    ("--seed", &[Tpcc, Oltp, Keys, Friends]),
    ("--threads", &[Tpcc, Oltp, Keys, Friends]),
];

/// Options, and whether they were given.
type Given = Vec<(&'static str, bool)>;

impl Family {
    fn has(self, named: &Named) -> bool {
        match (self, named) {
            (Self::Tpcc, Named::Tpcc)
            | (Self::Oltp, Named::Oltp(..))
            | (Self::Keys, Named::Keys(..))
            | (Self::Friends, Named::Friends(_)) => true,
            (_, Named::Oltp(config, _)) => self.kinds().contains(&config.kind),
            _ => false,
        }
    }

    /// Of sysbench's workloads, where it is some of them.
    fn kinds(self) -> &'static [Kind] {
        match self {
            Self::Reads => &[Kind::ReadOnly, Kind::ReadWrite],
            Self::IndexUpdates => &[Kind::ReadWrite, Kind::WriteOnly, Kind::UpdateIndex],
            Self::NonIndexUpdates => &[Kind::ReadWrite, Kind::WriteOnly, Kind::UpdateNonIndex],
            Self::Writes => &[Kind::ReadWrite, Kind::WriteOnly],
            Self::Transactions => &[Kind::ReadOnly, Kind::ReadWrite, Kind::WriteOnly],
            Self::RandomPoints => &[Kind::SelectRandomPoints],
            Self::RandomRanges => &[Kind::SelectRandomRanges],
            Self::Tpcc | Self::Oltp | Self::Keys | Self::Friends => &[],
        }
    }

    /// As the help calls them.
    fn name(self) -> String {
        match self {
            Self::Tpcc => "tpcc".to_owned(),
            Self::Oltp => "oltp-* and select-random-*".to_owned(),
            Self::Keys => "inserts and selects".to_owned(),
            Self::Friends => "friends".to_owned(),
            some => {
                let names: Vec<&str> = some.kinds().iter().map(|kind| kind.name()).collect();
                names.join(", ")
            }
        }
    }
}

/// Refuses the first option that the workload does not take.
pub(super) fn check(action: &BenchAction) -> Result<(), Failure> {
    let (data, given) = match action {
        BenchAction::List => return Ok(()),
        BenchAction::Load(load) => (&load.data, of_load(load)),
        BenchAction::Run(run) => (&run.data, of_run(run)),
        BenchAction::Verify(stored) => (&stored.data, of_stored(stored)),
        BenchAction::Clean(clean) => (&clean.stored.data, of_stored(&clean.stored)),
    };
    let named = options::named(data)?;
    let misplaced = OPTIONS.iter().find(|(option, families)| {
        given.contains(&(*option, true)) && !families.iter().any(|family| family.has(&named))
    });
    let Some((option, families)) = misplaced else {
        return Ok(());
    };
    let names: Vec<String> = families.iter().map(|family| family.name()).collect();
    Err(Failure::usage(
        format!("{option} is not for {}", data.workload),
        format!("leave it out: it is for {}", names.join(", ")),
    ))
}

fn of_load(load: &BenchLoad) -> Given {
    let TpccLoad {
        warehouses,
        sets,
        layout,
        no_foreign_keys,
    } = &load.tpcc;
    let own = [
        ("--warehouses", warehouses.is_some()),
        ("--sets", sets.is_some()),
        ("--layout", layout.is_some()),
        ("--no-foreign-keys", *no_foreign_keys),
        ("--seed", load.seed.is_some()),
        ("--threads", load.threads.is_some()),
    ];
    [of_data(&load.data), own.to_vec()].concat()
}

fn of_run(run: &BenchRun) -> Given {
    let own = [
        ("--think", run.think.is_some()),
        ("--mode", run.mode.is_some()),
    ];
    [of_data(&run.data), of_tpcc(&run.tpcc), own.to_vec()].concat()
}

fn of_stored(stored: &BenchStored) -> Given {
    [of_data(&stored.data), of_tpcc(&stored.tpcc)].concat()
}

fn of_tpcc(tpcc: &TpccData) -> Given {
    let TpccData {
        layout,
        sets,
        warehouses,
    } = tpcc;
    vec![
        ("--layout", layout.is_some()),
        ("--sets", sets.is_some()),
        ("--warehouses", warehouses.is_some()),
    ]
}

fn of_data(data: &BenchData) -> Given {
    let Sbtest {
        tables,
        table_size,
        rand_type,
        skip_trx,
        range_size,
        range_selects,
        point_selects,
        simple_ranges,
        sum_ranges,
        order_ranges,
        distinct_ranges,
        index_updates,
        non_index_updates,
        delete_inserts,
        random_points,
        number_of_ranges,
        delta,
    } = &data.sbtest;
    let Keyed {
        key,
        rows,
        filler,
        friends,
        key_order,
        batch,
        statements,
    } = &data.keyed;
    vec![
        ("--tables", tables.is_some()),
        ("--table-size", table_size.is_some()),
        ("--rand-type", rand_type.is_some()),
        ("--skip-trx", *skip_trx),
        ("--range-size", range_size.is_some()),
        ("--range-selects", range_selects.is_some()),
        ("--point-selects", point_selects.is_some()),
        ("--simple-ranges", simple_ranges.is_some()),
        ("--sum-ranges", sum_ranges.is_some()),
        ("--order-ranges", order_ranges.is_some()),
        ("--distinct-ranges", distinct_ranges.is_some()),
        ("--index-updates", index_updates.is_some()),
        ("--non-index-updates", non_index_updates.is_some()),
        ("--delete-inserts", delete_inserts.is_some()),
        ("--random-points", random_points.is_some()),
        ("--number-of-ranges", number_of_ranges.is_some()),
        ("--delta", delta.is_some()),
        ("--key", key.is_some()),
        ("--rows", rows.is_some()),
        ("--filler", filler.is_some()),
        ("--friends", friends.is_some()),
        ("--key-order", key_order.is_some()),
        ("--batch", batch.is_some()),
        ("--statements", statements.is_some()),
    ]
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::cli::{Cli, Command};

    const ACTIONS: [&str; 4] = ["load", "run", "verify", "clean"];
    const WORKLOADS: [(&str, &[Family]); 14] = [
        ("tpcc", &[Tpcc]),
        ("oltp-point-select", &[Oltp]),
        ("oltp-read-only", &[Oltp, Reads, Transactions]),
        (
            "oltp-read-write",
            &[
                Oltp,
                Reads,
                IndexUpdates,
                NonIndexUpdates,
                Writes,
                Transactions,
            ],
        ),
        (
            "oltp-write-only",
            &[Oltp, IndexUpdates, NonIndexUpdates, Writes, Transactions],
        ),
        ("oltp-insert", &[Oltp]),
        ("oltp-update-index", &[Oltp, IndexUpdates]),
        ("oltp-update-non-index", &[Oltp, NonIndexUpdates]),
        ("select-random-points", &[Oltp, RandomPoints]),
        ("select-random-ranges", &[Oltp, RandomRanges]),
        ("inserts", &[Keys]),
        ("selects", &[Keys]),
        ("friends", &[Friends]),
        ("./move.sql", &[]),
    ];

    /// With a value where it takes one.
    fn word(option: &str) -> String {
        let value = match option {
            "--no-foreign-keys" | "--skip-trx" | "--think" => return option.to_owned(),
            "--layout" => "own",
            "--mode" => "unbatched",
            "--rand-type" => "uniform",
            "--key" => "random64",
            "--key-order" => "random",
            "--range-selects" => "off",
            _ => "3",
        };
        format!("{option}={value}")
    }

    /// None where the action has no such option.
    fn checked(action: &str, workload: &str, word: &str) -> Option<Result<(), Failure>> {
        let parsed = Cli::try_parse_from(["dbdyno", "bench", action, workload, word]);
        match parsed {
            Ok(Cli {
                command: Command::Bench(bench),
            }) => Some(check(&bench.action)),
            Ok(other) => panic!("{other:?}"),
            Err(error) if error.kind() == ErrorKind::UnknownArgument => None,
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn an_option_is_taken_by_its_workloads_and_refused_by_the_others() {
        for (option, families) in OPTIONS {
            let mut taken = 0;
            for action in ACTIONS {
                let of_all = action == "run" && ["--seed", "--threads"].contains(&option);
                for (workload, own) in WORKLOADS {
                    let Some(checked) = checked(action, workload, &word(option)) else {
                        continue;
                    };
                    taken += 1;
                    if of_all || families.iter().any(|family| own.contains(family)) {
                        assert!(checked.is_ok(), "{action} {workload} {option}: {checked:?}");
                        continue;
                    }
                    let refused = checked.unwrap_err();
                    let expected = format!("{option} is not for {workload}");
                    assert_eq!(refused.message, expected, "{action}");
                    let hint = refused.hint.unwrap();
                    assert!(hint.contains(&families[0].name()), "{hint}");
                }
            }
            assert!(taken > 0, "no action takes {option}");
        }
    }

    #[test]
    fn what_is_every_workloads_own_is_in_the_table() {
        let mut command = Cli::command();
        command.build();
        let bench = command.find_subcommand("bench").unwrap();
        for action in ACTIONS {
            let action = bench.find_subcommand(action).unwrap();
            let mut owned = 0;
            for argument in action.get_arguments() {
                let heading = argument.get_help_heading().unwrap_or_default();
                if !heading.starts_with("Options of ") {
                    continue;
                }
                owned += 1;
                let long = argument.get_long().unwrap();
                let known =
                    |(option, _): &(&str, &[Family])| option.strip_prefix("--") == Some(long);
                assert!(OPTIONS.iter().any(known), "{long}");
            }
            assert!(owned > 10, "{owned}");
        }
    }
}
