//! What was changed and what was left as it was, in as many lines as the page has for it.

use std::cmp::Reverse;

use dbdyno_model::tune::Arm;
use dbdyno_model::{Change, Class, Needs, Severity, Tune, Verdict};

use crate::plan::{class_role, class_words, needs_words, shown};
use crate::story::changes::{unapplied, unmeasured};
use crate::style::{Role, Style};
use crate::text::{clean, columns, cut, cut_words, plural, wrap};

/// However little room there is, so many changes and so many findings are named.
const CHANGES_NAMED: usize = 3;
const FINDINGS_NAMED: usize = 1;
/// Findings that are named before changes take the rest of the room.
const FINDINGS_WISHED: usize = 2;

/// Below this, what a change gives up would be cut to nothing.
const GIVES_UP_COLUMNS: usize = 24;
/// A name longer than this moves only its own line.
const NAME_COLUMNS: usize = 32;

/// A setting that the judged arm, or the plan, has otherwise.
struct Step<'a> {
    setting: &'a str,
    from: &'a str,
    to: &'a str,
    change: Option<&'a Change>,
    /// Of the gravest finding behind it.
    severity: Option<Severity>,
}

impl Step<'_> {
    fn class(&self) -> Class {
        self.change.map_or(Class::Safe, |change| change.class)
    }
}

/// What nothing was done about.
struct Left<'a> {
    severity: Severity,
    text: &'a str,
    /// Where its owner has to act on the host.
    host: Option<Needs>,
}

/// Both lists with their headings, in `room` lines if the least that has to be named fits there.
pub(super) fn lines(tune: &Tune, room: usize, width: usize, style: Style) -> Vec<String> {
    let steps = steps(tune);
    let left = left(tune);
    let told: Vec<&Left<'_>> = left
        .iter()
        .filter(|item| item.severity > Severity::Info)
        .collect();
    let changed = changed_heading(tune, &steps, width);
    let kept = left_heading(tune, &left, width);
    let spare = room.saturating_sub(changed.len() + kept.len());
    let (most_steps, most_told) = share(&steps, told.len(), spare);

    let mut lines = headed(&changed, style);
    let names = steps[..most_steps]
        .iter()
        .map(|step| columns(step.setting))
        .filter(|name| *name <= NAME_COLUMNS)
        .max()
        .unwrap_or(0);
    let values = steps[..most_steps]
        .iter()
        .map(|step| columns(&values(step)))
        .filter(|value| *value <= NAME_COLUMNS)
        .max()
        .unwrap_or(0);
    for step in &steps[..most_steps] {
        lines.push(step_line(step, names, values, width, style));
    }
    if most_steps < steps.len() {
        lines.push(format!("  … and {} more", steps.len() - most_steps));
    }
    lines.extend(headed(&kept, style));
    for item in told.iter().take(most_told) {
        lines.push(left_line(item, width, style));
    }
    lines
}

/// How many changes and findings are named. What is not safe is never folded.
fn share(steps: &[Step<'_>], told: usize, spare: usize) -> (usize, usize) {
    let wished = told.min(FINDINGS_WISHED);
    let dangerous = steps
        .iter()
        .filter(|step| step.class() != Class::Safe)
        .count();
    let least = CHANGES_NAMED.max(dangerous).min(steps.len());
    // What does not fit is counted on a line of its own.
    let lines_of = |named: usize| named + usize::from(named < steps.len());
    let fits = |named: &usize| lines_of(*named) + wished <= spare;
    let named = (least..=steps.len()).rev().find(fits).unwrap_or(least);
    let rest = spare.saturating_sub(lines_of(named));
    (named, told.min(rest.max(FINDINGS_NAMED)))
}

/// Arms that were judged, base first.
fn judged<'a>(tune: &'a Tune, verdict: &Verdict) -> Option<[&'a Arm; 2]> {
    let arm = |name: &str| tune.arms.iter().find(|arm| arm.name == name);
    Some([arm(&verdict.base)?, arm(&verdict.arm)?])
}

