//! Which option belongs to which workloads and commands: one that means nothing to them is refused, not
//! passed over.

use dbdyno_bench::oltp::Kind;

use super::given::{of_load, of_run, of_stored};
use super::options::{self, Named};
use crate::cli::BenchAction;
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

/// What is done with a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Load,
    Run,
    Verify,
    Clean,
}

use Action::{Clean, Load, Run, Verify};

const EVERY: &[Action] = &[Load, Run, Verify, Clean];
/// Those that compare what is said of the data with what is there, and the one that makes them.
const OF_DATA: &[Action] = &[Load, Run, Verify];

/// An option, the workloads and the subcommands that it means something to.
type Applies = (&'static str, &'static [Family], &'static [Action]);

/// Options that not every workload takes. Seed and threads are a load's here.
const OPTIONS: [Applies; 32] = [
    ("--warehouses", &[Tpcc], EVERY),
    ("--sets", &[Tpcc], EVERY),
    ("--layout", &[Tpcc], EVERY),
    ("--no-foreign-keys", &[Tpcc], &[Load]),
    ("--think", &[Tpcc], &[Run]),
    ("--mode", &[Tpcc, Oltp], &[Run]),
    ("--tables", &[Oltp], EVERY),
    ("--table-size", &[Oltp], OF_DATA),
    ("--rand-type", &[Oltp], &[Load, Run]),
    ("--skip-trx", &[Transactions], &[Run]),
    ("--range-size", &[Reads], &[Run]),
    ("--range-selects", &[Reads], &[Run]),
    ("--point-selects", &[Reads], &[Run]),
    ("--simple-ranges", &[Reads], &[Run]),
    ("--sum-ranges", &[Reads], &[Run]),
    ("--order-ranges", &[Reads], &[Run]),
    ("--distinct-ranges", &[Reads], &[Run]),
    ("--index-updates", &[IndexUpdates], &[Run]),
    ("--non-index-updates", &[NonIndexUpdates], &[Run]),
    ("--delete-inserts", &[Writes], &[Run]),
    ("--random-points", &[RandomPoints], &[Run]),
    ("--number-of-ranges", &[RandomRanges], &[Run]),
    ("--delta", &[RandomRanges], &[Run]),
    ("--key", &[Keys, Friends], OF_DATA),
    ("--rows", &[Keys, Friends], OF_DATA),
    ("--friends", &[Friends], OF_DATA),
    ("--filler", &[Keys], OF_DATA),
    ("--key-order", &[Keys], OF_DATA),
    ("--batch", &[Keys], &[Run]),
    ("--statements", &[Keys], &[Run]),
    ("--seed", &[Tpcc, Oltp, Keys, Friends], &[Load]),
    ("--threads", &[Tpcc, Oltp, Keys, Friends], &[Load]),
];

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

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Run => "run",
            Self::Verify => "verify",
            Self::Clean => "clean",
        }
    }
}

/// Refuses the first option that the workload does not take, or that this command would pass over.
pub(super) fn check(action: &BenchAction) -> Result<(), Failure> {
    let (action, data, given) = match action {
        BenchAction::List => return Ok(()),
        BenchAction::Load(load) => (Load, &load.data, of_load(load)),
        BenchAction::Run(run) => (Run, &run.data, of_run(run)),
        BenchAction::Verify(stored) => (Verify, &stored.data, of_stored(stored)),
        BenchAction::Clean(clean) => (Clean, &clean.stored.data, of_stored(&clean.stored)),
    };
    let named = options::named(data)?;
    for (option, families, actions) in OPTIONS {
        if !given.contains(&(option, true)) {
            continue;
        }
        if !families.iter().any(|family| family.has(&named)) {
            let names: Vec<String> = families.iter().map(|family| family.name()).collect();
            return Err(misplaced(option, &data.workload, &names.join(", ")));
        }
        if !actions.contains(&action) {
            let names: Vec<&str> = actions.iter().map(|action| action.name()).collect();
            let here = format!("bench {}", action.name());
            return Err(misplaced(option, &here, &names.join(", ")));
        }
    }
    Ok(())
}

