//! Commands in which a name is hidden: they cannot be run, and say what shows the name.

use dbdyno_model::check::{Step, WayKind};

/// What stands for a name in facts that were collected without `--with-names`.
const STAND_INS: [&str; 4] = ["(address)", "(host)", "(name)", "(user)"];

const SHOWN_BY: &str = "with --with-names, which shows the name";

/// Makes instructions of the commands that name nobody.
pub(super) fn mark(step: &mut Step) {
    let of_files = step
        .files
        .iter()
        .flat_map(|file| std::iter::once(&file.file).chain(&file.lines));
    // No shell and no file takes brackets like these for anything else.
    let cannot_be_pasted = of_files
        .chain(&step.commands)
        .any(|text| has_standby(text) || STAND_INS.iter().any(|stand_in| text.contains(stand_in)));
    if cannot_be_pasted {
        step.files.clear();
        step.commands.clear();
    }
    for way in &mut step.ways {
        let is_in_words = cannot_be_pasted && way.kind == WayKind::Action;
        if is_in_words || has_stand_in(&way.text) {
            way.kind = WayKind::Action;
            way.text = format!("{SHOWN_BY}: {}", way.text);
        }
    }
}

/// The same of a grant, as a comment among statements.
pub(super) fn grant(statement: String) -> String {
    // The collector writes the role last.
    let names_nobody = statement
        .split(';')
        .any(|one| one.trim_end().ends_with(" TO (user)") || has_stand_in(one));
    if names_nobody {
        format!("-- {SHOWN_BY}: {statement}")
    } else {
        statement
    }
}

/// Only in quotes, as SQL has such names: a column may be called `name`, and stands in brackets.
fn has_stand_in(text: &str) -> bool {
    let is_quoted = STAND_INS.iter().any(|one| {
        text.match_indices(one).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + one.len()..].chars().next();
            matches!(
                (before, after),
                (Some('"'), Some('"')) | (Some('\''), Some('\''))
            )
        })
    });
    is_quoted || has_standby(text)
}

/// `(standby 1)`, which nothing else looks like.
fn has_standby(text: &str) -> bool {
    text.split("(standby ").skip(1).any(|rest| {
        let number = rest.split(')').next().unwrap_or_default();
        number.len() < rest.len()
            && !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_is_told_from_a_column_of_that_name() {
        for hidden in [
            "ALTER ROLE \"(user)\" SET idle_in_transaction_session_timeout = '10min';",
            "SELECT pg_drop_replication_slot('(standby 1)');",
            "ALTER TABLE \"(user)\".t ADD COLUMN c int;",
            "bring the standby (standby 12) back",
        ] {
            assert!(has_stand_in(hidden), "{hidden}");
        }
        for shown in [
            "CREATE INDEX CONCURRENTLY ON public.t (name);",
            "CREATE INDEX CONCURRENTLY ON public.t (address);",
            "SELECT pg_drop_replication_slot('cdc');",
            "make it a (standby or not) and (standby 1",
            "",
        ] {
            assert!(!has_stand_in(shown), "{shown}");
        }
    }

    #[test]
    fn lines_that_name_nobody_are_not_there_to_be_pasted() {
        use dbdyno_model::check::Way;
        use dbdyno_model::{FileLines, Needs};
        let mut step = Step {
            subject: None,
            current: None,
            recommended: None,
            why: None,
            class: None,
            needs: Needs::Remount,
            gives_up: None,
            ways: vec![Way {
                kind: WayKind::Action,
                text: "add noatime to /home/(user)/pg in /etc/fstab".to_owned(),
            }],
            files: vec![FileLines {
                file: "/etc/x".to_owned(),
                lines: vec!["x = 1".to_owned()],
            }],
            commands: vec!["mount -o remount,noatime /home/pg".to_owned()],
            place: None,
            decided_by: None,
        };
        let shown = step.clone();
        mark(&mut step);
        assert_eq!(step, shown);
        step.commands = vec!["mount -o remount,noatime /home/(user)/pg".to_owned()];
        mark(&mut step);
        assert!(!step.can_be_pasted());
        assert!(step.ways[0].text.starts_with(SHOWN_BY));
    }

    #[test]
    fn a_grant_to_nobody_is_a_comment() {
        let hidden = grant("GRANT pg_monitor TO (user);".to_owned());
        assert_eq!(
            hidden,
            "-- with --with-names, which shows the name: GRANT pg_monitor TO (user);"
        );
        let shown = "GRANT pg_monitor TO \"My role\";".to_owned();
        assert_eq!(grant(shown.clone()), shown);
    }
}
