//! Stored runs side by side: intervals where repeats allow them, and never a verdict.

use dbdyno_model::{Comparison, Tune};

mod caveats;
mod difference;
mod error;
mod group;
mod markdown;
mod page;
mod settings;
mod unlike;
mod view;

pub use error::CompareError;
pub use markdown::comparison_markdown;
pub use page::comparison_page;

use group::Picked;

/// Runs of one trial that are to stand as a group.
#[derive(Debug, Clone)]
pub struct Selection<'a> {
    /// As the user would type it: `TRIAL:ARM` or `TRIAL/NUMBER`.
    pub name: String,
    pub tune: &'a Tune,
    pub runs: Chosen,
}

/// Which runs of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// All kept runs of the arm.
    Arm(String),
    /// The run of this number alone.
    Run(u32),
}

/// Puts the groups side by side, the first as the base.
///
/// Two groups of one trial are compared within their common pairs, others by the spread between
/// their runs; a group of a single run gets no interval. The levels are such that all intervals
/// hold together at 95 %. There are no words of verdict: nobody declared this comparison before
/// the runs.
///
/// # Errors
/// Fewer than two groups, the same runs twice, or a selection without a run to compare.
pub fn compare(
    selections: &[Selection<'_>],
    made_at: &str,
    dbdyno_version: &str,
) -> Result<Comparison, CompareError> {
    let picked = selections
        .iter()
        .map(Picked::new)
        .collect::<Result<Vec<_>, _>>()?;
    let [base, others @ ..] = picked.as_slice() else {
        return Err(CompareError::TooFew { groups: 0 });
    };
    if others.is_empty() {
        return Err(CompareError::TooFew { groups: 1 });
    }
    for (index, one) in picked.iter().enumerate() {
        if picked[..index].iter().any(|before| before.is_same(one)) {
            return Err(CompareError::SameRuns {
                name: one.name.to_owned(),
            });
        }
    }
    let groups: Vec<_> = picked.iter().map(group::describe).collect();
    let unlike = unlike::of(&groups);
    let mut differences = Vec::new();
    for (index, other) in others.iter().enumerate() {
        let mut difference = difference::of(base, other, others.len());
        difference.confounded_by = unlike::confounding(&unlike, index + 1);
        differences.push(difference);
    }
    Ok(Comparison {
        schema: Comparison::SCHEMA.to_owned(),
        dbdyno_version: dbdyno_version.to_owned(),
        made_at: made_at.to_owned(),
        metric: difference::METRIC.to_owned(),
        joint_level: difference::JOINT_LEVEL,
        caveats: caveats::of(&picked, &groups, &differences),
        groups,
        differences,
        unlike,
    })
}

#[cfg(test)]
mod compare_tests;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod property_tests;
