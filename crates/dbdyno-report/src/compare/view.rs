//! What page and Markdown have in common: letters, sentences and rows.

use dbdyno_model::Class;
use dbdyno_model::comparison::{Caveat, Comparison, Difference, Group, Method, Unlike};

use super::unlike;
use crate::number;
use crate::text::{list, plural};

/// Heads what beside the settings is not the same.
pub(super) const UNLIKE: &str = "Unlike beside the settings, which the ratio holds too";

/// A, B … Z, AA, AB …: names of groups are too long for a table.
pub(super) fn letter(mut index: usize) -> String {
    let mut letters = String::new();
    loop {
        letters.insert(0, char::from(b'A' + (index % 26) as u8));
        if index < 26 {
            return letters;
        }
        index = index / 26 - 1;
    }
}

/// The letters of those groups.
fn letters(comparison: &Comparison, names: &[String]) -> Vec<String> {
    let groups = comparison.groups.iter().enumerate();
    groups
        .filter(|(_, group)| names.contains(&group.name))
        .map(|(index, _)| letter(index))
        .collect()
}

/// `4 runs, 2026-03-14`; what the letter stands for goes before it.
pub(super) fn extent(group: &Group) -> String {
    let day = group.started_at.get(..10).unwrap_or(&group.started_at);
    let runs = match group.run {
        Some(_) => format!("1 run of {}", group.arm),
        None => plural(group.runs.into(), "run"),
    };
    format!("{runs}, {day}")
}

/// `B is 1.31 × A (1.26 to 1.37, 95 % interval, 4 pairs)`, or why there is no interval.
pub(super) fn sentence(comparison: &Comparison, index: usize) -> String {
    let difference = &comparison.differences[index];
    let (other, base) = (letter(index + 1), letter(0));
    let (Some(ratio), Some(interval)) = (difference.ratio, difference.interval) else {
        let why = difference
            .why_no_interval
            .as_deref()
            .unwrap_or("it was not made");
        return format!("{other} against {base}, no interval: {why}");
    };
    let [ratio, low, high] = number::ratio_parts(ratio, interval);
    let level = number::level(difference.level);
    let basis = basis(difference);
    format!("{other} is {ratio} × {base} ({low} to {high}, {level} interval, {basis})")
}

fn basis(difference: &Difference) -> String {
    match (difference.method, difference.pairs) {
        (Method::Paired, Some(pairs)) => plural(pairs.into(), "pair"),
        _ => format!(
            "{} against {} runs, unpaired",
            difference.runs, difference.base_runs
        ),
    }
}

/// That the intervals share the level, where there are several.
pub(super) fn joint(comparison: &Comparison) -> Option<String> {
    let several = comparison.differences.len() > 1;
    let any = comparison
        .differences
        .iter()
        .any(|difference| difference.interval.is_some());
    (several && any).then(|| {
        format!(
            "Each interval is widened for the {} comparisons (Bonferroni), so that all hold together at {}",
            comparison.differences.len(),
            number::level(comparison.joint_level)
        )
    })
}

/// Which groups no effect of settings can be read from, and why.
pub(super) fn confounded(comparison: &Comparison) -> Vec<String> {
    let mut told: Vec<(&[String], Vec<String>)> = Vec::new();
    for (index, difference) in comparison.differences.iter().enumerate() {
        let why = difference.confounded_by.as_slice();
        match told.iter_mut().find(|(other, _)| *other == why) {
            _ if why.is_empty() => {}
            Some((_, letters)) => letters.push(letter(index + 1)),
            None => told.push((why, vec![letter(index + 1)])),
        }
    }
    told.iter()
        .map(|(why, letters)| {
            let (tell, differ) = if letters.len() == 1 {
                ("tells", "differs")
            } else {
                ("tell", "differ")
            };
            format!(
                "{} against A {tell} nothing about settings: {} {differ} from A in {}.",
                list(letters),
                list(letters),
                list(why)
            )
        })
        .collect()
}

/// What all groups were measured on; what is not the same in all is listed as unlike.
pub(super) fn measured_on(comparison: &Comparison) -> Option<String> {
    let groups = &comparison.groups;
    let first = groups.first()?;
    let shared = |subjects: &[&str]| {
        let mut unlike = comparison.unlike.iter();
        !unlike.any(|unlike| subjects.contains(&unlike.subject.as_str()))
    };
    let mut parts = Vec::new();
    if let Some(workload) = first
        .workload
        .as_ref()
        .filter(|_| shared(&["workload", "scale"]))
    {
        parts.push(unlike::load(workload));
    }
    if let Some(connections) = first.connections.filter(|_| shared(&["connections"])) {
        parts.push(plural(connections.into(), "connection"));
    }
    for group in groups {
        let disclaimer = group
            .workload
            .as_ref()
            .and_then(|workload| workload.disclaimer.clone());
        parts.extend(disclaimer.filter(|disclaimer| !parts.contains(disclaimer)));
    }
    if shared(&["database engine"]) {
        let version = if shared(&["server version"]) {
            first.server.version.as_str()
        } else {
            ""
        };
        parts.push(
            format!("{} {version}", first.server.engine)
                .trim()
                .to_owned(),
        );
    }
    let one_summary = groups
        .iter()
        .all(|group| group.machine.summary == first.machine.summary);
    if one_summary {
        parts.push(first.machine.summary.clone());
    } else if shared(&["machine"]) {
        parts.push(unlike::hardware(&first.machine));
    }
    parts.retain(|part| !part.is_empty());
    let how = if shared(&["workload", "scale", "machine"]) {
        "Measured on"
    } else {
        "Alike:"
    };
    (!parts.is_empty()).then(|| format!("{how} {}", parts.join("; ")))
}

