//! The plan as a page for people; as SQL and as a configuration fragment in its two submodules.

use std::collections::BTreeMap;

use dbdyno_model::finding::NotAssessed;
use dbdyno_model::plan::{MemoryModel, Rejected};
use dbdyno_model::{Change, Class, HostAction, Needs, Plan};

use crate::number;
use crate::style::{Role, Style};
use crate::text::{columns, hang, list, page, page_width, plural, wrap};

mod conf;
mod sql;

pub(crate) use conf::line as conf_line;
pub use conf::plan_as_conf;
pub(crate) use sql::assignment as alter_system_line;
pub use sql::plan_as_alter_system;

/// More rules than this, not assessed for one reason, are a count with names.
const NAMED_ALONE: usize = 3;

/// Settings, host actions, what was set aside and what was not assessed, and the memory model.
#[must_use]
pub fn plan_page(plan: &Plan, width: usize, style: Style) -> String {
    let width = page_width(width);
    let mut lines = vec![style.paint(Role::Heading, &headline(plan))];
    let column = names_column(&plan.changes);
    for change in &plan.changes {
        lines.push(String::new());
        lines.extend(change_lines(change, column, width, style));
    }
    host_actions(&mut lines, &plan.host_actions, width, style);
    rejected(&mut lines, &plan.rejected, width, style);
    not_assessed(&mut lines, &plan.not_assessed, width, style);
    lines.push(String::new());
    lines.extend(wrap(&memory_line(&plan.memory), width));
    page(&lines)
}

fn headline(plan: &Plan) -> String {
    if plan.changes.is_empty() {
        return "Plan: no change of a setting".to_owned();
    }
    format!(
        "Plan: {}, {}, {}",
        plural(plan.changes.len() as u64, "change"),
        plan.class().as_str(),
        needs_words(plan.needs())
    )
}

/// What a change takes, as words.
pub(crate) fn needs_words(needs: Needs) -> &'static str {
    match needs {
        Needs::Online => "takes effect at once",
        Needs::Reload => "needs a reload",
        Needs::Restart => "needs a restart",
        Needs::Remount => "needs a remount",
        Needs::Reboot => "needs a reboot",
        Needs::Migration => "needs a migration",
    }
}

/// What a crash may do under a class, as words; none for a safe one.
pub(crate) fn class_words(class: Class) -> Option<&'static str> {
    match class {
        Class::Safe => None,
        Class::MayLoseLastCommits => Some("a crash may lose the last acknowledged commits"),
        Class::MayCorrupt => Some("a crash may corrupt the database; never recommended"),
    }
}

/// The colour of a class; a safe one needs none.
pub(crate) fn class_role(class: Class) -> Role {
    match class {
        Class::Safe => Role::Dim,
        Class::MayLoseLastCommits => Role::Warn,
        Class::MayCorrupt => Role::Bad,
    }
}

/// A value as it is read; an empty one would vanish.
pub(crate) fn shown(value: &str) -> &str {
    if value.is_empty() { "''" } else { value }
}

/// Width of the column of names: the longest usual one, so that one giant moves nothing.
fn names_column(changes: &[Change]) -> usize {
    changes
        .iter()
        .map(|change| columns(&change.setting))
        .filter(|width| *width <= 32)
        .max()
        .unwrap_or(0)
}

fn change_lines(change: &Change, column: usize, width: usize, style: Style) -> Vec<String> {
    const INDENT: &str = "    ";
    let name = format!("{:<column$}  ", change.setting);
    let step = format!("{} → {}", shown(&change.from), shown(&change.to));
    let mut lines = hang(&name, &step, width);
    if let Some(first) = lines.first_mut() {
        // Painted after the wrap: escape codes take no columns.
        *first = first.replacen(
            &change.setting,
            &style.paint(Role::Heading, &change.setting),
            1,
        );
    }
    lines.extend(hang(INDENT, &change.why, width));
    if let Some(gives_up) = &change.gives_up {
        lines.extend(hang(&format!("{INDENT}gives up: "), gives_up, width));
    }
    let mut facts = format!("{} · {}", needs_words(change.needs), change.rule);
    match class_words(change.class) {
        Some(words) => {
            let text = format!("{}: {words}", change.class.as_str());
            let role = class_role(change.class);
            let danger = hang(INDENT, &text, width);
            lines.extend(danger.iter().map(|line| style.paint(role, line)));
        }
        None => facts.insert_str(0, "safe · "),
    }
    lines.extend(dim(&hang(INDENT, &facts, width), style));
    lines
}

