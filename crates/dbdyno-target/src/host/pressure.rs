//! Pressure stall information: the share of time in which tasks waited for CPU, memory or I/O.

use dbdyno_model::host::{Pressure, Stall};

use super::root::Root;
use super::text;

/// The `some` line of a pressure file.
pub fn stall(text: &str) -> Result<Stall, String> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("some "))
        .ok_or_else(|| format!("no line `some`: {}", text::quoted(text)))?;
    let field = |name: &str| {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
            .ok_or_else(|| format!("no field `{name}`"))
    };
    let share = |name: &str| match text::number::<f64>(field(name)?)? {
        share if (0.0..=100.0).contains(&share) => Ok(share),
        share => Err(format!("`{name}` is no percentage: {share}")),
    };
    Ok(Stall {
        some_avg10: share("avg10")?,
        some_avg60: share("avg60")?,
        some_total_us: text::number(field("total")?)?,
    })
}

pub(super) fn collect(root: &Root) -> Pressure {
    Pressure {
        cpu: root.fact("/proc/pressure/cpu", stall),
        memory: root.fact("/proc/pressure/memory", stall),
        io: root.fact("/proc/pressure/io", stall),
    }
}

#[cfg(test)]
mod tests {
    use super::stall;

    #[test]
    fn the_some_line_is_read() {
        let text = "some avg10=1.50 avg60=0.25 avg300=0.00 total=77\nfull avg10=9.00 avg60=9.00 avg300=9.00 total=9\n";
        let stall_read = stall(text).unwrap();
        assert_eq!(stall_read.some_avg10, 1.5);
        assert_eq!(stall_read.some_avg60, 0.25);
        assert_eq!(stall_read.some_total_us, 77);
        assert!(stall("full avg10=0.00 total=1\n").is_err());
        assert!(stall("some avg10=NaN avg60=0.00 total=1\n").is_err());
        assert!(stall("some avg10=0.00\n").is_err());
    }
}
