//! What the server has for everyone, where our role, database or connection has a value of its own.

use std::collections::BTreeMap;

use ::postgres::{Client, Error};
use dbdyno_model::Fact;
use dbdyno_model::postgres::{Instead, Setting};

use super::error::CollectError;
use super::files;
use super::reader::{Reader, Subject};

type Settings = BTreeMap<String, Setting>;

const EVERYONE: Subject = Subject::new("postgres.overridden", "pg_db_role_setting");
const LINES: Subject =
    Subject::new("postgres.overridden", "pg_file_settings").granted_by(files::SUBJECT.grant());
const COMMAND_LINE: Subject = Subject::new("postgres.overridden", "postmaster.opts");

/// What each connection of ours has, and what no server has for everyone.
const OWN: [&str; 5] = [
    "application_name",
    "client_encoding",
    "transaction_deferrable",
    "transaction_isolation",
    "transaction_read_only",
];

/// What a server that sets nothing takes from its surroundings.
const DERIVED: [&str; 3] = ["DateStyle", "max_stack_depth", "timezone_abbreviations"];

/// Where a server's own values stand; none is what could not be read.
#[derive(Debug)]
struct Places {
    /// `name=value` of ALTER ROLE ALL.
    everyone: Option<Vec<String>>,
    /// By name in lower case: the lines that count.
    lines: Option<BTreeMap<String, Line>>,
    command_line: Option<String>,
}

#[derive(Debug, Clone)]
struct Line {
    value: String,
    file: Option<String>,
    line: Option<u32>,
}

/// Puts the server's own values in the place of those that only sessions like ours have, as far as it
/// tells them.
pub(super) fn fill(
    reader: &mut Reader<'_>,
    settings: Fact<Settings>,
) -> Result<Fact<Settings>, CollectError> {
    let names: Vec<String> = settings
        .value()
        .into_iter()
        .flatten()
        .filter(|(name, setting)| setting.is_of_session() && !OWN.contains(&name.as_str()))
        .map(|(name, _)| name.clone())
        .collect();
    if names.is_empty() {
        return Ok(settings);
    }
    let wanted: Vec<String> = names.iter().map(|name| name.to_ascii_lowercase()).collect();
    let everyone = reader.read(&EVERYONE, read_everyone)?;
    let lines = reader.read(&LINES, |client, _| read_lines(client, &wanted))?;
    let command_line = reader.read(&COMMAND_LINE, read_command_line)?;
    let places = Places {
        everyone: everyone.value().cloned(),
        lines: lines.value().cloned(),
        command_line: command_line.value().cloned().flatten(),
    };
    Ok(settings.map(|mut settings| {
        place(&mut settings, &names, &places);
        settings
    }))
}

