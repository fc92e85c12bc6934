//! The three files of a report, in a directory that holds the report of one trial.

use std::io;
use std::path::{Path, PathBuf};

use dbdyno_model::Tune;
use dbdyno_report::{report_html, report_markdown, to_json};

use crate::exit::{Exit, Failure};
use crate::files;

const JSON: &str = "report.json";
const HTML: &str = "report.html";
const MARKDOWN: &str = "report.md";

/// A directory that was proven writable and free for the report of one trial.
#[derive(Debug, Clone)]
pub(crate) struct ReportFiles {
    directory: PathBuf,
}

impl ReportFiles {
    /// Makes the directory; refuses one that holds the report of another trial than `name`.
    pub(crate) fn prepare(directory: &Path, name: Option<&str>) -> Result<Self, Failure> {
        files::make_writable(directory).map_err(|error| {
            let message = match error.kind() {
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                    format!("{} is a file, not a directory", directory.display())
                }
                _ => format!("cannot write to {}: {error}", directory.display()),
            };
            let hint = "pass --output DIR, a directory that you may write to";
            Failure::new(Exit::Usage, message, Some(hint.into()))
        })?;
        for file in [JSON, HTML, MARKDOWN] {
            let path = directory.join(file);
            if path.exists() && !holds(directory, name) {
                return Err(Failure::usage(
                    format!("{} is the report of another trial", path.display()),
                    "pass another directory: nothing that was measured is overwritten",
                ));
            }
        }
        Ok(Self {
            directory: directory.to_owned(),
        })
    }

    /// Writes all three, JSON first since the others follow from it.
    pub(crate) fn write(&self, tune: &Tune) -> Result<PathBuf, Failure> {
        let page = self.directory.join(HTML);
        for (path, text) in [
            (self.directory.join(JSON), to_json(tune)),
            (page.clone(), report_html(tune)),
            (self.directory.join(MARKDOWN), report_markdown(tune)),
        ] {
            files::write(&path, text.as_bytes()).map_err(|error| {
                Failure::new(
                    Exit::Surroundings,
                    format!("cannot write {}: {error}", path.display()),
                    Some(format!(
                        "the trial is in the store: dbdyno report {} --output DIR writes it elsewhere",
                        tune.name
                    )),
                )
            })?;
        }
        Ok(page)
    }
}

/// Whether the directory's report is of the trial `name`.
fn holds(directory: &Path, name: Option<&str>) -> bool {
    let Some(name) = name else { return false };
    std::fs::read(directory.join(JSON))
        .ok()
        .and_then(|bytes| dbdyno_store::read_document(&bytes).ok())
        .is_some_and(|tune| tune.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_another_trial_is_never_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        assert!(ReportFiles::prepare(&path, None).is_ok());
        std::fs::write(path.join(MARKDOWN), "mine").unwrap();
        for name in [None, Some("tune-1")] {
            let failure = ReportFiles::prepare(&path, name).unwrap_err();
            assert!(failure.message.contains("report.md"), "{}", failure.message);
        }
        assert_eq!(std::fs::read(path.join(MARKDOWN)).unwrap(), b"mine");
        let failure = ReportFiles::prepare(&path.join(MARKDOWN), None).unwrap_err();
        assert!(failure.message.contains("is a file"), "{}", failure.message);
    }
}
