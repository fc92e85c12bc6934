//! The tables that autovacuum takes up next, whether or not a rule has anything to say of them.

use dbdyno_model::Facts;
use dbdyno_model::check::NextVacuum;
use dbdyno_model::postgres::{Postgres, ReplicationRole, Table};

use super::schedule::schedule;
use super::tables;

/// Tables that are told.
const TOLD: usize = 10;

/// The soonest first; empty on a standby, or where autovacuum is off. None where that was not read.
pub fn next_vacuums(facts: &Facts) -> Option<Vec<NextVacuum>> {
    let server = facts.postgres.as_ref()?;
    let is_primary = server.role.get()? == ReplicationRole::Primary;
    if !is_primary || !server.is_on("autovacuum")? {
        return Some(Vec::new());
    }
    Some(among(server, server.tables.value()?))
}

fn among(server: &Postgres, listed: &[Table]) -> Vec<NextVacuum> {
    let mut next: Vec<NextVacuum> = listed
        .iter()
        .filter(|table| tables::is_taken_up(table))
        .filter_map(|table| {
            let schedule = schedule(server, table).ok()?;
            let due = schedule.due?;
            Some(NextVacuum {
                table: tables::name(table),
                due_in_s: due.in_s,
                due_for: due.rows,
                threshold_rows: due.threshold,
                dead_rows: table.dead_tuples,
                dead_rows_per_s: schedule.dead_per_s,
                inserted_rows: table.inserted_since_vacuum,
            })
        })
        .collect();
    next.sort_by(|a, b| {
        a.due_in_s
            .total_cmp(&b.due_in_s)
            .then_with(|| a.table.cmp(&b.table))
    });
    next.truncate(TOLD);
    next
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{healthy, postgres, set, with_statistics_of_days};
    use dbdyno_model::Fact;
    use dbdyno_model::check::DueFor;

    fn table(name: &str, dead: u64, options: &[&str]) -> Table {
        Table {
            schema: "public".into(),
            name: name.into(),
            rows_estimate: Some(1_000_000.0),
            dead_tuples: dead,
            since_vacuum_s: Some(1000.0),
            options: options.iter().map(|option| (*option).into()).collect(),
            ..Table::default()
        }
    }

    #[test]
    fn tables_without_a_finding_are_told_the_soonest_first() {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 2.0);
        let mut all = vec![
            table("quiet", 0, &[]),
            table("off", 100_025, &["autovacuum_enabled=false"]),
            table("half", 100_025, &[]),
            table("due", 300_000, &[]),
        ];
        all.extend((0..20).map(|number| table(&format!("slow{number:02}"), 1000, &[])));
        postgres(&mut facts).tables = Fact::known(all, "pg_class");
        let next = next_vacuums(&facts).unwrap();
        assert_eq!(next.len(), TOLD);
        assert_eq!(
            (next[0].table.as_str(), next[0].due_in_s),
            ("public.due", 0.0)
        );
        assert_eq!(next[1].table, "public.half");
        assert!((next[1].due_in_s - 1000.0).abs() < 1e-6, "{:?}", next[1]);
        assert_eq!(next[1].dead_rows_per_s, Some(100.025));
        assert_eq!(next[2].table, "public.slow00");

        set(&mut facts, "autovacuum", "off");
        assert_eq!(next_vacuums(&facts), Some(Vec::new()));
        set(&mut facts, "autovacuum", "on");
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        assert_eq!(next_vacuums(&facts), Some(Vec::new()));
    }

    #[test]
    fn what_makes_a_table_due_is_named() {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 2.0);
        let mut log = table("log", 1000, &[]);
        log.inserted_since_vacuum = Some(100_500);
        postgres(&mut facts).tables = Fact::known(vec![log], "pg_class");
        let next = next_vacuums(&facts).unwrap();
        assert_eq!(next[0].due_for, DueFor::InsertedRows);
        assert!((next[0].threshold_rows - 201_000.0).abs() < 1e-6);
        assert_eq!(next[0].inserted_rows, Some(100_500));
    }

    #[test]
    fn what_was_not_read_is_no_empty_list() {
        let mut facts = healthy();
        postgres(&mut facts).tables = Fact::known(Vec::new(), "pg_class");
        assert_eq!(next_vacuums(&facts), Some(Vec::new()));
        postgres(&mut facts).tables = Fact::default();
        assert_eq!(next_vacuums(&facts), None);
        facts.postgres = None;
        assert_eq!(next_vacuums(&facts), None);
    }
}