/// What the judged arm has otherwise than its base; the plan's changes where nothing was judged.
/// What is not safe comes first, then the gravest findings, then the order of the plan.
fn steps(tune: &Tune) -> Vec<Step<'_>> {
    let arms = tune
        .verdict
        .as_ref()
        .and_then(|verdict| judged(tune, verdict));
    let planned = |setting: &str| {
        let mut changes = tune.plan.changes.iter();
        changes.find(|change| change.setting == setting)
    };
    let mut steps: Vec<Step<'_>> = match arms {
        Some([base, arm]) => differing(base, arm)
            .map(|(setting, from, to)| {
                let change = planned(setting).filter(|change| change.to == to.unwrap_or_default());
                // Only the plan knows what a value was that no file sets.
                let default = change.map_or("default", |change| &change.from);
                Step {
                    setting,
                    from: from.unwrap_or(default),
                    to: to.unwrap_or("default"),
                    change,
                    severity: severity(tune, change),
                }
            })
            .collect(),
        None => tune
            .plan
            .changes
            .iter()
            .map(|change| Step {
                setting: &change.setting,
                from: &change.from,
                to: &change.to,
                change: Some(change),
                severity: severity(tune, Some(change)),
            })
            .collect(),
    };
    steps.sort_by_key(|step| Reverse((step.class(), step.severity)));
    steps
}

/// Settings of either arm that differ: name, of the base, of the arm.
fn differing<'a>(
    base: &'a Arm,
    arm: &'a Arm,
) -> impl Iterator<Item = (&'a str, Option<&'a str>, Option<&'a str>)> {
    let only_in_base = base
        .settings
        .keys()
        .filter(move |name| !arm.settings.contains_key(*name));
    let names = arm.settings.keys().chain(only_in_base);
    names.filter_map(move |name| {
        let of = |arm: &'a Arm| arm.settings.get(name).map(String::as_str);
        let (from, to) = (of(base), of(arm));
        (from != to).then_some((name.as_str(), from, to))
    })
}

fn severity(tune: &Tune, change: Option<&Change>) -> Option<Severity> {
    let rule = &change?.rule;
    let of_rule = tune.findings.iter().filter(|finding| finding.rule == *rule);
    of_rule.map(|finding| finding.severity).max()
}

/// Findings that no change of the plan answers, and actions on the host; the worst first.
fn left(tune: &Tune) -> Vec<Left<'_>> {
    let answered = |rule: &str| tune.plan.changes.iter().any(|change| change.rule == rule);
    unapplied(tune)
        .into_iter()
        .filter_map(|item| {
            // Of several actions of one rule, the most disturbing one speaks.
            let action = item.actions.iter().max_by_key(|action| action.needs);
            // Where a setting answers the finding, what remains is the action on the host.
            let finding = item.finding.filter(|_| !answered(item.rule));
            let message = finding.map(|finding| finding.message.as_str());
            Some(Left {
                severity: item.severity(),
                text: message.or(action.map(|action| action.action.as_str()))?,
                host: action.map(|action| action.needs),
            })
        })
        .collect()
}

