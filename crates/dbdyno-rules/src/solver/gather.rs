//! From what rules ask for to one value a setting.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::plan::Rejected;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Class, Finding, Recommendation, Severity};

use super::gate;

/// A recommendation that the server can carry out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    pub(super) setting: String,
    pub(super) value: String,
    pub(super) severity: Severity,
    pub(super) confidence: Confidence,
    pub(super) class: Class,
    pub(super) gives_up: Option<String>,
    pub(super) why: String,
    pub(super) rule: String,
}

impl Candidate {
    /// Graver findings first, then surer ones, then what risks less, then what costs nothing; the
    /// rule's id decides between equals, so that the order of findings never does.
    fn precedes(&self, other: &Self) -> Ordering {
        other
            .severity
            .cmp(&self.severity)
            .then_with(|| other.confidence.cmp(&self.confidence))
            .then_with(|| self.class.cmp(&other.class))
            .then_with(|| self.gives_up.is_some().cmp(&other.gives_up.is_some()))
            .then_with(|| self.rule.cmp(&other.rule))
            .then_with(|| self.value.cmp(&other.value))
            .then_with(|| self.why.cmp(&other.why))
    }

    /// Why this one stood before the other.
    fn reason_over(&self, other: &Self) -> &'static str {
        if self.severity != other.severity {
            "is graver"
        } else if self.confidence != other.confidence {
            "is surer"
        } else if self.class != other.class {
            "risks less"
        } else if self.gives_up.is_some() != other.gives_up.is_some() {
            "gives up nothing"
        } else {
            "comes first by name"
        }
    }

    pub(super) fn reject(&self, why: impl Into<String>) -> Rejected {
        Rejected {
            setting: self.setting.clone(),
            wanted: self.value.clone(),
            rule: self.rule.clone(),
            why: why.into(),
        }
    }
}

/// Every recommendation that this server can and may carry out.
pub(super) fn gather(
    postgres: &Postgres,
    findings: &[Finding],
    rejected: &mut Vec<Rejected>,
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for finding in findings {
        for recommendation in &finding.recommendations {
            match candidate(postgres, finding, recommendation) {
                Ok((candidate, limited)) => {
                    if let Some(limit) = limited {
                        rejected.push(Rejected {
                            wanted: written(&recommendation.want),
                            ..candidate.reject(format!("{limit}: {} is taken", candidate.value))
                        });
                    }
                    candidates.push(candidate);
                }
                Err(why) => rejected.push(Rejected {
                    setting: recommendation.setting.clone(),
                    wanted: written(&recommendation.want),
                    rule: finding.rule.clone(),
                    why,
                }),
            }
        }
    }
    candidates
}

fn candidate(
    postgres: &Postgres,
    finding: &Finding,
    recommendation: &Recommendation,
) -> Result<(Candidate, Option<String>), String> {
    let name = &recommendation.setting;
    let setting = postgres.setting(name).ok_or_else(|| {
        let why = postgres.why_hidden(name);
        why.unwrap_or_else(|| format!("PostgreSQL {} has no such setting", postgres.major()))
    })?;
    if recommendation.class != Class::Safe {
        return Err(format!(
            "{} is never recommended",
            recommendation.class.as_str()
        ));
    }
    let gated = gate::gate(setting, &recommendation.want)?;
    if let Some(why) = gate::forbidden(name, setting, &gated.value) {
        return Err(why);
    }
    if let Some(why) = gate::shadowed(postgres, setting)
        && !gate::is_already(setting, &gated.value)
    {
        return Err(why.to_owned());
    }
    let candidate = Candidate {
        setting: name.clone(),
        value: gated.value,
        severity: finding.severity,
        confidence: finding.confidence,
        class: recommendation.class,
        gives_up: recommendation.gives_up.clone(),
        why: recommendation.why.clone(),
        rule: finding.rule.clone(),
    };
    Ok((candidate, gated.limited))
}

fn written(want: &Want) -> String {
    match want {
        Want::Value(value) => value.clone(),
        Want::Bytes(bytes) => super::humane::bytes(super::humane::round_down(*bytes)),
        Want::FirstOf(values) => values.join(" or "),
    }
}

/// One value a setting; who asked for another one is told who stood before.
pub(super) fn settle(
    mut candidates: Vec<Candidate>,
    rejected: &mut Vec<Rejected>,
) -> BTreeMap<String, Candidate> {
    candidates.sort_by(Candidate::precedes);
    let mut chosen: BTreeMap<String, Candidate> = BTreeMap::new();
    for candidate in candidates {
        match chosen.get(&candidate.setting) {
            Some(winner) if winner.value == candidate.value => {}
            Some(winner) => rejected.push(candidate.reject(format!(
                "{} asks for {} and {}",
                winner.rule,
                winner.value,
                winner.reason_over(&candidate)
            ))),
            None => {
                chosen.insert(candidate.setting.clone(), candidate);
            }
        }
    }
    chosen
}