fn misplaced(option: &str, here: &str, elsewhere: &str) -> Failure {
    Failure::usage(
        format!("{option} is not for {here}"),
        format!("leave it out: it is for {elsewhere}"),
    )
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;
    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::cli::{Cli, Command};

    const ACTIONS: [&str; 4] = ["load", "run", "verify", "clean"];

    fn workloads() -> Vec<(&'static str, &'static [Family])> {
        let of = |kind: Kind| (kind.name(), families(kind));
        let others: [(&str, &[Family]); 5] = [
            ("tpcc", &[Tpcc]),
            ("inserts", &[Keys]),
            ("selects", &[Keys]),
            ("friends", &[Friends]),
            ("./move.sql", &[]),
        ];
        Kind::ALL.into_iter().map(of).chain(others).collect()
    }

    fn families(kind: Kind) -> &'static [Family] {
        match kind {
            Kind::PointSelect | Kind::Insert | Kind::Delete => &[Oltp],
            Kind::ReadOnly => &[Oltp, Reads, Transactions],
            Kind::ReadWrite => &[
                Oltp,
                Reads,
                IndexUpdates,
                NonIndexUpdates,
                Writes,
                Transactions,
            ],
            Kind::WriteOnly => &[Oltp, IndexUpdates, NonIndexUpdates, Writes, Transactions],
            Kind::UpdateIndex => &[Oltp, IndexUpdates],
            Kind::UpdateNonIndex => &[Oltp, NonIndexUpdates],
            Kind::SelectRandomPoints => &[Oltp, RandomPoints],
            Kind::SelectRandomRanges => &[Oltp, RandomRanges],
        }
    }

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
        for (option, families, actions) in OPTIONS {
            let mut taken = 0;
            for action in ACTIONS {
                let of_all = action == "run" && ["--seed", "--threads"].contains(&option);
                let of_action = of_all || actions.iter().any(|one| one.name() == action);
                for (workload, own) in workloads() {
                    let Some(checked) = checked(action, workload, &word(option)) else {
                        continue;
                    };
                    taken += 1;
                    let of_workload = of_all || families.iter().any(|family| own.contains(family));
                    if of_workload && of_action {
                        assert!(checked.is_ok(), "{action} {workload} {option}: {checked:?}");
                        continue;
                    }
                    let refused = checked.unwrap_err();
                    let (here, elsewhere) = match of_workload {
                        false => (workload.to_owned(), families[0].name()),
                        true => (format!("bench {action}"), actions[0].name().to_owned()),
                    };
                    let expected = format!("{option} is not for {here}");
                    assert_eq!(refused.message, expected, "{action}");
                    let hint = refused.hint.unwrap();
                    assert!(hint.contains(&elsewhere), "{hint}");
                }
            }
            assert!(taken > 0, "no action takes {option}");
        }
    }

    #[test]
    fn a_command_refuses_what_it_would_pass_over() {
        for (action, workload, option, taken_by) in [
            ("load", "inserts", "--batch", "run"),
            ("load", "oltp-read-only", "--point-selects", "run"),
            ("verify", "oltp-read-write", "--skip-trx", "run"),
            ("verify", "selects", "--statements", "run"),
            ("verify", "oltp-insert", "--rand-type", "load, run"),
            ("clean", "oltp-read-only", "--range-size", "run"),
            ("clean", "oltp-insert", "--table-size", "load, run, verify"),
            ("clean", "friends", "--friends", "load, run, verify"),
        ] {
            let refused = checked(action, workload, &word(option)).unwrap();
            let refused = refused.unwrap_err();
            let message = format!("{option} is not for bench {action}");
            assert_eq!(refused.message, message, "{workload}");
            let hint = format!("leave it out: it is for {taken_by}");
            assert_eq!(refused.hint, Some(hint), "{workload}");
        }
        for (action, workload, option) in [
            ("load", "oltp-insert", "--table-size"),
            ("verify", "oltp-insert", "--table-size"),
            ("clean", "oltp-insert", "--tables"),
            ("verify", "inserts", "--rows"),
            ("clean", "tpcc", "--warehouses"),
        ] {
            let taken = checked(action, workload, &word(option)).unwrap();
            assert!(taken.is_ok(), "{action} {workload} {option}: {taken:?}");
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
                let known = |(option, ..): &Applies| option.strip_prefix("--") == Some(long);
                assert!(OPTIONS.iter().any(known), "{long}");
            }
            assert!(owned > 10, "{owned}");
        }
    }
}
