//! Sequences and integer columns that are about to run out of values.
//!
//! ## What it finds
//! A sequence of which more than 70 % is used up, within what its column's type can hold; or one of
//! which more than a quarter is, and that ends within 180 days at the rate at which rows were
//! inserted since the statistics were reset. From 90 %, or from 70 % where the rest lasts for less
//! than 30 days, it is critical.
//!
//! ## Why it matters
//! After the last value every insert fails: with `nextval: reached maximum value`, or `integer out
//! of range` where the column is narrower than its sequence.
//!
//! ## What to do
//! Where only the sequence is narrow, `ALTER SEQUENCE … AS bigint` is done at once. A narrow column
//! has to become a `bigint`, and so do the foreign keys that refer to it: a new column filled in
//! batches by a trigger and swapped in, since `ALTER COLUMN … TYPE` rewrites the table under a
//! lock. The sequence of a `serial` stays as narrow as it was, and is widened after its column.
//!
//! ## Risk
//! Programs that keep the value in 32 bits fail on larger ones.
//!
//! ## When it does not apply
//! Sequences that start over. Standbys, on which nothing is to be altered. Columns whose values come
//! from elsewhere are not seen: nothing but the table itself says how far they are. A restore inserts
//! years of rows in an hour: until the statistics are older than that hour by far, the rate is too
//! high, and so it is not looked at before a quarter is used up, and makes nothing critical alone.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/datatype-numeric.html#DATATYPE-SERIAL>
//! - <https://www.postgresql.org/docs/current/sql-altersequence.html>

use dbdyno_model::finding::{Confidence, Statement};
use dbdyno_model::postgres::{Sequence, Sequences};
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, need_ref, server, settle};
use crate::scope::{
    DAY_S, LISTED, ScopeExt, database, humane_count, humane_time, on_primary, primary_age_s,
};
use crate::sql::{CostExt, StatementExt, identifier, qualified, statement};

pub(super) const RULE: Rule = Rule {
    id: "schema.integer_exhaustion",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/datatype-numeric.html#DATATYPE-SERIAL",
        "https://www.postgresql.org/docs/current/sql-altersequence.html",
    ],
    check,
    source_text: include_str!("integer_exhaustion.rs"),
};

const MUCH_SHARE: f64 = 0.7;

/// Until then rows that a restore brought would pass for a rate; who uses that much in ten days has
/// thirty more.
const NOTABLE_SHARE: f64 = 0.25;
const NEARLY_ALL_SHARE: f64 = 0.9;
const SOON_S: f64 = 180.0 * DAY_S;
const VERY_SOON_S: f64 = 30.0 * DAY_S;

/// The rate of less time is that of a load or of a quiet night.
const LEAST_AGE_S: f64 = DAY_S;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// A sequence, how much of it is used, and the seconds that the rest lasts where that is known.
struct Ending<'a> {
    sequence: &'a Sequence,
    used: f64,
    left_s: Option<f64>,
}

impl Ending<'_> {
    fn severity(&self) -> Option<Severity> {
        let within = |seconds: f64| self.left_s.is_some_and(|left| left < seconds);
        let is_much = self.used > MUCH_SHARE;
        if self.used > NEARLY_ALL_SHARE || (is_much && within(VERY_SOON_S)) {
            Some(Severity::Critical)
        } else if is_much || (self.used > NOTABLE_SHARE && within(SOON_S)) {
            Some(Severity::Warn)
        } else {
            None
        }
    }
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    on_primary(postgres, "a sequence")?;
    let sequences = need_ref(&postgres.sequences, "sequences")?;
    let age_s = primary_age_s(postgres).filter(|age_s| *age_s >= LEAST_AGE_S);
    let mut ending: Vec<(Severity, Ending<'_>)> = sequences
        .listed
        .iter()
        .filter_map(|sequence| {
            let ending = ending(sequence, age_s)?;
            Some((ending.severity()?, ending))
        })
        .collect();
    ending.sort_by(|(a_severity, a), (b_severity, b)| {
        b_severity
            .cmp(a_severity)
            .then_with(|| b.used.total_cmp(&a.used))
            .then_with(|| name(a.sequence).cmp(&name(b.sequence)))
    });
    let Some((severity, worst)) = ending.first() else {
        return unread(sequences).map_or(Ok(Outcome::Ok), |why| Err(Outcome::Unknown(why)));
    };
    let origin = &postgres.sequences.origin;
    let mut finding = RULE
        .finding(format!(
            "{} of {} {} out: {} {}",
            plural(ending.len() as u64, "sequence"),
            database(postgres),
            verb(ending.len() as u64, "runs", "run"),
            name(worst.sequence),
            described(worst)
        ))
        .severity(*severity)
        .keeps_running()
        .of_database(postgres);
    for (_, one) in ending.iter().take(LISTED) {
        finding = finding.evidence(name(one.sequence), described(one), origin);
        for statement in widened(one.sequence) {
            finding = finding.statement(statement);
        }
    }
    if let Some(why) = unread(sequences) {
        finding = finding.evidence("not read", why, origin);
    }
    Ok(finding
        .and_more(ending.len().saturating_sub(LISTED), "such sequence", origin)
        .into_outcome())
}

