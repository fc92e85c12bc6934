//! Finds what a user names: a stored trial, one arm or run of it, or a file.

use std::path::Path;

use dbdyno_model::Tune;
use dbdyno_report::Chosen;
use dbdyno_store::{Store, read_document};

use crate::exit::{Exit, Failure};
use crate::store::failure;

/// What a text names within a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    pub(crate) trial: &'a str,
    pub(crate) part: Option<Chosen>,
}

/// Reads `TRIAL`, `TRIAL:ARM` and `TRIAL/NUMBER`; a text that is a file's path is the whole trial.
pub(crate) fn parse<'a>(text: &'a str, is_file: &dyn Fn(&str) -> bool) -> Named<'a> {
    if is_file(text) {
        return Named {
            trial: text,
            part: None,
        };
    }
    if let Some((trial, number)) = text.rsplit_once('/')
        && let Ok(number) = number.parse()
    {
        return Named {
            trial,
            part: Some(Chosen::Run(number)),
        };
    }
    match text.rsplit_once(':') {
        Some((trial, arm)) if !arm.is_empty() && !arm.contains('/') => Named {
            trial,
            part: Some(Chosen::Arm(arm.to_owned())),
        },
        _ => Named {
            trial: text,
            part: None,
        },
    }
}

pub(crate) fn is_file(text: &str) -> bool {
    Path::new(text).is_file()
}

/// The trial itself, from a file or the store.
pub(crate) fn load(
    trial: &str,
    store: &mut dyn FnMut() -> Result<Store, Failure>,
) -> Result<Tune, Failure> {
    if is_file(trial) {
        return read_file(Path::new(trial));
    }
    if trial.ends_with(".json") {
        return Err(Failure::usage(
            format!("there is no file {trial}"),
            "name a file that is there, or a trial that `dbdyno runs list` shows",
        ));
    }
    let mut store = store()?;
    let name = store.resolve(trial).map_err(|error| failure(&error))?;
    store.load(&name).map_err(|error| failure(&error))
}

pub(crate) fn read_file(path: &Path) -> Result<Tune, Failure> {
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::new(
            Exit::Usage,
            format!("cannot read {}: {error}", path.display()),
            None,
        )
    })?;
    read_document(&bytes).map_err(|error| {
        let failure = failure(&error);
        Failure {
            message: format!("{}: {}", path.display(), failure.message),
            ..failure
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_an_arm_a_run_or_a_file() {
        let named = |text| {
            parse(text, &|text| {
                text == "out/report.json" || text == "odd:name/3"
            })
        };
        assert_eq!(named("latest").part, None);
        let arm = named("tune-1:recommended");
        assert_eq!(
            (arm.trial, arm.part),
            ("tune-1", Some(Chosen::Arm("recommended".into())))
        );
        let run = named("out/report.json/12");
        assert_eq!(
            (run.trial, run.part),
            ("out/report.json", Some(Chosen::Run(12)))
        );
        assert_eq!(named("out/report.json").part, None);
        assert_eq!(named("odd:name/3").trial, "odd:name/3");
        let arm = named("out/report.json:shipped");
        assert_eq!(arm.trial, "out/report.json");
        // A directory with a colon is not an arm.
        assert_eq!(named("a:b/missing.json").part, None);
    }
}
