//! Reports as their readers meet them: a real trial's pages in a real browser.

// What a test cannot set up fails it.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dbdyno_model::Tune;
use dbdyno_report::report_html;
use dbdyno_testing::{Place, binaries};

const SCRIPT: &str = "-- dbdyno: setup
CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL);
INSERT INTO account SELECT i, 100 FROM generate_series(1, 1000) i;
-- dbdyno: transaction move
\\set from random(1, 500)
\\set to random(501, 1000)
UPDATE account SET balance = balance - 1 WHERE id = :from;
UPDATE account SET balance = balance + 1 WHERE id = :to;
-- dbdyno: transaction look
\\set id random(1, 1000)
SELECT balance FROM account WHERE id = :id;
-- dbdyno: check nothing-is-lost
SELECT 1 FROM account HAVING sum(balance) <> 100000;
";

fn dbdyno(place: &Place, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dbdyno"));
    command
        .args(arguments)
        .env("DBDYNO_DATA_DIR", &place.root)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a browser, a validator and an accessibility checker have to say of the pages.
fn complaints(pages: &[PathBuf]) -> Vec<String> {
    let directory = PathBuf::from(std::env::var_os("DBDYNO_TEST_BROWSER").expect(
        "`cargo xtask test` fetches the browser and says where it is in DBDYNO_TEST_BROWSER",
    ));
    let mut check = Command::new("node");
    // The servers' libraries are not for browsers.
    check.env_remove("LD_LIBRARY_PATH");
    let text = succeed(check.arg(directory.join("check.mjs")).args(pages));
    serde_json::from_str(&text).unwrap()
}

fn write(directory: &Path, name: &str, page: &str) -> PathBuf {
    let path = directory.join(format!("{name}.html"));
    std::fs::write(&path, page).unwrap();
    path
}

#[test]
fn needs_browser_the_report_of_a_real_trial_is_sound_in_every_form() {
    let place = Place::new("page");
    let script = place.root.join("move.sql");
    std::fs::write(&script, SCRIPT).unwrap();
    let out = place.root.join("out");
    succeed(
        dbdyno(
            &place,
            &["tune", "--connections", "2", "--run-seconds", "11"],
        )
        .arg("--workload")
        .arg(&script)
        .arg("--output")
        .arg(&out)
        .arg("--server-bin")
        .arg(&binaries().directory),
    );
    let json = std::fs::read(out.join("report.json")).unwrap();
    let tune: Tune = serde_json::from_slice(&json).unwrap();
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(
        tune.workload
            .as_ref()
            .unwrap()
            .script
            .as_ref()
            .unwrap()
            .contains("UPDATE account")
    );
    let verdict = tune.verdict.as_ref().unwrap();
    assert!(tune.complete && verdict.pairs + verdict.discarded_pairs >= 4);
    assert!(page.len() < 1 << 20, "{} bytes", page.len());
    // What the store holds gives the same page again, byte for byte.
    let again = succeed(&mut dbdyno(&place, &["report", "--format", "html"]));
    assert!(again.trim_end() == page.trim_end());
    let markdown = succeed(&mut dbdyno(
        &place,
        &["report", &tune.name, "--format", "markdown"],
    ));
    assert_eq!(
        markdown,
        std::fs::read_to_string(out.join("report.md")).unwrap()
    );

    // The same trial as it may also end.
    let mut without_pairs = tune.clone();
    without_pairs.runs.truncate(1);
    without_pairs.verdict = None;
    without_pairs.complete = false;
    let mut plan_only = without_pairs.clone();
    plan_only.runs.clear();
    plan_only.arms.clear();
    let mut loud = tune.clone();
    loud.consistency[0].passed = false;
    loud.notes.push("<script>alert('&')</script> ".repeat(40));
    loud.machine.summary = "a".repeat(300);
    let pages = [
        out.join("report.html"),
        write(&out, "without-pairs", &report_html(&without_pairs)),
        write(&out, "plan-only", &report_html(&plan_only)),
        write(&out, "loud", &report_html(&loud)),
    ];
    assert_eq!(complaints(&pages), Vec::<String>::new());
}

#[test]
fn needs_browser_the_check_finds_what_is_wrong() {
    let place = Place::new("wrong-page");
    let page = |body: &str| {
        format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>x</title></head>\
             <body><main><h1>x</h1>{body}</main></body></html>"
        )
    };
    let wrong = [
        ("wide", "<div style=\"width:3000px\">x</div>", "overflow"),
        (
            "script",
            "<script>console.error('broken')</script>",
            "console",
        ),
        (
            "request",
            "<p><img src=\"https://example.org/x.png\" alt=\"x\"></p>",
            "request",
        ),
        (
            "pale",
            "<p style=\"color:#ccc;background:#fff\">hard to read</p>",
            "color-contrast",
        ),
        ("markup", "<p><div>x</div></p>", "html-validate"),
        (
            "chart",
            "<figure><figcaption>x</figcaption></figure>",
            "no chart",
        ),
    ];
    let pages: Vec<PathBuf> = wrong
        .iter()
        .map(|(name, body, _)| write(&place.root, name, &page(body)))
        .collect();
    let found = complaints(&pages);
    for (name, _, expected) in wrong {
        let of_page = format!("{name}.html: ");
        let told =
            |complaint: &String| complaint.starts_with(&of_page) && complaint.contains(expected);
        assert!(found.iter().any(told), "{name}: {found:?}");
    }
}
