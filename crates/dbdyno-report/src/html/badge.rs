//! Signs of verdicts, severities and classes: always shape, word and colour together.

use dbdyno_model::{Class, Severity};

use super::tree::{Html, el};
use crate::story::Sign;
use crate::svg::Element;

/// The verdict's word with its shape.
pub(super) fn word(sign: Sign, word: &str) -> Html {
    let (class, path) = match sign {
        Sign::Improved => ("good", UP),
        Sign::Worse | Sign::Broken => ("bad", if sign == Sign::Worse { DOWN } else { CROSS }),
        Sign::NoDifference => ("even", EVEN),
        Sign::Undecided => ("open", DIAMOND),
        Sign::TooNoisy => ("warn", WAVE),
        Sign::NotMeasured => ("open", CIRCLE),
    };
    badge(&format!("badge word {class}"), path, word)
}

pub(super) fn severity(severity: Severity) -> Html {
    let (class, path) = match severity {
        Severity::Critical => ("bad", SQUARE),
        Severity::Warn => ("warn", UP),
        Severity::Info => ("open", CIRCLE),
    };
    badge(&format!("badge {class}"), path, severity.as_str())
}

pub(super) fn class(class: Class) -> Html {
    let (name, path) = match class {
        Class::Safe => ("good", TICK),
        Class::MayLoseLastCommits => ("warn", UP),
        Class::MayCorrupt => ("bad", CROSS),
    };
    badge(&format!("badge {name}"), path, class.as_str())
}

pub(super) fn passed(passed: bool) -> Html {
    if passed {
        badge("badge good", TICK, "passed")
    } else {
        badge("badge bad", CROSS, "failed")
    }
}

/// What warns, at the beginning of its line.
pub(super) fn alarm() -> Html {
    el("span").class("badge warn").svg(shape(ALARM))
}

const UP: &str = "M8 2 15 14H1z";
const DOWN: &str = "M8 14 1 2h14z";
const EVEN: &str = "M1 3.5h14v3H1zM1 9.5h14v3H1z";
const DIAMOND: &str = "M8 1.5 14.5 8 8 14.5 1.5 8z";
const CIRCLE: &str = "M8 2a6 6 0 1 0 .01 0z";
const SQUARE: &str = "M2 2h12v12H2z";
const CROSS: &str =
    "M3.5 1 8 5.5 12.5 1 15 3.5 10.5 8 15 12.5 12.5 15 8 10.5 3.5 15 1 12.5 5.5 8 1 3.5z";
const TICK: &str = "M2 8.5 4 6.5 6.7 9.2 12.2 3.5 14.2 5.5 6.7 13.2z";
const WAVE: &str = "M0 8.5 4 3 8 8.5 12 3 16 8.5V13.5L12 8 8 13.5 4 8 0 13.5z";
const ALARM: &str = "M8 1 15.5 15H.5zM7.2 6v4.5h1.6V6zM7.2 11.7v1.6h1.6v-1.6z";

fn badge(class: &str, path: &'static str, word: &str) -> Html {
    el("span")
        .class(class)
        .svg(shape(path))
        .child(el("span").text(word))
}

/// The shape is for the eye alone: the word beside it says the same.
fn shape(path: &'static str) -> Element {
    Element::new("svg")
        .with("class", "shape")
        .with("viewBox", "0 0 16 16")
        .with("width", "16")
        .with("height", "16")
        .with("aria-hidden", "true")
        .child(
            Element::new("path")
                .with("fill-rule", "evenodd")
                .with("d", path),
        )
}
