//! The machine is of a type whose CPUs slow down, or cost more, when its credits are spent.
//!
//! ## What it finds
//! An Amazon EC2 machine of a burstable type (t3, t3a, t4g).
//!
//! ## Why it matters
//! Such a machine earns CPU credits while it idles and spends them while it works. When they are gone
//! it depends on its mode. Standard goes down to the baseline: 5 to 40 % of each CPU, so that the
//! server gets several times slower at the same load and without any change. Unlimited, in which these
//! types start, goes on and is billed by the CPU hour. What was measured on credits says nothing of the
//! next hour.
//!
//! ## What to do
//! Move the server to a type without credits (m, r, c). Do not benchmark on this one.
//!
//! ## Risk
//! A stop of the machine while its type is changed.
//!
//! ## When it does not apply
//! Other types, and machines that do not show their type, as those on Xen (t2). The balance of credits
//! and the mode only the cloud's own interface tells.
//!
//! ## Sources
//! - <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-credits-baseline-concepts.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "cloud.burstable_machine",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-credits-baseline-concepts.html",
    ],
    check,
    source_text: include_str!("burstable_machine.rs"),
};

const BURSTABLE: [&str; 3] = ["t3", "t3a", "t4g"];

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let virtualisation = need_ref(&host.virtualisation, "virtualisation")?;
    if virtualisation.kind != "amazon" {
        return Err(Outcome::NotApplicable(
            "not a machine that shows a type with CPU credits".to_owned(),
        ));
    }
    let kind = need_ref(&host.product, "type of the machine")?;
    let family = kind.split('.').next().unwrap_or(kind);
    if !BURSTABLE.contains(&family) {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding(format!(
            "the machine is a {kind}: when its credits are spent, its CPUs fall to a part of \
             themselves or cost extra"
        ))
        .evidence("type of the machine", kind, &host.product.origin)
        .host_action(
            "stop the machine and change its type to one without credits: aws ec2 \
             modify-instance-attribute --instance-id ID --instance-type m7i.large",
            Needs::Migration,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, ok, unknown};
    use dbdyno_model::host::Virtualisation;
    use dbdyno_model::{Fact, Facts};

    fn of_type(product: Fact<String>) -> Facts {
        let mut facts = healthy();
        let host = host(&mut facts);
        let kind = "amazon".to_owned();
        host.virtualisation = Fact::known(Virtualisation { kind }, "/sys/class/dmi/id");
        host.product = product;
        facts
    }

    fn named(name: &str) -> Fact<String> {
        Fact::known(name.to_owned(), "/sys/class/dmi/id/product_name")
    }

    #[test]
    fn a_burstable_type_is_found() {
        let finding = finding(&RULE, &of_type(named("t3.large")));
        insta::assert_snapshot!(finding.message, @"the machine is a t3.large: when its credits are spent, its CPUs fall to a part of themselves or cost extra");
    }

    #[test]
    fn other_types_are_fine() {
        ok(&RULE, &of_type(named("m7i.large")));
        ok(&RULE, &of_type(named("trn1.2xlarge")));
    }

    #[test]
    fn other_clouds_are_not_applicable_and_an_unread_type_unknown() {
        not_applicable(&RULE, &healthy());
        assert_eq!(
            unknown(&RULE, &of_type(Fact::default())),
            "type of the machine: not collected"
        );
    }
}
