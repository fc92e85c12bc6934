//! Errors in the configuration files, and lines that another line overrides.

use ::postgres::{Client, Error};

use super::reader::Subject;

pub(super) const SUBJECT: Subject = Subject::new("postgres.files", "pg_file_settings").granted_by(
    "GRANT SELECT ON pg_file_settings TO {role}; \
     GRANT EXECUTE ON FUNCTION pg_show_all_file_settings() TO {role}",
);

/// One line of a file; values are left out, since some hold secrets.
struct Line {
    place: String,
    name: Option<String>,
    applied: bool,
    error: Option<String>,
}

pub(super) fn read(client: &mut Client, _version: u32) -> Result<Vec<String>, Error> {
    const SQL: &str = "SELECT coalesce(sourcefile, '?') || ':' || coalesce(sourceline, 0), \
         name, applied, error FROM pg_file_settings ORDER BY seqno";
    let rows = client.query(SQL, &[])?;
    let lines = rows
        .iter()
        .map(|row| {
            Ok(Line {
                place: row.try_get(0)?,
                name: row.try_get(1)?,
                applied: row.try_get(2)?,
                error: row.try_get(3)?,
            })
        })
        .collect::<Result<Vec<Line>, Error>>()?;
    Ok(parse(&lines))
}

fn parse(lines: &[Line]) -> Vec<String> {
    lines
        .iter()
        .enumerate()
        .filter_map(|(index, line)| {
            let name = line.name.as_deref().unwrap_or("syntax");
            let place = &line.place;
            if let Some(error) = &line.error {
                return Some(format!("{place}: {name}: {error}"));
            }
            // The last line with a name wins.
            let winner = lines[index + 1..]
                .iter()
                .rfind(|later| later.name.is_some() && later.name == line.name)?;
            (!line.applied).then(|| format!("{place}: {name} is overridden by {}", winner.place))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(place: &str, name: &str, applied: bool, error: Option<&str>) -> Line {
        Line {
            place: place.into(),
            name: Some(name.into()),
            applied,
            error: error.map(str::to_owned),
        }
    }

    #[test]
    fn an_error_and_a_shadowed_line_are_told_and_a_good_line_is_not() {
        let lines = [
            line("a.conf:1", "work_mem", false, None),
            line("a.conf:2", "port", true, None),
            line("a.conf:3", "nosuch", false, Some("unrecognized")),
            line("auto.conf:1", "work_mem", true, None),
        ];
        assert_eq!(
            parse(&lines),
            [
                "a.conf:1: work_mem is overridden by auto.conf:1",
                "a.conf:3: nosuch: unrecognized"
            ]
        );
    }
}
