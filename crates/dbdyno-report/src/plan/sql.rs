//! The plan as `ALTER SYSTEM` statements.

use std::fmt::Write;

use dbdyno_model::{Change, Class, Needs, Plan};

use super::{class_words, shown};
use crate::quote::{comment_text, is_quoted_list, list_elements, sql_literal, sql_name};
use crate::text::{list, plural, wrap};

/// Columns of a comment after its `-- `.
const COMMENT_WIDTH: usize = 77;

/// SQL for a superuser's psql session: a statement for each change with why it is made, what needs
/// a restart, and a reload at the end.
///
/// A change that may corrupt the database is written as a comment: it is never recommended.
#[must_use]
pub fn plan_as_alter_system(plan: &Plan) -> String {
    let mut sql = String::new();
    let title = format!(
        "dbdyno: {}. Run as a superuser, outside a transaction.",
        plural(plan.changes.len() as u64, "change")
    );
    comment(&mut sql, &title);
    for change in &plan.changes {
        sql.push('\n');
        statement(&mut sql, change);
    }
    sql.push('\n');
    if let Some(sentence) = restart_sentence(plan) {
        comment(&mut sql, &sentence);
    }
    sql.push_str("SELECT pg_reload_conf();\n");
    sql
}

/// Which settings wait for a restart; none where the reload is enough.
pub(super) fn restart_sentence(plan: &Plan) -> Option<String> {
    let waiting: Vec<String> = plan
        .changes
        .iter()
        .filter(|change| change.needs >= Needs::Restart && change.class != Class::MayCorrupt)
        .map(|change| change.setting.clone())
        .collect();
    if waiting.is_empty() {
        return None;
    }
    Some(format!(
        "A restart of the server is needed before {} take{} effect; the reload does the rest.",
        list(&waiting),
        if waiting.len() == 1 { "s" } else { "" }
    ))
}

/// Why, what it replaces, what it gives up: the lines of comment above a change.
pub(super) fn reasons(change: &Change) -> Vec<String> {
    let mut reasons = vec![format!(
        "{} ({}; was {})",
        change.why,
        change.rule,
        shown(&change.from)
    )];
    if let Some(gives_up) = &change.gives_up {
        reasons.push(format!("Gives up: {gives_up}"));
    }
    if let Some(words) = class_words(change.class) {
        reasons.push(format!("Class {}: {words}.", change.class.as_str()));
    }
    reasons
}

fn statement(sql: &mut String, change: &Change) {
    for reason in reasons(change) {
        comment(sql, &reason);
    }
    if change.setting.contains(['\n', '\r', '\0']) {
        comment(sql, "Left out: no setting has such a name.");
        return;
    }
    let name = sql_name(&change.setting);
    match assignment(change) {
        Some(line) if change.class == Class::MayCorrupt => comment(sql, &line),
        Some(line) => {
            let _ = writeln!(sql, "{line}");
        }
        // Written by ALTER SYSTEM, an empty list of this kind becomes a list of one empty name.
        None if is_quoted_list(&change.setting) && list_elements(&change.to).is_empty() => {
            let why = "ALTER SYSTEM cannot write an empty list: back to postgresql.conf's.";
            comment(sql, why);
            let _ = writeln!(sql, "ALTER SYSTEM RESET {name};");
        }
        None => {
            let why = format!("Left out: ALTER SYSTEM takes no line break; {name} has one.");
            comment(sql, &why);
        }
    }
}

/// None where no literal can say it.
pub(crate) fn assignment(change: &Change) -> Option<String> {
    let literal = if is_quoted_list(&change.setting) {
        let literals: Option<Vec<String>> = list_elements(&change.to)
            .iter()
            .map(|element| sql_literal(element))
            .collect();
        literals.filter(|literals| !literals.is_empty())?.join(", ")
    } else {
        sql_literal(&change.to)?
    };
    Some(format!(
        "ALTER SYSTEM SET {} = {literal};",
        sql_name(&change.setting)
    ))
}

fn comment(sql: &mut String, text: &str) {
    for line in wrap(&comment_text(text), COMMENT_WIDTH) {
        let _ = writeln!(sql, "-- {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn one(setting: &str, to: &str) -> Plan {
        let mut plan = testing::plan();
        plan.changes.truncate(1);
        plan.changes[0].setting = setting.to_owned();
        plan.changes[0].to = to.to_owned();
        plan
    }

    fn statements(sql: &str) -> Vec<&str> {
        sql.lines()
            .filter(|line| !line.starts_with("--") && !line.is_empty())
            .collect()
    }

    #[test]
    fn alter_system() {
        let sql = plan_as_alter_system(&testing::plan());
        assert!(sql.ends_with("SELECT pg_reload_conf();\n"));
        insta::assert_snapshot!("plan_alter_system", sql);
    }

    #[test]
    fn an_empty_plan_is_only_the_reload() {
        let sql = plan_as_alter_system(&Plan::default());
        assert_eq!(statements(&sql), ["SELECT pg_reload_conf();"]);
        assert!(!sql.contains("restart"));
    }

    #[test]
    fn list_settings_take_a_literal_per_element() {
        let sql = plan_as_alter_system(&one("shared_preload_libraries", "pg_stat_statements, b"));
        assert_eq!(
            statements(&sql)[0],
            "ALTER SYSTEM SET shared_preload_libraries = 'pg_stat_statements', 'b';"
        );
        let sql = plan_as_alter_system(&one("shared_preload_libraries", ""));
        assert_eq!(
            statements(&sql)[0],
            "ALTER SYSTEM RESET shared_preload_libraries;"
        );
    }

    #[test]
    fn nothing_escapes_from_comment_or_literal() {
        let mut plan = one("archive_command", "cp '%p' \\'; DROP TABLE t; --");
        plan.changes[0].why = "first\nDROP TABLE t;".to_owned();
        let sql = plan_as_alter_system(&plan);
        assert_eq!(
            statements(&sql),
            [
                r"ALTER SYSTEM SET archive_command = E'cp ''%p'' \\''; DROP TABLE t; --';",
                "SELECT pg_reload_conf();"
            ]
        );
        let sql = plan_as_alter_system(&one("archive_command", "a\nb"));
        assert_eq!(statements(&sql), ["SELECT pg_reload_conf();"]);
        let sql = plan_as_alter_system(&one("a\nb", "1"));
        assert_eq!(statements(&sql), ["SELECT pg_reload_conf();"]);
    }

    #[test]
    fn what_may_corrupt_is_a_comment() {
        let mut plan = one("fsync", "off");
        plan.changes[0].class = Class::MayCorrupt;
        let sql = plan_as_alter_system(&plan);
        assert_eq!(statements(&sql), ["SELECT pg_reload_conf();"]);
        assert!(sql.contains("-- ALTER SYSTEM SET fsync = 'off';"));
        assert!(sql.contains("never recommended"));
    }
}
