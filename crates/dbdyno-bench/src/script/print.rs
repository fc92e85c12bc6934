//! A script back to its file: reading what this writes gives the same script.

use super::{Body, Script, Statement, Step};

pub(super) fn print(script: &Script) -> String {
    let mut out = String::new();
    if script.sections && !script.setup.steps.is_empty() {
        out.push_str("-- dbdyno: setup\n");
        body(&script.setup, &mut out);
    }
    for transaction in &script.transactions {
        if script.sections {
            out.push_str(&format!(
                "-- dbdyno: transaction {} weight={}\n",
                transaction.name, transaction.weight
            ));
        }
        body(&transaction.body, &mut out);
    }
    for check in &script.checks {
        out.push_str(&format!("-- dbdyno: check {}\n", check.name));
        statement(&check.query, &script.setup.names, &mut out);
    }
    out
}

fn body(body: &Body, out: &mut String) {
    for step in &body.steps {
        match step {
            Step::Set {
                slot, expression, ..
            } => {
                out.push_str(&format!("\\set {} ", body.names[*slot]));
                expression.print(&body.names, out);
                out.push('\n');
            }
            Step::Run(run) => statement(run, &body.names, out),
        }
    }
}

fn statement(statement: &Statement, names: &[String], out: &mut String) {
    let text = statement.text(names);
    out.push_str(&text);
    // A line comment at the end must not swallow the semicolon.
    let commented = text.lines().last().is_some_and(|line| line.contains("--"));
    out.push_str(if commented { "\n;\n" } else { ";\n" });
}
