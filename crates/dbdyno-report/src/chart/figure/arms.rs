//! The arms in the order and with the marks that all figures give them.

use dbdyno_model::tune::Arm;
use dbdyno_model::{Class, Run, Tune};

use super::{BOLD, WIDTH, fit, label, path, width_of};
use crate::svg::{Element, coordinate};

/// Looks beyond base and judged arm, used in turn.
const OTHER_LOOKS: usize = 3;

/// An arm with its kept runs; a trial that was cut off has runs without a summary.
pub(super) struct ArmView<'a> {
    pub(super) name: &'a str,
    pub(super) summary: Option<&'a Arm>,
    /// Runs of kept pairs, in their order.
    pub(super) runs: Vec<&'a Run>,
    look: usize,
}

/// Base, judged arm, then the others.
pub(super) fn arms(tune: &Tune) -> Vec<ArmView<'_>> {
    let mut names: Vec<&str> = Vec::new();
    let judged = tune.verdict.iter();
    let judged = judged.flat_map(|verdict| [verdict.base.as_str(), verdict.arm.as_str()]);
    let of_arms = tune.arms.iter().map(|arm| arm.name.as_str());
    // The first pair runs the base first, and the others in their order.
    let of_runs = tune.runs.iter().map(|run| run.arm.as_str());
    for name in judged.chain(of_arms).chain(of_runs) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let views = names.into_iter().enumerate();
    views
        .map(|(index, name)| ArmView {
            name,
            summary: tune.arms.iter().find(|arm| arm.name == name),
            runs: kept_runs(tune, name),
            look: if index < 2 {
                index
            } else {
                2 + (index - 2) % OTHER_LOOKS
            },
        })
        .collect()
}

/// Names of base and judged arm; none where no two arms were run.
pub(super) fn judged(tune: &Tune) -> Option<[&str; 2]> {
    match arms(tune)[..] {
        [ref base, ref arm, ..] => Some([base.name, arm.name]),
        _ => None,
    }
}

fn kept_runs<'a>(tune: &'a Tune, name: &str) -> Vec<&'a Run> {
    tune.runs
        .iter()
        .filter(|run| run.arm == name && run.pair.is_some() && run.discarded.is_none())
        .collect()
}

impl ArmView<'_> {
    /// The class that gives an element the arm's look.
    pub(super) fn class(&self, part: &str) -> String {
        format!("{part} a{}", self.look)
    }

    /// The name with what it risks, where it risks anything.
    pub(super) fn full_name(&self) -> String {
        format!("{}{}", self.name, self.risk())
    }

    fn risk(&self) -> String {
        match self.summary.map(|arm| arm.class) {
            Some(class) if class != Class::Safe => format!(" ({})", class.as_str()),
            _ => String::new(),
        }
    }

    /// The arm's mark around a point; each look has a shape of its own.
    pub(super) fn mark(&self, x: f64, y: f64) -> Element {
        let class = self.class("mark");
        let at = format!("M{} {}", coordinate(x), coordinate(y));
        match self.look {
            0 => path(&class, format!("{at}m-3.5 -3.5h7v7h-7z")),
            1 => Element::new("circle")
                .with("class", class)
                .at("cx", x)
                .at("cy", y)
                .at("r", 4.5),
            2 => path(&class, format!("{at}m0 -5l5 9h-10z")),
            3 => path(&class, format!("{at}m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z")),
            _ => path(&class, format!("{at}m0 5l5 -9h-10z")),
        }
    }

    /// The mark with the full name beside it, at the top of a panel.
    pub(super) fn heading(&self, svg: &mut Element) {
        const LEFT: f64 = 19.0;
        // What an arm risks is never what is cut.
        let risk = self.risk();
        let name = fit(self.name, (WIDTH - LEFT) / BOLD - width_of(&risk));
        let text = format!("{name}{risk}");
        svg.push(self.mark(8.0, 11.5));
        svg.push(label("title", LEFT, 16.0, &text));
    }
}