fn read_everyone(client: &mut Client, _version: u32) -> Result<Vec<String>, Error> {
    const SQL: &str = "SELECT unnest(setconfig) FROM pg_db_role_setting \
         WHERE setdatabase = 0 AND setrole = 0";
    let rows = client.query(SQL, &[])?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

fn read_lines(client: &mut Client, names: &[String]) -> Result<BTreeMap<String, Line>, Error> {
    const SQL: &str = "SELECT lower(name), coalesce(setting, ''), sourcefile, sourceline \
         FROM pg_file_settings WHERE applied AND lower(name) = ANY ($1::text[])";
    let rows = client.query(SQL, &[&names])?;
    rows.iter()
        .map(|row| {
            let line: Option<i32> = row.try_get(3)?;
            let found = Line {
                value: row.try_get(1)?,
                file: row.try_get(2)?,
                line: line.and_then(|line| u32::try_from(line).ok()),
            };
            Ok((row.try_get(0)?, found))
        })
        .collect()
}

/// None for who is no superuser: no grant is named, since it would open other files, too.
fn read_command_line(client: &mut Client, _version: u32) -> Result<Option<String>, Error> {
    const SUPERUSER: &str = "SELECT current_setting('is_superuser') = 'on'";
    const SQL: &str = "SELECT pg_read_file('postmaster.opts', 0, 65536, true)";
    let is_superuser: bool = client.query_one(SUPERUSER, &[])?.try_get(0)?;
    if !is_superuser {
        return Ok(None);
    }
    client.query_one(SQL, &[])?.try_get(0)
}

fn place(settings: &mut Settings, names: &[String], places: &Places) {
    let has_options = settings
        .values()
        .any(|setting| setting.source == "command line");
    for name in names {
        if let Some(setting) = settings.get_mut(name)
            && let Some(own) = of_server(name, setting, places, has_options)
        {
            *setting = own;
        }
    }
}

/// The setting as the server has it for everyone; none where something that could set it was not read.
fn of_server(name: &str, setting: &Setting, places: &Places, has_options: bool) -> Option<Setting> {
    let with = |value: String, source: &str| Setting {
        value,
        source: source.to_owned(),
        source_file: None,
        source_line: None,
        instead: Some(Instead {
            value: setting.value.clone(),
            source: setting.source.clone(),
        }),
        ..setting.clone()
    };
    let of_everyone = places.everyone.as_ref()?.iter().find_map(|text| {
        let (its_name, value) = text.split_once('=')?;
        its_name.eq_ignore_ascii_case(name).then_some(value)
    });
    if let Some(value) = of_everyone {
        return Some(with(setting.shown_for(value)?, "global"));
    }
    let may_be_option = match &places.command_line {
        Some(text) => may_set(text, name),
        None => has_options,
    };
    if may_be_option {
        return None;
    }
    match places.lines.as_ref()?.get(&name.to_ascii_lowercase()) {
        Some(line) => Some(Setting {
            source_file: line.file.clone(),
            source_line: line.line,
            ..with(setting.shown_for(&line.value)?, "configuration file")
        }),
        None if places.command_line.is_some() && !DERIVED.contains(&name) => {
            Some(with(setting.boot_value.clone()?, "default"))
        }
        None => None,
    }
}

/// Whether the command line that the server was started with may set it: by its name, in which dashes
/// stand for underscores, or by one of the letters that stand for some settings.
fn may_set(command_line: &str, name: &str) -> bool {
    const LETTERS: &str = "FOPSWdefost";
    let words = command_line.to_ascii_lowercase().replace('-', "_");
    let is_named = words.contains(&name.to_ascii_lowercase());
    // Each argument stands in quotes behind the program.
    let mut arguments = command_line.split('"').skip(1).step_by(2);
    let has_letter = arguments.any(|argument| {
        let letters = argument.strip_prefix('-').unwrap_or_default();
        letters.starts_with(|letter: char| LETTERS.contains(letter))
    });
    is_named || has_letter
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTED: &str = "/usr/bin/postgres \"-D\" \"/data\" \"-c\" \"max-connections=20\"\n";

    fn overridden() -> Setting {
        Setting {
            value: "1048576".into(),
            unit: Some("kB".into()),
            vartype: "integer".into(),
            source: "user".into(),
            boot_value: Some("4096".into()),
            ..Setting::default()
        }
    }

    fn in_file(value: &str) -> Places {
        let line = Line {
            value: value.into(),
            file: Some("/data/postgresql.conf".into()),
            line: Some(7),
        };
        Places {
            everyone: Some(Vec::new()),
            lines: Some(BTreeMap::from([("work_mem".to_owned(), line)])),
            command_line: Some(STARTED.into()),
        }
    }

    fn found(places: &Places, has_options: bool) -> Option<Setting> {
        of_server("work_mem", &overridden(), places, has_options)
    }

    #[test]
    fn the_line_that_counts_is_the_server_s_value() {
        let setting = found(&in_file("16MB"), true).unwrap();
        assert_eq!(
            (setting.value.as_str(), setting.source.as_str()),
            ("16384", "configuration file")
        );
        assert_eq!(setting.source_line, Some(7));
        let instead = setting.instead.unwrap();
        assert_eq!(
            (instead.value.as_str(), instead.source.as_str()),
            ("1048576", "user")
        );
        assert_eq!(found(&in_file("much"), true), None);
    }

    #[test]
    fn what_nothing_sets_is_as_compiled_where_that_is_known() {
        let mut places = Places {
            lines: Some(BTreeMap::new()),
            ..in_file("16MB")
        };
        let setting = found(&places, true).unwrap();
        assert_eq!(
            (setting.value.as_str(), setting.source.as_str()),
            ("4096", "default")
        );
        places.command_line = None;
        assert_eq!(found(&places, false), None);
        places.lines = None;
        assert_eq!(found(&places, false), None);
    }

    #[test]
    fn what_wins_over_the_files_is_not_passed_over() {
        let mut places = in_file("16MB");
        places.everyone = Some(vec!["Work_mem=32MB".into()]);
        let setting = found(&places, true).unwrap();
        assert_eq!(
            (setting.value.as_str(), setting.source.as_str()),
            ("32768", "global")
        );
        places.everyone = None;
        assert_eq!(found(&places, false), None);

        for started in [
            "postgres \"--work-mem=64MB\"\n",
            "postgres \"-c\" \"Work_Mem=64MB\"\n",
            "postgres \"-S\" \"65536\"\n",
        ] {
            places = in_file("16MB");
            places.command_line = Some(started.into());
            assert_eq!(found(&places, true), None, "{started}");
        }
        // A role that may not read it trusts the file where nothing else came by the command line.
        places.command_line = None;
        assert_eq!(found(&places, true), None);
        assert!(found(&places, false).is_some());
    }
}
