//! What a finding asks its reader to do: from which value to which, and the lines that do it.

use dbdyno_model::check::{Place, Step, Way, WayKind};
use dbdyno_model::finding::Statement;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Change, Evidence, Finding, HostAction, Plan};

use super::{hidden, managed};
use crate::plan::{alter_system_line, conf_line};

/// The settings of the server first, then what is for the owner of the host, then SQL.
pub(super) fn steps(finding: &Finding, server: Option<&Postgres>, plan: &Plan) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for recommendation in &finding.recommendations {
        let change = plan
            .changes
            .iter()
            .find(|change| change.setting == recommendation.setting);
        // What the solver did not take stands among the values set aside, or is so already.
        let Some(change) = change else { continue };
        let step = setting(finding, server, change);
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    steps.extend(
        finding
            .host_actions
            .iter()
            .map(|action| host(finding, action)),
    );
    steps.extend(finding.statements.iter().map(sql));
    steps.iter_mut().for_each(hidden::mark);
    steps
}

fn setting(finding: &Finding, server: Option<&Postgres>, change: &Change) -> Step {
    Step {
        subject: Some(change.setting.clone()),
        current: Some(change.from.clone()),
        recommended: Some(change.to.clone()),
        why: Some(change.why.clone()),
        class: Some(change.class),
        needs: change.needs,
        gives_up: change.gives_up.clone(),
        ways: ways(change, server),
        files: Vec::new(),
        commands: Vec::new(),
        place: place(server, &change.setting),
        decided_by: (change.rule != finding.rule).then(|| change.rule.clone()),
    }
}

fn ways(change: &Change, server: Option<&Postgres>) -> Vec<Way> {
    // No setting has such a name: a line of it would not be one line.
    if change.setting.contains(char::is_control) {
        return Vec::new();
    }
    if let Some(ways) = server.and_then(|server| managed::ways(change, server)) {
        return ways;
    }
    let way = |kind, text: Option<String>| text.map(|text| Way { kind, text });
    [
        way(WayKind::AlterSystem, alter_system_line(change)),
        way(WayKind::Conf, conf_line(change)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Where the present value of a setting stands, where the role may see it.
pub(super) fn place(server: Option<&Postgres>, setting: &str) -> Option<Place> {
    let setting = server?.setting(setting)?;
    Some(Place {
        file: setting.source_file.clone()?,
        line: setting.source_line?,
    })
}

fn host(finding: &Finding, action: &HostAction) -> Step {
    let value = one_value(finding, &action.action);
    let (subject, current, recommended) = match value {
        Some((evidence, to)) => (
            Some(evidence.fact.clone()),
            Some(evidence.value.clone()),
            Some(to),
        ),
        None => (None, None, None),
    };
    Step {
        subject,
        current,
        recommended,
        why: None,
        class: None,
        needs: action.needs,
        gives_up: action.gives_up.clone(),
        ways: vec![Way {
            kind: WayKind::Action,
            text: action.action.clone(),
        }],
        files: action.files.clone(),
        commands: action.commands.clone(),
        place: None,
        decided_by: None,
    }
}

fn sql(statement: &Statement) -> Step {
    Step {
        subject: None,
        current: None,
        recommended: None,
        why: Some(statement.why.clone()),
        class: Some(statement.class),
        needs: statement.needs,
        gives_up: statement.gives_up.clone(),
        ways: vec![Way {
            kind: WayKind::Statement,
            text: format!("{};", statement.sql),
        }],
        files: Vec::new(),
        commands: Vec::new(),
        place: None,
        decided_by: None,
    }
}

/// The evidence that the action gives another value, where it is one line with one.
fn one_value<'a>(finding: &'a Finding, action: &str) -> Option<(&'a Evidence, String)> {
    let devices = devices(action);
    finding.evidence.iter().find_map(|evidence| {
        // A rule may show the same attribute of several devices.
        let is_of = |device: &&str| evidence.origin.contains(&format!("/{device}/"));
        let is_same = devices.is_empty() || devices.iter().any(is_of);
        let to = assigned(action, &evidence.fact).filter(|_| is_same)?;
        Some((evidence, to.to_owned()))
    })
}

/// The block devices that a udev rule changes now, as they are called now.
fn devices(action: &str) -> Vec<&str> {
    match action.split_once("udevadm trigger for ") {
        Some((_, names)) => names
            .split([',', ' '])
            .filter(|name| !name.is_empty())
            .collect(),
        None => between(action, "KERNEL==\"", '"').into_iter().collect(),
    }
}

/// What a line of sysctl.d (`name = value`) or of a udev rule (`ATTR{queue/name}="value"`) assigns.
fn assigned<'a>(action: &'a str, name: &str) -> Option<&'a str> {
    if name.is_empty() || name.contains(char::is_whitespace) {
        return None;
    }
    if let Some(value) = between(action, &format!("/{name}}}=\""), '"') {
        return Some(value);
    }
    let start = format!("{name} = ");
    let at = action.find(&start)?;
    let is_word = at == 0 || action[..at].ends_with(char::is_whitespace);
    let rest = action[at + start.len()..].trim_start();
    let value = match rest.strip_prefix('\'') {
        Some(quoted) => quoted.split_once('\'')?.0,
        None => rest
            .split_whitespace()
            .next()?
            .trim_end_matches([',', ';', '.']),
    };
    (is_word && !value.is_empty()).then_some(value)
}

