//! The report as one HTML file that needs no network and no script: for showing to others.

use dbdyno_model::Tune;

use crate::chart::FIGURE_STYLE;
use crate::text::cut;

mod badge;
mod evidence;
mod figure;
mod findings;
mod method;
mod plan;
mod risks;
mod table;
mod tree;
mod verdict;

#[cfg(test)]
pub(crate) mod tests;

use crate::story;
use tree::{Html, el};

/// Nothing may be loaded from anywhere, and nothing may run.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// Longer titles are cut by what shows them.
const TITLE_CHARS: usize = 70;

/// Stays on the line of the number before it.
const UNITS: [&str; 16] = [
    "%", "×", "s", "ms", "µs", "min", "h", "d", "TPS", "B", "KiB", "MiB", "GiB", "TiB", "pair",
    "pairs",
];

/// The whole report as one file: verdict, evidence, changes, findings, risks, and what it takes to
/// reproduce it. The same bytes for the same document.
#[must_use]
pub fn report_html(tune: &Tune) -> String {
    let main = el("main").children([
        verdict::section(tune),
        evidence::section(tune),
        plan::section(tune),
        findings::section(tune),
        risks::section(tune),
        method::section(tune),
    ]);
    let body = el("body")
        .child(header(tune))
        .child(main)
        .child(footer(tune));
    let page = el("html").attr("lang", "en").child(head(tune)).child(body);
    format!("<!DOCTYPE html>\n{}", page.render())
}

fn head(tune: &Tune) -> Html {
    let title = format!(
        "{} · {} · dbdyno",
        story::headline(tune).word,
        story::name(tune)
    );
    el("head")
        .child(el("meta").attr("charset", "utf-8"))
        .child(
            el("meta")
                .attr("name", "viewport")
                .attr("content", "width=device-width, initial-scale=1"),
        )
        .child(
            el("meta")
                .attr("http-equiv", "Content-Security-Policy")
                .attr("content", POLICY),
        )
        .child(
            el("meta")
                .attr("name", "color-scheme")
                .attr("content", "light dark"),
        )
        .child(el("title").text(cut(&title, TITLE_CHARS)))
        .child(
            el("style")
                .style(include_str!("html/page.css"))
                .style(FIGURE_STYLE),
        )
}

fn header(tune: &Tune) -> Html {
    let links = [
        ("#verdict", "Verdict"),
        ("#evidence", "Evidence"),
        ("#changes", "Changes"),
        ("#found", "Found"),
        ("#risks", "Risks"),
        ("#method", "To reproduce"),
    ];
    let items = links
        .into_iter()
        .map(|(to, text)| el("li").child(el("a").attr("href", to).text(text)));
    el("header")
        .child(
            el("p")
                .class("brand")
                .child(el("b").text("dbdyno"))
                .child(el("span").text(story::name(tune))),
        )
        .child(
            el("nav")
                .attr("aria-label", "Parts of this report")
                .child(el("ul").children(items)),
        )
}

fn footer(tune: &Tune) -> Html {
    let version = if tune.dbdyno_version.is_empty() {
        "an unknown version".to_owned()
    } else {
        tune.dbdyno_version.clone()
    };
    el("footer").child(el("p").text(format!(
        "Measured and written by dbdyno {version}. This file loads nothing and runs no script."
    )))
}

/// A part of the page under its heading.
fn section(id: &'static str, title: &str) -> Html {
    let heading = format!("{id}-heading");
    el("section")
        .attr("id", id)
        .attr("aria-labelledby", heading.as_str())
        .child(el("h2").attr("id", heading).text(title))
}

/// The text with each unit held on the line of its number.
fn glued(text: &str) -> String {
    let mut glued = String::with_capacity(text.len());
    for (index, word) in text.split(' ').enumerate() {
        let bare = word.trim_end_matches([',', '.', ';', ':', ')']);
        let after_number = glued.ends_with(|c: char| c.is_ascii_digit());
        if index > 0 {
            glued.push(if after_number && UNITS.contains(&bare) {
                '\u{a0}'
            } else {
                ' '
            });
        }
        glued.push_str(word);
    }
    glued
}
