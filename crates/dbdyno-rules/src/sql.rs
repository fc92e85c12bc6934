//! SQL that a finding hands to whoever owns the database, with names as the server needs them.

use dbdyno_model::finding::Statement;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Class, Finding, Needs};

/// Adds SQL to a finding, in the order in which it is to be run.
pub(crate) trait StatementExt: Sized {
    #[must_use]
    fn statement(self, statement: Statement) -> Self;
}

impl StatementExt for Finding {
    fn statement(mut self, statement: Statement) -> Self {
        self.statements.push(statement);
        self
    }
}

/// A statement that risks no data and keeps nobody waiting.
pub(crate) fn statement(sql: impl Into<String>, why: impl Into<String>) -> Statement {
    Statement {
        sql: sql.into(),
        why: why.into(),
        class: Class::Safe,
        needs: Needs::Online,
        gives_up: None,
    }
}

/// `CREATE INDEX CONCURRENTLY` or `REINDEX … CONCURRENTLY`, with what 14.0 to 14.3 did wrong by it.
///
/// Source: <https://www.postgresql.org/docs/release/14.4/>
pub(crate) fn concurrent_build(
    postgres: &Postgres,
    sql: impl Into<String>,
    why: &str,
) -> Statement {
    if (140_000..140_004).contains(&postgres.version_num) {
        let why = format!("after an update to 14.4, before which the index may miss rows: {why}");
        return statement(sql, why);
    }
    statement(sql, why)
}

/// Says what a statement costs, and what it needs where that is more than to be run.
pub(crate) trait CostExt: Sized {
    #[must_use]
    fn costing(self, what: impl Into<String>) -> Self;
    #[must_use]
    fn needing(self, needs: Needs) -> Self;
}

impl CostExt for Statement {
    fn costing(mut self, what: impl Into<String>) -> Self {
        self.gives_up = Some(what.into());
        self
    }

    fn needing(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }
}

/// `schema.name`, each quoted where SQL needs it.
pub(crate) fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", identifier(schema), identifier(name))
}

pub(crate) fn identifier(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if plain && KEYWORDS.binary_search(&name).is_err() {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// Names of columns as a list.
pub(crate) fn identifiers(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| identifier(name)).collect();
    quoted.join(", ")
}

/// A string constant.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Words that PostgreSQL up to 18 does not take for any name without quotes.
///
/// Source: <https://www.postgresql.org/docs/current/sql-keywords-appendix.html>
const KEYWORDS: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "between",
    "bigint",
    "binary",
    "bit",
    "boolean",
    "both",
    "case",
    "cast",
    "char",
    "character",
    "check",
    "coalesce",
    "collate",
    "collation",
    "column",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "dec",
    "decimal",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "exists",
    "extract",
    "false",
    "fetch",
    "float",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "greatest",
    "group",
    "grouping",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "inout",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "join",
    "json",
    "json_array",
    "json_arrayagg",
    "json_exists",
    "json_object",
    "json_objectagg",
    "json_query",
    "json_scalar",
    "json_serialize",
    "json_table",
    "json_value",
    "lateral",
    "leading",
    "least",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "merge_action",
    "national",
    "natural",
    "nchar",
    "none",
    "normalize",
    "not",
    "notnull",
    "null",
    "nullif",
    "numeric",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "out",
    "outer",
    "overlaps",
    "overlay",
    "placing",
    "position",
    "precision",
    "primary",
    "real",
    "references",
    "returning",
    "right",
    "row",
    "select",
    "session_user",
    "setof",
    "similar",
    "smallint",
    "some",
    "substring",
    "symmetric",
    "system_user",
    "table",
    "tablesample",
    "then",
    "time",
    "timestamp",
    "to",
    "trailing",
    "treat",
    "trim",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "values",
    "varchar",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
    "xmlattributes",
    "xmlconcat",
    "xmlelement",
    "xmlexists",
    "xmlforest",
    "xmlnamespaces",
    "xmlparse",
    "xmlpi",
    "xmlroot",
    "xmlserialize",
    "xmltable",
];

/// No transaction is older, whatever a document says.
const LONGEST_S: f64 = 1e9;

/// Ends the session whose transaction was seen open for that long, and no other that has its number
/// by now.
pub(crate) fn end_transaction(pid: u32, open_s: f64) -> String {
    let seconds = open_s.floor().clamp(0.0, LONGEST_S);
    end_session(
        pid,
        &format!("xact_start <= now() - interval '{seconds:.0} seconds'"),
    )
}

/// Ends a session while a condition on its row of pg_stat_activity holds.
pub(crate) fn end_session(pid: u32, condition: &str) -> String {
    format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = {pid} AND {condition}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_sql_needs_it() {
        assert_eq!(qualified("public", "orders_2"), "public.orders_2");
        assert_eq!(qualified("Sales", "a\"b"), "\"Sales\".\"a\"\"b\"");
        assert_eq!(qualified("public", "order"), "public.\"order\"");
        assert_eq!(identifier("straße"), "\"straße\"");
        assert_eq!(identifier("2nd"), "\"2nd\"");
        let names = ["id".to_owned(), "user".to_owned()];
        assert_eq!(identifiers(&names), "id, \"user\"");
        assert_eq!(literal("it's"), "'it''s'");
    }

    #[test]
    fn the_keywords_can_be_searched() {
        assert!(KEYWORDS.is_sorted());
    }
}