/// None where it never ends, or has not begun.
fn ending(sequence: &Sequence, age_s: Option<f64>) -> Option<Ending<'_>> {
    if sequence.cycles || sequence.limit == 0 || sequence.increment == 0 {
        return None;
    }
    let last = sequence.last_value? as f64;
    let limit = sequence.limit as f64;
    // Values on the other side of zero have the whole way before them.
    let used = (last / limit).max(0.0);
    let column = sequence.column.as_ref();
    // Rows that brought their values with them took none.
    let taken = (last / sequence.increment as f64).max(0.0);
    let per_s = column
        .zip(age_s)
        .map(|(column, age_s)| taken.min(column.inserted as f64) / age_s)
        .filter(|per_s| *per_s > 0.0);
    let steps_left = ((limit - last) / sequence.increment as f64).max(0.0);
    Some(Ending {
        sequence,
        used,
        left_s: per_s.map(|per_s| steps_left / per_s),
    })
}

fn described(ending: &Ending<'_>) -> String {
    let sequence = ending.sequence;
    let filled = sequence.column.as_ref().map_or(String::new(), |column| {
        format!(
            " for {}.{} ({})",
            qualified(&column.schema, &column.table),
            identifier(&column.column),
            column.data_type
        )
    });
    let left = ending.left_s.map_or(String::new(), |left| {
        format!(", enough for {} of inserts", humane_time(left))
    });
    format!(
        "is at {:.0} % of {}{filled}{left}",
        ending.used * 100.0,
        humane_count(sequence.limit.unsigned_abs() as f64)
    )
}

fn widened(sequence: &Sequence) -> Vec<Statement> {
    let end = if sequence.increment < 0 {
        "NO MINVALUE"
    } else {
        "NO MAXVALUE"
    };
    let wide_sequence = format!("ALTER SEQUENCE {} AS bigint {end}", name(sequence));
    let column = sequence
        .column
        .as_ref()
        .filter(|column| matches!(column.data_type.as_str(), "smallint" | "integer"));
    let Some(column) = column else {
        let why = "no column that it is known to fill is narrower";
        return vec![statement(wide_sequence, why)];
    };
    let wide_column = statement(
        format!(
            "ALTER TABLE {} ALTER COLUMN {} TYPE bigint",
            qualified(&column.schema, &column.table),
            identifier(&column.column)
        ),
        "plan it, with every column that refers to it; by a new column, in batches, where the table is large",
    )
    .costing("as it stands it rewrites the table, which nobody can use meanwhile")
    .needing(Needs::Migration);
    let mut statements = vec![wide_column];
    if sequence.data_type != "bigint" {
        let why = "after its column: only an identity column's sequence follows by itself";
        statements.push(statement(wide_sequence, why));
    }
    statements
}

