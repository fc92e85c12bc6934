//! A script back to its file: reading what this writes gives the same script.

use super::body::{Body, Step};
use super::reading::Reading;
use super::statement::Statement;

pub(super) fn print(reading: &Reading) -> String {
    let mut out = String::new();
    if reading.sections && !reading.setup.steps.is_empty() {
        out.push_str("-- dbdyno: setup\n");
        body(&reading.setup, &mut out);
    }
    for transaction in &reading.transactions {
        if reading.sections {
            out.push_str(&format!(
                "-- dbdyno: transaction {} weight={}\n",
                transaction.name, transaction.weight
            ));
        }
        body(&transaction.body, &mut out);
    }
    for check in &reading.checks {
        out.push_str(&format!("-- dbdyno: check {}\n", check.name));
        statement(&check.query, &reading.setup.names, &mut out);
    }
    out
}

fn body(body: &Body, out: &mut String) {
    let mut steps = body.steps.iter().peekable();
    while let Some(step) = steps.next() {
        match step {
            Step::Set {
                slot, expression, ..
            } => {
                out.push_str(&format!("\\set {} ", body.names[*slot]));
                expression.print(&body.names, out);
                out.push('\n');
            }
            Step::If {
                condition, chained, ..
            } => {
                out.push_str(if *chained { "\\elif " } else { "\\if " });
                condition.print(&body.names, out);
                out.push('\n');
            }
            Step::Leave { .. } => {
                if !matches!(steps.peek(), Some(Step::If { chained: true, .. })) {
                    out.push_str("\\else\n");
                }
            }
            Step::End => out.push_str("\\endif\n"),
            Step::Sleep { time, unit, .. } => {
                out.push_str("\\sleep ");
                time.print(&body.names, out);
                out.push_str(&format!(" {}\n", unit.name()));
            }
            Step::Run { statement: run, .. } => statement(run, &body.names, out),
        }
    }
}

fn statement(statement: &Statement, names: &[String], out: &mut String) {
    let text = statement.text(names);
    if let Some(delimiter) = &statement.delimiter {
        out.push_str(&format!(
            "DELIMITER {delimiter}\n{text}\n{delimiter}\nDELIMITER ;\n"
        ));
        return;
    }
    out.push_str(&text);
    // A line comment at the end must not swallow the semicolon.
    let last = text.lines().last().unwrap_or_default();
    let commented = last.contains("--") || last.contains('#');
    out.push_str(if commented { "\n;\n" } else { ";\n" });
}
