//! A planner that takes solid-state storage for turning disks.
//!
//! ## What it finds
//! `random_page_cost` at 4 or more while no disk under the data turns; the same of a tablespace, and a
//! lower cost of one whose disks do turn.
//!
//! ## Why it matters
//! At 4, the planner believes that fetching a page by index costs four times as much as reading the
//! next one. On solid-state storage it costs about the same, and plans read whole tables where an
//! index would do.
//!
//! ## What to do
//! Set `random_page_cost` to 1.1, and compare the plans of the most frequent queries. Where
//! tablespaces lie on different media, set it per tablespace with `ALTER TABLESPACE`.
//!
//! ## Risk
//! None to data. Plans move towards indexes.
//!
//! ## When it does not apply
//! Turning disks; storage that does not say what it is, and virtual disks that say they turn: so does
//! any disk that a hypervisor gives to its guests unless it is told otherwise. Where tablespaces or
//! their medium were not read, it passes nothing.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-query.html>
//! - <https://www.postgresql.org/docs/current/sql-altertablespace.html>

use dbdyno_model::finding::{Confidence, Statement};
use dbdyno_model::postgres::{Postgres, ReplicationRole, Tablespace};
use dbdyno_model::{Facts, Outcome, Severity};

use super::machine::{rotational, turns};
use super::settings::{self, SettingEvidence, value};
use crate::rule::{
    FindingExt, RecommendationExt, Rule, host, humane_number, need, need_ref, safe, server, settle,
};
use crate::sql::{StatementExt, identifier, statement};

pub(super) const RULE: Rule = Rule {
    id: "postgres.random_page_cost",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-query.html",
        "https://www.postgresql.org/docs/current/sql-altertablespace.html",
    ],
    check,
    source_text: include_str!("random_page_cost.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const DEFAULT: f64 = 4.0;

/// What is asked for where no disk turns.
const SOLID_STATE: f64 = 1.1;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = settings::number(postgres, "random_page_cost")?;
    let rotational_fact = rotational(facts);
    let is_wrong = now >= DEFAULT && !need(&rotational_fact, "medium under the data")?;
    let (tablespaces, unread) =
        tablespaces(facts, postgres, if is_wrong { SOLID_STATE } else { now });
    let mut finding = if is_wrong {
        RULE.finding(format!(
            "random_page_cost is {now}, but no disk under the data turns"
        ))
        .shows(postgres, "random_page_cost")
        .evidence("rotational", "0", rotational_fact.origin)
        .recommend(
            safe(
                "random_page_cost",
                value("1.1"),
                "reading any page costs about as much as reading the next one",
            )
            .giving_up("plans as they are: some queries get another one"),
        )
    } else {
        let Some(first) = tablespaces.first() else {
            return unread.map_or(Ok(Outcome::Ok), Err);
        };
        RULE.finding(first.message.clone())
            .shows(postgres, "random_page_cost")
    };
    for one in tablespaces {
        finding = finding
            .evidence(
                format!("tablespace {}", one.name),
                one.message,
                "pg_tablespace",
            )
            .statement(one.sql);
    }
    Ok(finding.into_outcome())
}

/// A tablespace whose cost is not that of its disks.
struct Mispriced {
    name: String,
    message: String,
    sql: Statement,
}

/// Those of which the medium is known, and what was not read of the others; what the owner set for
/// turning disks is kept.
fn tablespaces(
    facts: &Facts,
    postgres: &Postgres,
    servers_cost: f64,
) -> (Vec<Mispriced>, Option<Outcome>) {
    let mut found = Vec::new();
    let all = match of_primary(postgres) {
        Ok(all) => all,
        Err(why) => return (found, Some(why)),
    };
    let mut unread = None;
    for one in all {
        let own = one
            .option("random_page_cost")
            .and_then(|cost| cost.parse::<f64>().ok());
        let cost = own.unwrap_or(servers_cost);
        if own.is_some() && cost < DEFAULT {
            continue;
        }
        let is_turning = match medium(facts, one) {
            Ok(is_turning) => is_turning,
            Err(why) => {
                unread = unread.or(Some(why));
                continue;
            }
        };
        let (wanted, medium) = if !is_turning && cost >= DEFAULT {
            (SOLID_STATE, "no disk under it turns")
        } else if is_turning && cost < DEFAULT {
            (DEFAULT, "its disks turn")
        } else {
            continue;
        };
        let name = identifier(&one.name);
        found.push(Mispriced {
            message: format!(
                "random_page_cost is {} for the tablespace {name}, but {medium}",
                humane_number(cost)
            ),
            sql: statement(
                format!("ALTER TABLESPACE {name} SET (random_page_cost = {wanted})"),
                "the planner takes this tablespace for what it lies on",
            ),
            name,
        });
    }
    (found, unread)
}

/// A standby has its primary's costs: no statement can change them there.
fn of_primary(postgres: &Postgres) -> Result<&[Tablespace], Outcome> {
    if need(&postgres.role, "role of the server")? != ReplicationRole::Primary {
        return Ok(&[]);
    }
    let all = need_ref(&postgres.tablespaces, "tablespaces of the server")?;
    Ok(all.as_slice())
}

