//! Amazon Aurora keeps log, checkpoints and pages in its own storage.
//!
//! ## What it finds
//! A server of Amazon Aurora.
//!
//! ## Why it matters
//! Aurora's storage applies the log to pages itself: there are no checkpoints by the server, no full
//! pages in its log, no files that fill, and no page cache below it. Its shared_buffers are half to
//! three quarters of the memory by design. Advice for PostgreSQL on these settings is wrong there.
//!
//! ## What to do
//! Leave them as they are. Autovacuum, work_mem, connections and queries are tuned as anywhere.
//!
//! ## Risk
//! None.
//!
//! ## When it does not apply
//! Every other server.
//!
//! ## Sources
//! - <https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/Aurora.Overview.StorageReliability.html>
//! - <https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/AuroraPostgreSQL.Reference.ParameterGroups.html>
//! - <https://repost.aws/knowledge-center/rds-aurora-postgresql-shared-buffers>
//! - <https://dev.to/aws-heroes/amazon-aurora-and-postgresql-buffer-cache-n67>
//! - <https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/> (unverified)

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::AURORA;
use crate::rule::{FindingExt, Rule, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "cloud.aurora",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/Aurora.Overview.StorageReliability.html",
        "https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/AuroraPostgreSQL.Reference.ParameterGroups.html",
        "https://repost.aws/knowledge-center/rds-aurora-postgresql-shared-buffers",
        "https://dev.to/aws-heroes/amazon-aurora-and-postgresql-buffer-cache-n67",
        "https://docs.aws.amazon.com/AmazonRDS/latest/AuroraUserGuide/ (unverified)",
    ],
    check,
    source_text: include_str!("aurora.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    if server(facts)?.managed_by.as_deref() != Some(AURORA) {
        return Err(Outcome::NotApplicable("not Amazon Aurora".to_owned()));
    }
    Ok(RULE
        .finding(
            "this is Amazon Aurora: rules on checkpoints, the write-ahead log's files, full pages \
             and the cache's size do not apply",
        )
        .evidence("aurora_version()", "present", "pg_proc")
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, postgres};

    #[test]
    fn aurora_is_told_and_rds_is_not_aurora() {
        let mut facts = healthy();
        not_applicable(&RULE, &facts);
        postgres(&mut facts).managed_by = Some("Amazon RDS".to_owned());
        not_applicable(&RULE, &facts);
        postgres(&mut facts).managed_by = Some("Amazon Aurora".to_owned());
        assert!(
            finding(&RULE, &facts)
                .message
                .starts_with("this is Amazon Aurora:")
        );
    }
}