/// What was not looked at, and why; sequences beyond 32 bits need no look.
fn unread(sequences: &Sequences) -> Option<String> {
    let mut parts = Vec::new();
    if sequences.unreadable > 0 {
        parts.push(format!(
            "{} locked, or not readable by the role (GRANT SELECT ON SEQUENCE)",
            plural(sequences.unreadable, "sequence")
        ));
    }
    if sequences.left_out > 0 {
        parts.push(format!(
            "{} of the tables with the fewest rows",
            plural(sequences.left_out, "sequence")
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn name(sequence: &Sequence) -> String {
    qualified(&sequence.schema, &sequence.name)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        finding, healthy, not_applicable, ok, postgres, unknown, with_statistics_of_days,
    };
    use dbdyno_model::postgres::{ReplicationRole, Sequence, SequenceColumn, Sequences};
    use dbdyno_model::{Fact, Facts, Needs, Severity};

    fn sequence(last: i64, column_type: &str, inserted: u64) -> Sequence {
        Sequence {
            schema: "public".into(),
            name: "Orders_id_seq".into(),
            data_type: "integer".into(),
            last_value: Some(last),
            increment: 1,
            limit: 2_147_483_647,
            cycles: false,
            column: Some(SequenceColumn {
                schema: "public".into(),
                table: "Orders".into(),
                column: "id".into(),
                data_type: column_type.into(),
                inserted,
            }),
        }
    }

    fn with(listed: Vec<Sequence>) -> Facts {
        let mut facts = healthy();
        let sequences = Sequences {
            sequences: listed.len() as u64,
            listed,
            ..Sequences::default()
        };
        postgres(&mut facts).sequences = Fact::known(sequences, "pg_sequence");
        facts
    }

    #[test]
    fn an_integer_column_near_its_end_is_critical_and_takes_a_migration() {
        let found = finding(&RULE, &with(vec![sequence(2_000_000_000, "integer", 0)]));
        insta::assert_snapshot!(found.message, @r#"1 sequence of database postgres runs out: public."Orders_id_seq" is at 93 % of 2.1 thousand million for public."Orders".id (integer)"#);
        assert_eq!(found.severity, Severity::Critical);
        assert_eq!(
            found.statements[0].sql,
            "ALTER TABLE public.\"Orders\" ALTER COLUMN id TYPE bigint"
        );
        assert_eq!(found.statements[0].needs, Needs::Migration);
        assert_eq!(
            found.statements[1].sql,
            "ALTER SEQUENCE public.\"Orders_id_seq\" AS bigint NO MAXVALUE"
        );
        let found = finding(&RULE, &with(vec![sequence(1_600_000_000, "integer", 0)]));
        assert_eq!(found.severity, Severity::Warn);
    }

    #[test]
    fn a_narrow_sequence_of_a_wide_column_is_widened_at_once() {
        let found = finding(&RULE, &with(vec![sequence(2_000_000_000, "bigint", 0)]));
        assert_eq!(
            found.statements[0].sql,
            "ALTER SEQUENCE public.\"Orders_id_seq\" AS bigint NO MAXVALUE"
        );
        assert_eq!(found.statements[0].needs, Needs::Online);
    }

    #[test]
    fn the_rate_of_inserts_tells_the_end_where_the_statistics_are_old_enough() {
        // 864 million a day, of 2,147 million.
        let mut facts = with(vec![sequence(1_200_000_000, "integer", 864_000_000)]);
        ok(&RULE, &facts);
        with_statistics_of_days(&mut facts, 1.0);
        let found = finding(&RULE, &facts);
        assert_eq!(found.severity, Severity::Warn);
        insta::assert_snapshot!(found.evidence[1].value, @r#"is at 56 % of 2.1 thousand million for public."Orders".id (integer), enough for 26.3 hours of inserts"#);
        with_statistics_of_days(&mut facts, 1000.0);
        ok(&RULE, &facts);
        let mut facts = with(vec![sequence(1_600_000_000, "integer", 864_000_000)]);
        with_statistics_of_days(&mut facts, 1.0);
        assert_eq!(finding(&RULE, &facts).severity, Severity::Critical);
    }

    #[test]
    fn what_a_restore_inserted_is_no_rate() {
        // 400 million rows of years, restored the day before.
        let mut facts = with(vec![sequence(400_000_000, "integer", 400_000_000)]);
        with_statistics_of_days(&mut facts, 1.0);
        ok(&RULE, &facts);
        // Rows that came with values of their own: the sequence gave fewer in all its days.
        let mut facts = with(vec![sequence(600_000_000, "integer", 9_000_000_000)]);
        with_statistics_of_days(&mut facts, 1000.0);
        ok(&RULE, &facts);
    }

    #[test]
    fn a_descending_sequence_ends_below() {
        let mut down = sequence(-2_000_000_000, "integer", 0);
        down.increment = -1;
        down.limit = -2_147_483_648;
        assert_eq!(
            finding(&RULE, &with(vec![down])).severity,
            Severity::Critical
        );
    }

    #[test]
    fn young_unused_and_cycling_sequences_are_fine() {
        ok(&RULE, &with(vec![sequence(5, "integer", 0)]));
        let mut unused = sequence(5, "integer", 0);
        unused.last_value = None;
        let mut cycling = sequence(2_147_483_640, "integer", 0);
        cycling.cycles = true;
        ok(&RULE, &with(vec![unused, cycling]));
    }

    #[test]
    fn a_standby_is_not_applicable() {
        let mut facts = with(vec![sequence(2_000_000_000, "integer", 0)]);
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn what_was_not_read_is_never_passed() {
        unknown(&RULE, &healthy());
        let change: [fn(&mut Sequences); 2] = [|all| all.unreadable = 3, |all| all.left_out = 3];
        for change in change {
            let mut facts = with(vec![sequence(5, "integer", 0)]);
            let server = postgres(&mut facts);
            server.sequences = server.sequences.clone().map(|mut sequences| {
                change(&mut sequences);
                sequences
            });
            assert!(unknown(&RULE, &facts).starts_with("3 sequences "));
        }
    }
}