fn changed_heading(tune: &Tune, steps: &[Step<'_>], width: usize) -> Vec<String> {
    let count = plural(steps.len() as u64, "setting");
    let needs = steps
        .iter()
        .filter_map(|step| Some(step.change?.needs))
        .max();
    let needs = needs.map_or(String::new(), |needs| format!(", {}", needs_words(needs)));
    let text = match (&tune.verdict, &tune.target) {
        (None, _) if steps.is_empty() => "Planned: no change of a setting".to_owned(),
        (None, _) => format!("Planned, not measured: {count}{needs}"),
        (Some(_), _) if steps.is_empty() => {
            "Changed: nothing, both arms have the same settings".to_owned()
        }
        (Some(verdict), None) => format!("Changed in {}: {count}{needs}", verdict.arm),
        (Some(verdict), Some(_)) => format!(
            "Changed in {}, on the private twin alone: {count}{needs}",
            verdict.arm
        ),
    };
    wrap(&text, width)
}

/// Counts of all that was left; nothing where there is nothing.
fn left_heading(tune: &Tune, left: &[Left<'_>], width: usize) -> Vec<String> {
    let with = |severity| left.iter().filter(|item| item.severity == severity).count();
    let found: Vec<String> = [Severity::Critical, Severity::Warn, Severity::Info]
        .into_iter()
        .filter(|severity| with(*severity) > 0)
        .map(|severity| format!("{} {}", with(severity), severity.as_str()))
        .collect();
    let mut parts = Vec::new();
    if !found.is_empty() {
        parts.push(found.join(", "));
    }
    for (count, what) in [
        (unmeasured(tune).len(), "planned but not in this arm"),
        (tune.plan.rejected.len(), "set aside"),
        (tune.plan.not_assessed.len(), "not assessed"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    if parts.is_empty() {
        return Vec::new();
    }
    let title = if tune.verdict.is_some() {
        "Not applied"
    } else {
        "Not in the plan"
    };
    wrap(&format!("{title}: {}", parts.join("; ")), width)
}

fn headed(lines: &[String], style: Style) -> Vec<String> {
    lines
        .iter()
        .map(|line| style.paint(Role::Heading, line))
        .collect()
}

fn values(step: &Step<'_>) -> String {
    clean(&format!("{} → {}", shown(step.from), shown(step.to)))
}

/// `  max_wal_size  1GB → 7GB  gives up recovery time`; a restart is told, a reload is usual.
fn step_line(step: &Step<'_>, names: usize, wide: usize, width: usize, style: Style) -> String {
    let values = values(step);
    // A name may be cut, since it is recognised; a value is not.
    let room = width.saturating_sub(columns(&values) + 4).max(8);
    let name = cut(step.setting, room);
    let names = names.min(room);
    let line = cut(&format!("  {name:<names$}  {values:<wide$}"), width);
    let danger = class_words(step.class());
    let needs = step.change.map(|change| change.needs);
    let gives_up = step.change.and_then(|change| change.gives_up.as_deref());
    // A rule that gives up "a restart" has said it.
    let said = |needs: &Needs| gives_up.is_some_and(|what| what.contains(needs.as_str()));
    let needs = needs.filter(|needs| *needs > Needs::Reload && !said(needs));
    let mut tail: Vec<String> = Vec::new();
    tail.extend(danger.map(str::to_owned));
    tail.extend(needs.map(|needs| needs_words(needs).to_owned()));
    tail.extend(gives_up.map(|what| format!("gives up: {what}")));
    let room = width.saturating_sub(columns(&line) + 2);
    let tail = tail.join("; ");
    if tail.is_empty() || (room < GIVES_UP_COLUMNS && columns(&tail) > room) {
        return line.trim_end().to_owned();
    }
    let tail = style.paint(class_role(step.class()), &cut_words(&tail, room));
    format!("{line}  {tail}")
}

/// `  ▲ warn      the I/O scheduler of vda is mq-deadline (host)`.
fn left_line(item: &Left<'_>, width: usize, style: Style) -> String {
    let (sign, role) = match item.severity {
        Severity::Critical => ("■", Role::Bad),
        Severity::Warn => ("▲", Role::Warn),
        Severity::Info => ("·", Role::Dim),
    };
    let label = format!("{sign} {:<8}", item.severity.as_str());
    let place = match item.host {
        None => String::new(),
        Some(Needs::Online | Needs::Reload) => " (host)".to_owned(),
        Some(needs) => format!(" (host, {})", needs.as_str()),
    };
    let room = width.saturating_sub(columns(&label) + columns(&place) + 4);
    let text = cut_words(item.text, room);
    format!("  {}  {text}{place}", style.paint(role, &label))
}
