//! Reading the server's settings in a check, and showing them as evidence.

use dbdyno_model::finding::Want;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Finding, Outcome};

use crate::rule::FindingExt;
use crate::solver::humane;

pub(crate) use crate::rule::{setting_number as number, setting_text as text};

pub(crate) const ORIGIN: &str = "pg_settings";

pub(crate) fn bytes(postgres: &Postgres, name: &str) -> Result<u64, Outcome> {
    text(postgres, name)?;
    postgres
        .bytes(name)
        .ok_or_else(|| unreadable(postgres, name))
}

pub(crate) fn flag(postgres: &Postgres, name: &str) -> Result<bool, Outcome> {
    text(postgres, name)?;
    postgres
        .is_on(name)
        .ok_or_else(|| unreadable(postgres, name))
}

fn unreadable(postgres: &Postgres, name: &str) -> Outcome {
    let value = postgres.setting(name).map_or("", |setting| &setting.value);
    Outcome::Unknown(format!("{name}: {value} is no value that this rule knows"))
}

/// As in postgresql.conf; empty where the server lists no such setting.
pub(crate) fn humane(postgres: &Postgres, name: &str) -> String {
    postgres
        .setting(name)
        .map(humane::setting)
        .unwrap_or_default()
}

pub(crate) fn value(text: impl Into<String>) -> Want {
    Want::Value(text.into())
}

/// A setting as a finding's evidence.
pub(crate) trait SettingEvidence: Sized {
    #[must_use]
    fn shows(self, postgres: &Postgres, name: &str) -> Self;
}

impl SettingEvidence for Finding {
    fn shows(self, postgres: &Postgres, name: &str) -> Self {
        let shown = humane(postgres, name);
        self.evidence(name, shown, ORIGIN)
    }
}
