//! The plan as a fragment of postgresql.conf.

use std::fmt::Write;

use dbdyno_model::{Change, Class, Plan};

use super::sql::{reasons, restart_sentence};
use crate::quote::{comment_text, conf_value, is_conf_name};
use crate::text::{plural, wrap};

/// Columns of a comment after its `# `.
const COMMENT_WIDTH: usize = 78;

/// A fragment to include after postgresql.conf's own lines: the last value of a setting wins.
///
/// A change that may corrupt the database is written as a comment: it is never recommended.
#[must_use]
pub fn plan_as_conf(plan: &Plan) -> String {
    let mut conf = String::new();
    let title = format!(
        "dbdyno: {}. Include this file last; ALTER SYSTEM's values override it.",
        plural(plan.changes.len() as u64, "change")
    );
    comment(&mut conf, &title);
    if let Some(sentence) = restart_sentence(plan) {
        comment(&mut conf, &sentence);
    }
    for change in &plan.changes {
        conf.push('\n');
        entry(&mut conf, change);
    }
    conf
}

fn entry(conf: &mut String, change: &Change) {
    for reason in reasons(change) {
        comment(conf, &reason);
    }
    match line(change) {
        Some(line) if change.class == Class::MayCorrupt => comment(conf, &line),
        Some(line) => {
            let _ = writeln!(conf, "{line}");
        }
        None => comment(
            conf,
            &format!("Left out: {} cannot be written here.", change.setting),
        ),
    }
}

/// None where the grammar has no way to say it.
pub(crate) fn line(change: &Change) -> Option<String> {
    let value = conf_value(&change.to).filter(|_| is_conf_name(&change.setting))?;
    Some(format!("{} = {value}", change.setting))
}

fn comment(conf: &mut String, text: &str) {
    for line in wrap(&comment_text(text), COMMENT_WIDTH) {
        let _ = writeln!(conf, "# {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use proptest::prelude::*;

    #[test]
    fn fragment() {
        insta::assert_snapshot!("plan_conf", plan_as_conf(&testing::plan()));
    }

    #[test]
    fn what_may_corrupt_is_a_comment() {
        let mut plan = testing::plan();
        plan.changes.truncate(1);
        plan.changes[0].class = Class::MayCorrupt;
        let conf = plan_as_conf(&plan);
        assert!(
            conf.lines()
                .all(|line| line.starts_with('#') || line.is_empty())
        );
    }

    proptest! {
        /// Whatever a document holds, a fragment has one line of its own a change.
        #[test]
        fn no_text_adds_a_line(setting in "[a-z_\n= #']{1,20}", to in "\\PC{0,30}[\n\r']?[a-z =]{0,9}", why in "[a-z\n\r]{0,30}") {
            let mut plan = testing::plan();
            plan.changes.truncate(1);
            plan.changes[0].setting.clone_from(&setting);
            plan.changes[0].to = to;
            plan.changes[0].why = why;
            let conf = plan_as_conf(&plan);
            let own: Vec<&str> = conf.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).collect();
            prop_assert!(own.len() <= 1);
            let start = format!("{setting} = '");
            prop_assert!(own.iter().all(|line| line.starts_with(&start)));
        }
    }
}
