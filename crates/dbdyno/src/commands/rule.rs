//! `dbdyno rule`: the catalogue, and the documentation of each rule.

use dbdyno_model::{Catalogue, RuleText};
use dbdyno_report::{catalogue_page, rule_page, to_json};

use crate::cli::{self, RuleAction};
use crate::exit::Failure;
use crate::printer::Printer;
use crate::suggest::nearest;

pub(crate) fn run(arguments: &cli::Rule, printer: &Printer) -> Result<(), Failure> {
    let rules = dbdyno_rules::catalogue();
    let rules: Vec<RuleText> = rules.iter().map(dbdyno_rules::Rule::text).collect();
    let text = match &arguments.action {
        RuleAction::List { family, json } => {
            let catalogue = Catalogue {
                schema: Catalogue::SCHEMA.to_owned(),
                dbdyno_version: env!("CARGO_PKG_VERSION").to_owned(),
                rules: of_family(rules, family.as_deref())?,
            };
            if *json {
                to_json(&catalogue)
            } else {
                catalogue_page(&catalogue, printer.width(), printer.style())
            }
        }
        RuleAction::Show { id } => {
            let rule = rules.iter().find(|rule| rule.id == *id);
            let rule = rule.ok_or_else(|| no_rule(id, &rules))?;
            rule_page(rule, printer.width(), printer.style())
        }
    };
    printer.result(&text)
}

fn of_family(rules: Vec<RuleText>, family: Option<&str>) -> Result<Vec<RuleText>, Failure> {
    let Some(family) = family else {
        return Ok(rules);
    };
    let mut families: Vec<&str> = rules.iter().map(|rule| rule.family.as_str()).collect();
    families.dedup();
    if !families.contains(&family) {
        return Err(Failure::usage(
            format!("there is no family {family:?} of rules"),
            format!("the families are {}", families.join(", ")),
        ));
    }
    let of_family = rules.iter().filter(|rule| rule.family == family).cloned();
    Ok(of_family.collect())
}

fn no_rule(id: &str, rules: &[RuleText]) -> Failure {
    let message = format!("there is no rule {id:?}");
    match nearest(id, rules.iter().map(|rule| rule.id.as_str())) {
        Some(nearest) => Failure::usage(message, format!("did you mean {nearest}?")),
        None => Failure::usage(message, "`dbdyno rule list` shows all of them"),
    }
}
