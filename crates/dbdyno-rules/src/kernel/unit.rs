//! The server's systemd unit, for rules whose action goes into it.

use dbdyno_model::host::{Host, UnitDirective};
use dbdyno_model::{Finding, Needs};

use crate::paste::PasteExt;
use crate::rule::FindingExt;

/// Where a setting of the server's unit belongs: a drop-in of its own, by name where it is known.
pub(super) fn drop_in(host: &Host) -> String {
    let unit = host
        .server_process
        .value()
        .and_then(|process| process.unit.value());
    match unit {
        Some(unit) => format!("[Service] of {}", unit.drop_in()),
        None => "a drop-in of the server's systemd unit (systemctl edit)".to_owned(),
    }
}

/// What the unit's files say already: a value that the running process does not have yet.
pub(super) fn directive<'a>(host: &'a Host, name: &str) -> Option<&'a UnitDirective> {
    host.server_process.value()?.unit.value()?.directive(name)
}

/// An action that raises a soft limit of the unit's process. One number in the unit sets the hard limit
/// too, so that stands beside it, as high as it is now and as the unit's files have it.
pub(super) fn raise(
    finding: Finding,
    host: &Host,
    (name, limit): (&str, &str),
    soft: u64,
) -> Finding {
    let process = host.server_process.value();
    let hard = process.and_then(|process| process.hard_limits.get(limit).copied());
    let Some(hard) = hard else {
        return finding.host_action(
            format!(
                "{name}={soft}:HARD in {}, with the hard limit of /proc/PID/limits, which was not \
                 read and must not become lower",
                drop_in(host)
            ),
            Needs::Restart,
        );
    };
    let of_files = directive(host, name).and_then(|directive| hard_of(&directive.value));
    let hard = hard
        .unwrap_or(u64::MAX)
        .max(of_files.unwrap_or(0))
        .max(soft);
    let line = match hard {
        u64::MAX => format!("{name}={soft}:infinity"),
        hard if hard == soft => format!("{name}={soft}"),
        hard => format!("{name}={soft}:{hard}"),
    };
    finding
        .host_action(format!("{line} in {}", drop_in(host)), Needs::Restart)
        .unit(host, [line])
}

/// The hard limit in `65536:524288`, `65536` or `infinity`.
fn hard_of(value: &str) -> Option<u64> {
    match value.rsplit(':').next()?.trim() {
        "infinity" => Some(u64::MAX),
        number => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::raise;
    use crate::testing::{healthy, host, process, with_unit};
    use dbdyno_model::Facts;

    const FILES: (&str, &str) = ("LimitNOFILE", "Max open files");

    fn with_hard(hard: Option<u64>) -> Facts {
        let mut facts = healthy();
        process(&mut facts, |process| {
            process.hard_limits.insert(FILES.1.to_owned(), hard);
        });
        facts
    }

    fn line(facts: &mut Facts) -> String {
        let finding = crate::catalogue()[0].finding("");
        let finding = raise(finding, host(facts), FILES, 8000);
        let files = &finding.host_actions[0].files;
        files.first().map_or_else(String::new, |file| {
            assert_eq!(file.lines[0], "[Service]");
            file.lines[1].clone()
        })
    }

    #[test]
    fn a_hard_limit_is_never_lowered() {
        for (hard, expected) in [
            (Some(524_288), "LimitNOFILE=8000:524288"),
            (Some(4096), "LimitNOFILE=8000"),
            (None, "LimitNOFILE=8000:infinity"),
        ] {
            let mut facts = with_hard(hard);
            with_unit(&mut facts, &[]);
            assert_eq!(line(&mut facts), expected);
        }
        // The files may give the process more at its next start than it has now.
        for (value, expected) in [
            ("1024:65536", "LimitNOFILE=8000:65536"),
            ("1024", "LimitNOFILE=8000"),
            ("1024:infinity", "LimitNOFILE=8000:infinity"),
            ("odd", "LimitNOFILE=8000"),
        ] {
            let mut facts = with_hard(Some(1024));
            with_unit(&mut facts, &[("LimitNOFILE", value)]);
            assert_eq!(line(&mut facts), expected, "{value}");
        }
    }

    #[test]
    fn a_hard_limit_that_was_not_read_is_not_guessed() {
        let mut facts = healthy();
        with_unit(&mut facts, &[]);
        assert_eq!(line(&mut facts), "");
        let finding = crate::catalogue()[0].finding("");
        let finding = raise(finding, host(&mut facts), FILES, 8000);
        let action = &finding.host_actions[0];
        assert!(action.action.starts_with("LimitNOFILE=8000:HARD in "));
        assert!(action.commands.is_empty());
    }
}