/// The figures, one row each: its name and each group's value.
pub(super) fn figures(comparison: &Comparison) -> Vec<(&'static str, Vec<String>)> {
    let row = |name, figure: &dyn Fn(&Group) -> String| {
        (
            name,
            comparison.groups.iter().map(figure).collect::<Vec<_>>(),
        )
    };
    let latency = |group: &Group, of: fn(&dbdyno_model::run::Latency) -> f64| {
        number::or_missing(group.latency_ms.as_ref().map(of), number::duration_ms)
    };
    let micros = |micros: Option<f64>| number::or_missing(micros, |us| number::duration(us / 1e6));
    vec![
        row("class", &|group| {
            number::or_missing(group.class, |class| class.as_str().to_owned())
        }),
        row("TPS", &|group| {
            number::measured(group.tps_with_checkpoint.mean)
        }),
        row("spread between runs", &|group| {
            number::or_missing(group.tps_with_checkpoint.relative_sd, number::percent)
        }),
        row("TPS without checkpoint", &|group| {
            number::measured(group.tps.mean)
        }),
        row("p50", &|group| latency(group, |latency| latency.p50)),
        row("p99", &|group| latency(group, |latency| latency.p99)),
        row("WAL per tx", &|group| {
            number::or_missing(group.wal_bytes_per_transaction, |bytes| {
                number::bytes(bytes.round() as u64)
            })
        }),
        row("server CPU per tx", &|group| {
            micros(group.server_cpu_us_per_transaction)
        }),
        row("driver CPU per tx", &|group| {
            micros(group.driver_cpu_us_per_transaction)
        }),
        row("recovery", &|group| {
            number::or_missing(group.recovery_s, number::duration)
        }),
    ]
}

/// From when the latencies count; once where it is the same for all that have any.
pub(super) fn latency_line(comparison: &Comparison) -> String {
    let mut origins: Vec<(&str, Vec<String>)> = Vec::new();
    for (index, group) in comparison.groups.iter().enumerate() {
        let Some(origin) = group.latency_origin.as_deref() else {
            continue;
        };
        match origins.iter_mut().find(|(known, _)| *known == origin) {
            Some((_, letters)) => letters.push(letter(index)),
            None => origins.push((origin, vec![letter(index)])),
        }
    }
    match origins.as_slice() {
        [] => "Latency was not measured".to_owned(),
        [(origin, _)] => format!("Latency from the {origin}"),
        _ => {
            let each = origins
                .iter()
                .map(|(origin, letters)| format!("of {} from the {origin}", list(letters)));
            format!("Latency {}", each.collect::<Vec<_>>().join("; "))
        }
    }
}

/// `A and B 17.5; C 18.1`.
pub(super) fn values(unlike: &Unlike) -> String {
    let mut values: Vec<(&str, Vec<String>)> = Vec::new();
    for (index, value) in unlike.values.iter().enumerate() {
        let value = value.as_deref().unwrap_or(number::MISSING);
        match values.iter_mut().find(|(known, _)| *known == value) {
            Some((_, letters)) => letters.push(letter(index)),
            None => values.push((value, vec![letter(index)])),
        }
    }
    let each = values
        .iter()
        .map(|(value, letters)| format!("{} {value}", list(letters)));
    each.collect::<Vec<_>>().join("; ")
}

/// `A and B: its trial did not finish`.
pub(super) fn caveat(comparison: &Comparison, caveat: &Caveat) -> String {
    match letters(comparison, &caveat.groups).as_slice() {
        [] => capitalised(&caveat.text),
        letters => format!("{}: {}", list(letters), caveat.text),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

/// Why there is no verdict, and the command that gives one, or a price where there can be none.
pub(super) fn closing(comparison: &Comparison) -> (&'static str, String) {
    let mut classes = comparison.groups.iter().filter_map(|group| group.class);
    let safe = classes.all(|class| class == Class::Safe);
    let why = if safe {
        "No verdict: a look at stored runs that nobody planned is no trial. For one:"
    } else {
        "No verdict: arms that are not safe get none, only a price in pairs. For that:"
    };
    let arms: Vec<&str> = comparison
        .groups
        .iter()
        .map(|group| group.arm.as_str())
        .collect();
    (why, trial_command(&arms, safe))
}

/// The trial of these arms, the first as the base.
pub(super) fn trial_command(arms: &[&str], safe: bool) -> String {
    let plain = |name: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        !name.is_empty() && name.chars().all(plain)
    };
    match arms {
        _ if !safe => "dbdyno tune --show-unsafe".to_owned(),
        [base, other] if base != other && arms.iter().all(plain) => {
            // The second arm of an A/A trial is asked for by the name of the first.
            let asked = |name: &str| name.strip_suffix("-again").unwrap_or(name).to_owned();
            format!("dbdyno tune --arms {},{}", asked(base), asked(other))
        }
        _ => "dbdyno tune --arms BASE,ARM".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_on_after_z() {
        let names = [0, 25, 26, 51, 52, 701, 702].map(letter);
        assert_eq!(names, ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
    }

    #[test]
    fn a_trial_is_asked_for_by_names_that_tune_knows() {
        let command = |arms: &[&str]| trial_command(arms, true);
        assert_eq!(
            command(&["shipped", "shipped-again"]),
            "dbdyno tune --arms shipped,shipped"
        );
        for arms in [
            &["shipped", "shipped"][..],
            &["shipped", "as the package ships it"],
            &["shipped", "current", "recommended"],
        ] {
            assert_eq!(command(arms), "dbdyno tune --arms BASE,ARM");
        }
        let priced = trial_command(&["shipped", "may-corrupt"], false);
        assert_eq!(priced, "dbdyno tune --show-unsafe");
    }
}
