//! Which arms a trial compares.

use std::collections::BTreeMap;

use dbdyno_model::{Class, Plan};
use dbdyno_trial::{ArmSpec, unsafe_arms};

use super::options::Options;
use crate::exit::Failure;

/// The arms: base, judged arm, and the priced ones, from `--arms` and `--show-unsafe`.
pub(super) fn choose(
    options: &Options,
    base_name: &str,
    base: BTreeMap<String, String>,
    plan: &Plan,
) -> Result<Vec<ArmSpec>, Failure> {
    let mut recommended = base.clone();
    recommended.extend(dbdyno_rules::solver::as_conf(plan));
    let base = ArmSpec::new(base_name, Class::Safe, base);
    let recommended = ArmSpec::new("recommended", plan.class(), recommended);
    let dangerous = unsafe_arms(&base);
    if options.arms.is_empty() {
        let priced = if options.show_unsafe {
            dangerous
        } else {
            Vec::new()
        };
        return Ok([base, recommended].into_iter().chain(priced).collect());
    }
    let known: Vec<ArmSpec> = [base, recommended].into_iter().chain(dangerous).collect();
    pick(&options.arms, &known)
}

fn pick(names: &[String], known: &[ArmSpec]) -> Result<Vec<ArmSpec>, Failure> {
    let all = known
        .iter()
        .map(|arm| arm.name.as_str())
        .collect::<Vec<_>>()
        .join(", ");
    let mut arms: Vec<ArmSpec> = Vec::new();
    for name in names {
        let arm = known
            .iter()
            .find(|arm| arm.name == name.trim())
            .ok_or_else(|| {
                Failure::usage(
                    format!("there is no arm {name:?}"),
                    format!("the arms are {all}"),
                )
            })?;
        let mut arm = arm.clone();
        if arms.iter().any(|other| other.name == arm.name) {
            arm.name = format!("{}-again", arm.name);
        }
        if arms.iter().any(|other| other.name == arm.name) {
            return Err(Failure::usage(
                format!("--arms names {name:?} three times"),
                "name an arm once, or twice for an A/A trial",
            ));
        }
        arms.push(arm);
    }
    let judged = arms.iter().take(2);
    if arms.len() < 2 {
        return Err(Failure::usage(
            "--arms needs two arms",
            "such as --arms shipped,recommended",
        ));
    }
    if let Some(arm) = judged.into_iter().find(|arm| arm.class != Class::Safe) {
        return Err(Failure::usage(
            format!("{} is not safe, so no verdict is given for it", arm.name),
            "put it behind two safe arms: it is shown as the price of safety",
        ));
    }
    Ok(arms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<ArmSpec> {
        let base = ArmSpec::new("shipped", Class::Safe, BTreeMap::new());
        let recommended = ArmSpec::new("recommended", Class::Safe, BTreeMap::new());
        let dangerous = unsafe_arms(&base);
        [base, recommended].into_iter().chain(dangerous).collect()
    }

    fn names(wanted: &[&str]) -> Result<Vec<String>, String> {
        let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        pick(&wanted, &known())
            .map(|arms| arms.into_iter().map(|arm| arm.name).collect())
            .map_err(|failure| failure.message)
    }

    #[test]
    fn an_arm_named_twice_is_an_a_a_trial() {
        assert_eq!(
            names(&["shipped", "shipped"]).unwrap(),
            ["shipped", "shipped-again"]
        );
        assert!(names(&["shipped", "shipped", "shipped"]).is_err());
    }

    #[test]
    fn unsafe_arms_are_priced_but_never_judged() {
        let arms = ["shipped", "recommended", "may-corrupt"];
        assert_eq!(names(&arms).unwrap(), arms);
        assert!(
            names(&["shipped", "may-corrupt"])
                .unwrap_err()
                .contains("not safe")
        );
        assert!(names(&["shipped"]).is_err());
        assert!(names(&["shipped", "tuned"]).is_err());
    }
}
