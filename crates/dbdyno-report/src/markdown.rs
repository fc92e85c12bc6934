//! The report as Markdown, for a pull request or a wiki: the same story as the page's, shorter.

use dbdyno_model::Tune;

use crate::number;
use crate::plan::needs_words;
use crate::story::{self, Sign, changes, machine, metrics, risks, rounds, untested};
use crate::text::plural;

pub(crate) mod text;

#[cfg(test)]
mod tests;

use text::{block, code, code_cell, folded, table, text};

/// Verdict, caveats, the arms in a table, what changed and why, what was not tested, and what it
/// takes to reproduce it. The same bytes for the same document.
#[must_use]
pub fn report_markdown(tune: &Tune) -> String {
    let parts = [
        opening(tune),
        arms(tune),
        prices(tune),
        plan(tune),
        found(tune),
        points("Risks", &risks::risks(tune)),
        points("Not tested", &untested::untested(tune)),
        method(tune),
    ];
    let parts: Vec<&str> = parts
        .iter()
        .map(|part| part.trim_end())
        .filter(|part| !part.is_empty())
        .collect();
    format!("{}\n", parts.join("\n\n"))
}

fn sign(sign: Sign) -> &'static str {
    match sign {
        Sign::Improved => "▲",
        Sign::Worse => "▼",
        Sign::NoDifference => "=",
        Sign::Undecided => "◇",
        Sign::TooNoisy => "≈",
        Sign::NotMeasured => "○",
        Sign::Broken => "✖",
    }
}

fn opening(tune: &Tune) -> String {
    let headline = story::headline(tune);
    let mut parts = vec![format!(
        "# {} {}: {}",
        sign(headline.sign),
        text(&headline.word),
        text(&headline.sentence)
    )];
    for line in [&headline.meaning, &headline.measured_on] {
        if !line.is_empty() {
            parts.push(text(line));
        }
    }
    parts.extend(alert("CAUTION", &story::broken(tune)));
    parts.extend(alert("WARNING", &story::alerts(tune)));
    let numbers: Vec<String> = story::big_numbers(tune)
        .iter()
        .map(|big| {
            format!(
                "{}: **{}** ({})",
                big.label,
                text(&big.value),
                text(&big.detail)
            )
        })
        .collect();
    if !numbers.is_empty() {
        parts.push(numbers.join(" · "));
    }
    parts.join("\n\n")
}

/// GitHub draws a box around it; elsewhere it is a quotation.
fn alert(kind: &str, lines: &[String]) -> Option<String> {
    if lines.is_empty() {
        return None;
    }
    let lines = lines.iter().map(|line| format!("> - {}", text(line)));
    let lines: Vec<String> = lines.collect();
    Some(format!("> [!{kind}]\n{}", lines.join("\n")))
}

fn arms(tune: &Tune) -> String {
    let Some(metrics) = metrics::metrics(tune) else {
        return String::new();
    };
    let names = metrics.arms.iter().chain(&metrics.ratio);
    let head: Vec<String> = std::iter::once(String::new())
        .chain(names.map(|name| text(name)))
        .collect();
    let rows: Vec<Vec<String>> = metrics
        .rows
        .iter()
        .map(|row| {
            let ratio = metrics.ratio.is_some().then_some(&row.ratio);
            let values = row.values.iter().chain(ratio);
            std::iter::once(text(&row.name))
                .chain(values.map(|value| text(value)))
                .collect()
        })
        .collect();
    let notes: Vec<String> = metrics.notes.iter().map(|note| text(note)).collect();
    format!("{}\n{}", table(&head, &rows, 1), notes.join(" "))
}

fn heads(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn prices(tune: &Tune) -> String {
    if tune.prices.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<String>> = tune
        .prices
        .iter()
        .map(|price| {
            let ratio = price.ratio.zip(price.interval);
            let ratio =
                number::or_missing(ratio, |(ratio, interval)| number::ratio(ratio, interval));
            vec![
                text(&price.arm),
                format!(
                    "{}: {}",
                    price.class.as_str(),
                    changes::class_words(price.class)
                ),
                text(&price.base),
                ratio,
                number::level(price.level),
                number::count(price.pairs.into()),
            ]
        })
        .collect();
    let head = heads(&["arm", "class", "against", "TPS ratio", "interval", "pairs"]);
    format!(
        "## The price of safety\n\nIntervals without a verdict, measured in a lab to show the price; not offers.\n\n{}",
        table(&head, &rows, 3)
    )
}

fn plan(tune: &Tune) -> String {
    let title = if tune.runs.is_empty() {
        "What would change, and why"
    } else {
        "What changed, and why"
    };
    let plan = &tune.plan;
    let mut parts = vec![format!("## {title}")];
    if plan.changes.is_empty() {
        parts.push("The plan changes no setting.".to_owned());
    } else {
        let rows: Vec<Vec<String>> = changes::ordered(tune)
            .into_iter()
            .map(|change| {
                let mut why = text(&story::sentence(&change.why));
                if let Some(gives_up) = &change.gives_up {
                    why.push_str(&format!(" **Gives up:** {}", text(gives_up)));
                }
                vec![
                    code_cell(&change.setting),
                    code_cell(changes::shown(&change.from)),
                    code_cell(changes::shown(&change.to)),
                    why,
                    needs_words(change.needs).to_owned(),
                    change.class.as_str().to_owned(),
                    code_cell(&change.rule),
                ]
            })
            .collect();
        let head = heads(&["setting", "from", "to", "why", "needs", "class", "rule"]);
        parts.push(table(&head, &rows, head.len()));
    }
    if !plan.rejected.is_empty() {
        let rejected = plan.rejected.iter().map(|item| {
            let (setting, wanted) = (code(&item.setting), code(changes::shown(&item.wanted)));
            format!(
                "- {setting} = {wanted} ({}): {}",
                code(&item.rule),
                text(&item.why)
            )
        });
        let rejected: Vec<String> = rejected.collect();
        let count = plural(rejected.len() as u64, "value");
        parts.push(folded(
            &format!("Set aside: {count} that a rule wanted"),
            &rejected.join("\n"),
        ));
    }
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).collect();
    parts.join("\n\n")
}