fn host_actions(lines: &mut Vec<String>, actions: &[HostAction], width: usize, style: Style) {
    if actions.is_empty() {
        return;
    }
    section(
        lines,
        "On the host, for its owner (dbdyno does not do this)",
        style,
    );
    for action in actions {
        lines.extend(hang("  ", &action.action, width));
        let facts = format!("{} · {}", needs_words(action.needs), action.rule);
        lines.extend(dim(&hang("    ", &facts, width), style));
    }
}

fn rejected(lines: &mut Vec<String>, rejected: &[Rejected], width: usize, style: Style) {
    if rejected.is_empty() {
        return;
    }
    section(lines, "Wanted by a rule, but set aside", style);
    for item in rejected {
        let text = format!(
            "{} = {} ({}): {}",
            item.setting,
            shown(&item.wanted),
            item.rule,
            item.why
        );
        lines.extend(hang("  ", &text, width));
    }
}

/// Grouped by reason, so that one missing privilege is one line.
fn not_assessed(lines: &mut Vec<String>, items: &[NotAssessed], width: usize, style: Style) {
    if items.is_empty() {
        return;
    }
    section(lines, "Not assessed", style);
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for item in items {
        by_reason
            .entry(&item.why)
            .or_default()
            .push(item.rule.clone());
    }
    let mut groups: Vec<_> = by_reason.into_iter().collect();
    groups.sort_by_key(|(_, rules)| std::cmp::Reverse(rules.len()));
    for (why, rules) in groups {
        let text = if rules.len() > NAMED_ALONE {
            let count = number::count(rules.len() as u64);
            format!("{why}: {count} rules ({})", rules.join(", "))
        } else {
            format!("{why}: {}", list(&rules))
        };
        lines.extend(hang("  ", &text, width));
    }
}

/// The terms that are not zero, their sum, and what they are held against.
fn memory_line(memory: &MemoryModel) -> String {
    let Some(total) = memory.memory_bytes else {
        return "Memory: unknown, so nothing was sized by it.".to_owned();
    };
    let terms: Vec<String> = [
        ("shared buffers", memory.shared_buffers_bytes),
        ("WAL buffers", memory.wal_buffers_bytes),
        ("autovacuum", memory.autovacuum_bytes),
        ("active queries", memory.active_bytes),
        ("parallel workers", memory.parallel_bytes),
    ]
    .iter()
    .filter(|(_, bytes)| *bytes > 0)
    .map(|(name, bytes)| format!("{name} {}", number::bytes(*bytes)))
    .collect();
    let sum = memory.sum_bytes();
    if total == 0 || terms.is_empty() {
        return format!("Memory: {}, nothing sized by it.", number::bytes(total));
    }
    format!(
        "Memory: at most {} of {} ({}): {}.",
        number::bytes(sum),
        number::bytes(total),
        number::percent(sum as f64 / total as f64),
        list(&terms)
    )
}

fn section(lines: &mut Vec<String>, title: &str, style: Style) {
    lines.push(String::new());
    lines.push(style.paint(Role::Heading, title));
}

fn dim(lines: &[String], style: Style) -> Vec<String> {
    lines
        .iter()
        .map(|line| style.paint(Role::Dim, line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn pages() {
        let plan = testing::plan();
        for width in [80, 60] {
            let plain = plan_page(&plan, width, Style::Plain);
            assert!(
                plain.lines().all(|line| columns(line) <= width),
                "wider than {width}:\n{plain}"
            );
            insta::assert_snapshot!(format!("plan_{width}_plain"), plain);
            let coloured = plan_page(&plan, width, Style::Coloured);
            assert_eq!(testing::without_colour(&coloured), plain);
            insta::assert_snapshot!(
                format!("plan_{width}_coloured"),
                testing::visible_escapes(&coloured)
            );
        }
    }

    #[test]
    fn an_empty_plan_says_so() {
        insta::assert_snapshot!("plan_empty", plan_page(&Plan::default(), 80, Style::Plain));
    }

    #[test]
    fn a_narrow_terminal_gets_sixty_columns() {
        let plan = testing::plan();
        assert_eq!(
            plan_page(&plan, 10, Style::Plain),
            plan_page(&plan, 60, Style::Plain)
        );
    }
}