/// Whether the disks under a tablespace turn.
fn medium(facts: &Facts, tablespace: &Tablespace) -> Result<bool, Outcome> {
    let host = host(facts)?;
    let name = format!(
        "medium under the tablespace {}",
        identifier(&tablespace.name)
    );
    let below = need_ref(&host.tablespaces, &name)?
        .iter()
        .find(|below| below.location == tablespace.location)
        .ok_or_else(|| Outcome::Unknown(format!("{name}: not collected")))?;
    need(&turns(host, &below.storage), &name)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, host, ok, on_bare_metal, postgres, unknown};
    use dbdyno_model::Fact;
    use dbdyno_model::host::TablespaceStorage;
    use dbdyno_model::postgres::Tablespace;

    fn with_medium(rotational: Fact<bool>) -> dbdyno_model::Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        host.data = host.data.clone().map(|mut storage| {
            storage.devices = storage.devices.map(|mut devices| {
                devices[0].rotational = rotational;
                devices
            });
            storage
        });
        facts
    }

    #[test]
    fn the_default_is_found_on_solid_state_storage() {
        insta::assert_snapshot!(finding(&RULE, &healthy()).message, @"random_page_cost is 4, but no disk under the data turns");
    }

    #[test]
    fn turning_disks_and_a_value_of_the_owner_s_are_fine() {
        let mut facts = with_medium(Fact::known(true, "test"));
        // A hypervisor says so of any disk.
        unknown(&RULE, &facts);
        on_bare_metal(&mut facts);
        ok(&RULE, &facts);
        let mut facts = healthy();
        configure(&mut facts, "random_page_cost", "1.1");
        ok(&RULE, &facts);
    }

    /// A tablespace of each medium beside data on solid-state storage.
    fn with_tablespaces(options: &[&str]) -> dbdyno_model::Facts {
        let mut facts = healthy();
        on_bare_metal(&mut facts);
        let data = host(&mut facts).data.clone();
        for (name, is_turning) in [("fast", false), ("Archive", true)] {
            let location = format!("/srv/{name}");
            let storage = data.clone().map(|mut storage| {
                storage.mount_point.clone_from(&location);
                storage.devices = storage.devices.map(|mut devices| {
                    devices[0].rotational = Fact::known(is_turning, "test");
                    devices
                });
                storage
            });
            let below = TablespaceStorage {
                location: location.clone(),
                storage,
            };
            let host = host(&mut facts);
            host.tablespaces = host.tablespaces.clone().map(|mut all| {
                all.push(below);
                all
            });
            let tablespace = Tablespace {
                name: name.to_owned(),
                location,
                options: options.iter().map(|option| (*option).to_owned()).collect(),
            };
            let server = postgres(&mut facts);
            let mut all = server.tablespaces.value().cloned().unwrap_or_default();
            all.push(tablespace);
            server.tablespaces = Fact::known(all, "pg_tablespace");
        }
        facts
    }

    #[test]
    fn a_tablespace_on_another_medium_gets_a_cost_of_its_own() {
        let found = finding(&RULE, &with_tablespaces(&[]));
        assert_eq!(found.recommendations.len(), 1);
        let sql: Vec<&str> = found
            .statements
            .iter()
            .map(|one| one.sql.as_str())
            .collect();
        assert_eq!(
            sql,
            ["ALTER TABLESPACE \"Archive\" SET (random_page_cost = 4)"]
        );
        let mut facts = with_tablespaces(&["random_page_cost=4"]);
        configure(&mut facts, "random_page_cost", "1.1");
        let found = finding(&RULE, &facts);
        assert_eq!(found.recommendations, []);
        assert_eq!(
            found.message,
            "random_page_cost is 4 for the tablespace fast, but no disk under it turns"
        );
        assert_eq!(found.statements.len(), 1);
    }

    #[test]
    fn a_tablespace_that_was_not_read_passes_nothing() {
        let mut facts = healthy();
        configure(&mut facts, "random_page_cost", "1.1");
        postgres(&mut facts).tablespaces = Fact::unknown("permission denied", "pg_tablespace");
        assert_eq!(
            unknown(&RULE, &facts),
            "tablespaces of the server: permission denied"
        );
        let mut facts = with_tablespaces(&[]);
        configure(&mut facts, "random_page_cost", "1.1");
        finding(&RULE, &facts);
        host(&mut facts).tablespaces = Fact::unknown("not looked for", "/proc/self/mountinfo");
        assert_eq!(
            unknown(&RULE, &facts),
            "medium under the tablespace fast: not looked for"
        );
        // A low cost of its own is the owner's choice on any medium.
        let mut facts = with_tablespaces(&["random_page_cost=2"]);
        configure(&mut facts, "random_page_cost", "1.1");
        host(&mut facts).tablespaces = Fact::unknown("not looked for", "/proc/self/mountinfo");
        ok(&RULE, &facts);
    }

    #[test]
    fn an_unknown_medium_is_unknown() {
        assert!(unknown(&RULE, &with_medium(Fact::default())).starts_with("medium under the data"));
        let mut facts = healthy();
        facts.host = None;
        unknown(&RULE, &facts);
    }
}