fn between<'a>(text: &'a str, start: &str, end: char) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    Some(rest.split_once(end)?.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::testing;
    use dbdyno_model::check::Answer;
    use dbdyno_model::{Class, FileLines, Needs};

    fn answer(rule: &str) -> Answer {
        let check = testing::check();
        let found = check.findings().find(|answer| answer.rule == rule);
        found.unwrap_or_else(|| panic!("no {rule}")).clone()
    }

    #[test]
    fn a_setting_goes_where_the_plan_takes_it_and_says_how() {
        let answer = answer("postgres.shared_buffers");
        let step = &answer.steps[0];
        assert_eq!(step.subject.as_deref(), Some("shared_buffers"));
        assert_eq!(step.current.as_deref(), Some("128MB"));
        assert_eq!(step.recommended.as_deref(), Some("6016MB"));
        assert_eq!(step.decided_by, None);
        let ways: Vec<&str> = step.ways.iter().map(|way| way.text.as_str()).collect();
        assert_eq!(
            ways,
            [
                "ALTER SYSTEM SET shared_buffers = '6016MB';",
                "shared_buffers = '6016MB'"
            ]
        );
    }

    #[test]
    fn a_managed_server_is_not_offered_what_it_refuses() {
        let mut facts = testing::facts();
        facts.postgres.as_mut().unwrap().managed_by = Some("Amazon RDS".to_owned());
        let said = testing::said();
        let assessment = crate::check::assessment(&facts, &said);
        let ways: Vec<WayKind> = assessment
            .findings
            .iter()
            .flat_map(|answer| &answer.steps)
            .flat_map(|step| &step.ways)
            .map(|way| way.kind)
            .collect();
        assert!(ways.contains(&WayKind::Manager), "{ways:?}");
        assert!(
            !ways.contains(&WayKind::AlterSystem) && !ways.contains(&WayKind::Conf),
            "{ways:?}"
        );
    }

    #[test]
    fn the_loser_sees_the_value_that_was_taken_and_who_decided_it() {
        let answer = answer("postgres.memory_twin");
        assert_eq!(answer.steps[0].recommended.as_deref(), Some("6016MB"));
        assert_eq!(
            answer.steps[0].decided_by.as_deref(),
            Some("postgres.shared_buffers")
        );
        assert_eq!(answer.set_aside.len(), 1);
        assert_eq!(answer.set_aside[0].wanted, "4GB");
    }

    #[test]
    fn a_line_of_the_host_shows_both_values() {
        let answer = answer("kernel.swappiness");
        let step = &answer.steps[0];
        let value = (step.current.as_deref(), step.recommended.as_deref());
        assert_eq!(value, (Some("60"), Some("1")));
        assert_eq!(step.class, None);
    }

    #[test]
    fn sql_says_what_it_is_for_and_what_it_costs() {
        let mut finding = testing::findings().remove(0);
        finding.recommendations.clear();
        finding.statements = vec![Statement {
            sql: "DROP INDEX CONCURRENTLY public.note".to_owned(),
            why: "nothing scans it".to_owned(),
            class: Class::Safe,
            needs: Needs::Online,
            gives_up: Some("the way back takes a build".to_owned()),
        }];
        let steps = steps(&finding, None, &Plan::default());
        assert_eq!(steps.len(), 1);
        assert_eq!(steps[0].ways[0].kind, WayKind::Statement);
        assert_eq!(
            steps[0].ways[0].text,
            "DROP INDEX CONCURRENTLY public.note;"
        );
        assert_eq!(steps[0].why.as_deref(), Some("nothing scans it"));
        assert!(steps[0].gives_up.is_some() && steps[0].class == Some(Class::Safe));
    }

    #[test]
    fn what_names_nobody_is_no_statement_and_says_what_shows_the_name() {
        let mut finding = testing::findings().remove(0);
        finding.recommendations.clear();
        finding.host_actions.clear();
        let statement = |sql: &str| Statement {
            sql: sql.to_owned(),
            why: String::new(),
            class: Class::Safe,
            needs: Needs::Online,
            gives_up: None,
        };
        finding.statements = vec![
            statement("SELECT pg_drop_replication_slot('(standby 1)')"),
            statement("SELECT pg_drop_replication_slot('cdc')"),
        ];
        let steps = steps(&finding, None, &Plan::default());
        assert_eq!(steps[0].ways[0].kind, WayKind::Action);
        assert!(steps[0].ways[0].text.starts_with("with --with-names"));
        assert_eq!(steps[1].ways[0].kind, WayKind::Statement);
    }

    #[test]
    fn what_the_owner_of_the_host_pastes_is_handed_on_with_its_price() {
        let mut finding = testing::findings().remove(0);
        finding.recommendations.clear();
        let mut action = HostAction::in_words("kernel.x", "vm.x = 1 in /etc/x", Needs::Online);
        action.files = vec![FileLines {
            file: "/etc/x".to_owned(),
            lines: vec!["vm.x = 1".to_owned()],
        }];
        action.commands = vec!["sysctl -p /etc/x".to_owned()];
        action.gives_up = Some("some memory".to_owned());
        finding.host_actions = vec![action.clone()];
        let step = steps(&finding, None, &Plan::default()).remove(0);
        assert!(step.can_be_pasted());
        assert_eq!((step.files, step.commands), (action.files, action.commands));
        assert_eq!(step.gives_up, action.gives_up);
    }

    #[test]
    fn lines_are_read_and_prose_is_not() {
        let udev = "ACTION==\"add|change\", KERNEL==\"sda\", ATTR{queue/scheduler}=\"mq-deadline\" in /etc/x";
        assert_eq!(assigned(udev, "scheduler"), Some("mq-deadline"));
        let two = "vm.overcommit_memory = 2 and vm.overcommit_ratio = 80 in /etc/x";
        assert_eq!(assigned(two, "vm.overcommit_ratio"), Some("80"));
        assert_eq!(assigned(two, "overcommit_ratio"), None);
        let quoted = "shared_preload_libraries = 'a, b', then CREATE EXTENSION b";
        assert_eq!(assigned(quoted, "shared_preload_libraries"), Some("a, b"));
        for (action, name) in [
            ("add noatime to / in /etc/fstab", "mount options"),
            ("end the session", ""),
            ("x = ", "x"),
            ("x = 'a", "x"),
        ] {
            assert_eq!(assigned(action, name), None, "{action}");
        }
    }

    #[test]
    fn each_device_keeps_its_own_value() {
        let mut finding = testing::findings().remove(0);
        let evidence = |device: &str, value: &str| Evidence {
            fact: "scheduler".to_owned(),
            value: value.to_owned(),
            origin: format!("/sys/class/block/{device}/queue/scheduler"),
        };
        finding.evidence = vec![evidence("sda", "bfq"), evidence("sdb", "kyber")];
        let action = "KERNEL==\"sdb\", ATTR{queue/scheduler}=\"none\" in /etc/x";
        let (found, to) = one_value(&finding, action).unwrap();
        assert_eq!((found.value.as_str(), to.as_str()), ("kyber", "none"));
        // A rule for all of one kind names none of them.
        let action = "KERNEL==\"sd*\", ATTR{queue/scheduler}=\"none\" in /etc/x, then: udevadm \
                      trigger for sdc, sdb";
        let (found, to) = one_value(&finding, action).unwrap();
        assert_eq!((found.value.as_str(), to.as_str()), ("kyber", "none"));
        let other = action.trim_end_matches(", sdb");
        assert!(one_value(&finding, other).is_none());
    }
}
