//! PostgreSQL's releases as far as this catalogue knows them.

use dbdyno_model::Outcome;
use dbdyno_model::postgres::Postgres;

/// A major version with its newest minor release and the day of its last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    pub major: u32,
    /// There may be a newer one, of which nothing is said.
    pub newest_minor: u32,
    /// The day of which that is known: its release, a package of it, or when somebody looked; none where
    /// nobody noted it.
    pub known_on: Option<&'static str>,
    /// `2027-11-11`: after it, nothing is mended.
    pub end_of_life: &'static str,
}

/// Source: <https://www.postgresql.org/support/versioning/>; for 13.23, the last of its kind, its
/// announcement; for 15.20 Debian's security archive; for 16.16, 17.12 and 18.7 the packages that Alpine 3.24
/// built of them, by <https://pkgs.alpinelinux.org/package/v3.24/main/aarch64/postgresql18-openrc> and the like
pub const RELEASES: [Release; 6] = [
    release(13, 23, Some("2025-11-13"), "2025-11-13"),
    release(14, 24, None, "2026-11-12"),
    release(15, 20, Some("2026-11-22"), "2027-11-11"),
    release(16, 16, Some("2026-11-12"), "2028-11-09"),
    release(17, 12, Some("2026-11-12"), "2029-11-08"),
    release(18, 7, Some("2026-11-12"), "2030-11-14"),
];

const fn release(
    major: u32,
    newest_minor: u32,
    known_on: Option<&'static str>,
    end_of_life: &'static str,
) -> Release {
    Release {
        major,
        newest_minor,
        known_on,
        end_of_life,
    }
}

/// The server's release, or the outcome for one that is not known.
pub(super) fn of(postgres: &Postgres) -> Result<Release, Outcome> {
    let major = known_major(postgres)?;
    let found = RELEASES.iter().find(|release| release.major == major);
    found.copied().ok_or_else(|| {
        Outcome::Unknown(format!(
            "releases of PostgreSQL {major}: this catalogue does not know them"
        ))
    })
}

/// Stops a check on servers that do not have what it looks at.
pub(crate) fn since(postgres: &Postgres, major: u32, what: &str) -> Result<(), Outcome> {
    if known_major(postgres)? < major {
        return Err(Outcome::NotApplicable(format!(
            "{what} came with PostgreSQL {major}"
        )));
    }
    Ok(())
}

fn known_major(postgres: &Postgres) -> Result<u32, Outcome> {
    match postgres.major() {
        0 => Err(Outcome::Unknown("version: not read".to_owned())),
        major => Ok(major),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_in_order_and_each_lives_longer_than_the_one_before() {
        for pair in RELEASES.windows(2) {
            assert_eq!(pair[0].major + 1, pair[1].major);
            assert!(pair[0].end_of_life < pair[1].end_of_life);
        }
    }

    #[test]
    fn a_row_says_of_which_day_it_is_or_nothing() {
        let days: Vec<&str> = RELEASES.iter().filter_map(|row| row.known_on).collect();
        assert!(!days.is_empty());
        for day in days {
            let parts: Vec<&str> = day.split('-').collect();
            let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
            assert_eq!(lengths, [4, 2, 2], "{day}");
            assert!(parts.iter().all(|part| part.parse::<u32>().is_ok()));
        }
    }

    #[test]
    fn an_unread_version_is_unknown_and_not_old() {
        let unread = Postgres::default();
        assert!(matches!(since(&unread, 14, "it"), Err(Outcome::Unknown(_))));
        let thirteen = Postgres {
            version_num: 130_023,
            ..Postgres::default()
        };
        assert_eq!(
            since(&thirteen, 14, "pg_stat_wal"),
            Err(Outcome::NotApplicable(
                "pg_stat_wal came with PostgreSQL 14".to_owned()
            ))
        );
        assert_eq!(since(&thirteen, 13, "it"), Ok(()));
    }
}
