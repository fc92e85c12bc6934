//! Which option belongs to which workloads: one that means nothing to a workload is refused, not
//! passed over.

use super::options::{self, Named};
use crate::cli::{
    BenchAction, BenchData, BenchLoad, BenchRun, BenchStored, Keyed, Sbtest, TpccData, TpccLoad,
};
use crate::exit::Failure;

/// Workloads that take the same options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Tpcc,
    Oltp,
    Keys,
    Friends,
    File,
}

use Family::{Friends, Keys, Oltp, Tpcc};

/// Options that not every workload takes, each with those that do. Seed and threads are a load's.
const OPTIONS: [(&str, &[Family]); 20] = [
    ("--warehouses", &[Tpcc]),
    ("--sets", &[Tpcc]),
    ("--layout", &[Tpcc]),
    ("--no-foreign-keys", &[Tpcc]),
    ("--think", &[Tpcc]),
    ("--mode", &[Tpcc, Oltp]),
    ("--tables", &[Oltp]),
    ("--table-size", &[Oltp]),
    ("--range-size", &[Oltp]),
    ("--rand-type", &[Oltp]),
    ("--skip-trx", &[Oltp]),
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
    fn of(named: &Named) -> Self {
        match named {
            Named::Tpcc => Self::Tpcc,
            Named::Oltp(..) => Self::Oltp,
            Named::Keys(..) => Self::Keys,
            Named::Friends(_) => Self::Friends,
            Named::Script(_) => Self::File,
        }
    }

    /// As the help calls them.
    fn name(self) -> &'static str {
        match self {
            Self::Tpcc => "tpcc",
            Self::Oltp => "oltp-* and select-random-*",
            Self::Keys => "inserts and selects",
            Self::Friends => "friends",
            Self::File => "a FILE",
        }
    }
}

/// Refuses the first option that the workload does not take.
pub(super) fn check(action: &BenchAction) -> Result<(), Failure> {
    let (data, given) = match action {
        BenchAction::List => return Ok(()),
        BenchAction::Load(load) => (&load.data, of_load(load)),
        BenchAction::Run(run) => (&run.data, of_run(run)),
        BenchAction::Verify(stored) | BenchAction::Clean(stored) => {
            (&stored.data, of_stored(stored))
        }
    };
    let family = Family::of(&options::named(data)?);
    let misplaced = OPTIONS
        .iter()
        .find(|(option, families)| !families.contains(&family) && given.contains(&(*option, true)));
    let Some((option, families)) = misplaced else {
        return Ok(());
    };
    let names: Vec<&str> = families.iter().map(|family| family.name()).collect();
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
        range_size,
        rand_type,
        skip_trx,
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
        ("--range-size", range_size.is_some()),
        ("--rand-type", rand_type.is_some()),
        ("--skip-trx", *skip_trx),
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
    const WORKLOADS: [(&str, Family); 7] = [
        ("tpcc", Family::Tpcc),
        ("oltp-insert", Family::Oltp),
        ("select-random-points", Family::Oltp),
        ("inserts", Family::Keys),
        ("selects", Family::Keys),
        ("friends", Family::Friends),
        ("./move.sql", Family::File),
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
                for (workload, family) in WORKLOADS {
                    let Some(checked) = checked(action, workload, &word(option)) else {
                        continue;
                    };
                    taken += 1;
                    if of_all || families.contains(&family) {
                        assert!(checked.is_ok(), "{action} {workload} {option}: {checked:?}");
                        continue;
                    }
                    let refused = checked.unwrap_err();
                    let expected = format!("{option} is not for {workload}");
                    assert_eq!(refused.message, expected, "{action}");
                    let hint = refused.hint.unwrap();
                    assert!(hint.contains(families[0].name()), "{hint}");
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