fn found(tune: &Tune) -> String {
    let items: Vec<String> = changes::unapplied(tune)
        .iter()
        .map(|item| {
            let mut line = format!("- **{}** {}", item.severity().as_str(), code(item.rule));
            if let Some(finding) = item.finding {
                line.push_str(&format!(": {}", text(&story::sentence(&finding.message))));
            }
            for action in &item.actions {
                let needs = needs_words(action.needs);
                line.push_str(&format!(" Do: {} ({needs}).", code(&action.action)));
            }
            line
        })
        .collect();
    let gaps: Vec<String> = changes::by_reason(&tune.plan.not_assessed)
        .iter()
        .map(|(why, rules)| {
            let rules: Vec<String> = rules.iter().map(|rule| code(rule)).collect();
            format!("- {}: {}", text(why), rules.join(", "))
        })
        .collect();
    let mut parts = Vec::new();
    if !items.is_empty() {
        parts.push(format!("## Found, but not changed\n\n{}", items.join("\n")));
    }
    if !gaps.is_empty() {
        let count = plural(tune.plan.not_assessed.len() as u64, "rule");
        parts.push(folded(&format!("Not assessed: {count}"), &gaps.join("\n")));
    }
    parts.join("\n\n")
}

fn points(title: &str, points: &[risks::Point]) -> String {
    if points.is_empty() {
        return String::new();
    }
    let lines: Vec<String> = points
        .iter()
        .flat_map(|point| {
            let first = format!("- **{}.** {}", point.heading, text(&point.text));
            let items = point.items.iter();
            let items = items.map(|(name, said)| format!("  - {}: {}", code(name), text(said)));
            std::iter::once(first).chain(items).collect::<Vec<_>>()
        })
        .collect();
    format!("## {title}\n\n{}", lines.join("\n"))
}

fn method(tune: &Tune) -> String {
    let about: Vec<Vec<String>> = machine::versions(tune)
        .into_iter()
        .chain(machine::workload(tune))
        .chain(story::noise::spread(tune))
        .map(|(name, value)| vec![text(name), text(&value)])
        .collect();
    let mut parts = vec![
        "## To reproduce".to_owned(),
        table(&heads(&["", ""]), &about, 2),
    ];
    if !tune.consistency.is_empty() {
        parts.push(format!("{}.", text(&story::consistency(tune))));
    }
    parts.extend(settings(tune));
    parts.extend(pairs(tune));
    let machine: Vec<Vec<String>> = machine::host(tune)
        .iter()
        .map(|row| vec![text(&row.name), text(&row.value)])
        .collect();
    parts.push(folded("Machine", &table(&heads(&["", ""]), &machine, 2)));
    let script = tune
        .workload
        .as_ref()
        .and_then(|workload| workload.script.as_deref());
    parts.extend(
        script.map(|script| folded("The statements of the workload", &block("sql", script))),
    );
    if tune.command.is_empty() {
        parts.push("The command is not in the document.".to_owned());
    } else {
        parts.push(block("sh", &story::command(tune)));
    }
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).collect();
    parts.join("\n\n")
}

fn settings(tune: &Tune) -> Option<String> {
    let settings = changes::settings(tune).filter(|settings| !settings.rows.is_empty())?;
    let head: Vec<String> = std::iter::once("setting".to_owned())
        .chain(settings.arms.iter().map(|arm| text(arm)))
        .collect();
    let rows: Vec<Vec<String>> = settings
        .rows
        .iter()
        .map(|(name, values)| {
            std::iter::once(code_cell(name))
                .chain(values.iter().map(|value| match value {
                    Some(value) => code_cell(value),
                    None => changes::NOT_SET.to_owned(),
                }))
                .collect()
        })
        .collect();
    Some(folded(
        "Settings of each arm",
        &table(&head, &rows, head.len()),
    ))
}

/// Every pair, and why those do not count that do not.
fn pairs(tune: &Tune) -> Option<String> {
    let rounds = rounds::rounds(tune);
    if rounds.is_empty() {
        return None;
    }
    let rows: Vec<Vec<String>> = rounds
        .iter()
        .map(|round| {
            let runs: Vec<String> = round
                .runs
                .iter()
                .map(|run| format!("{} {}", run.arm, number::measured(run.tps_with_checkpoint)))
                .collect();
            let counts = match round.discarded() {
                None => "counts".to_owned(),
                Some(why) => format!("dropped: {why}"),
            };
            vec![
                round.pair.to_string(),
                text(&runs.join(", ")),
                text(&counts),
            ]
        })
        .collect();
    let head = heads(&["pair", "TPS, in the order of the runs", "counts?"]);
    let count = plural(rounds.len() as u64, "pair");
    Some(folded(
        &format!("{count} run"),
        &table(&head, &rows, head.len()),
    ))
}
