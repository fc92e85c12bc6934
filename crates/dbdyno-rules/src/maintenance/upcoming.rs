//! The tables that autovacuum takes up next, whether or not a rule has anything to say of them.

use dbdyno_model::Facts;
use dbdyno_model::check::NextVacuum;
use dbdyno_model::postgres::{ReplicationRole, Table};

use super::schedule::schedule;
use super::tables;

/// Tables that are told.
const TOLD: usize = 10;

/// The soonest first; none on a standby, or where autovacuum is off.
pub fn next_vacuums(facts: &Facts) -> Vec<NextVacuum> {
    let Some(server) = &facts.postgres else {
        return Vec::new();
    };
    let is_at_work = server.role.get() == Some(ReplicationRole::Primary)
        && server.is_on("autovacuum") == Some(true);
    let is_taken_up = |table: &&Table| {
        tables::option(table, "autovacuum_enabled")
            .is_none_or(|value| !super::autovacuum::is_off(value))
    };
    let listed = server.tables.value().into_iter().flatten();
    let mut next: Vec<NextVacuum> = listed
        .filter(|_| is_at_work)
        .filter(is_taken_up)
        .filter_map(|table| {
            let schedule = schedule(server, table).ok()?;
            Some(NextVacuum {
                table: tables::name(table),
                due_in_s: schedule.due_in_s?,
                dead_rows: table.dead_tuples,
                threshold_rows: schedule.threshold,
                dead_rows_per_s: schedule.dead_per_s,
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
        let next = next_vacuums(&facts);
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
        assert_eq!(next_vacuums(&facts), []);
        set(&mut facts, "autovacuum", "on");
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        assert_eq!(next_vacuums(&facts), []);
    }
}
