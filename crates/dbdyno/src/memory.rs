//! `--memory SIZE`: what the user says that a server may have.

use crate::exit::Failure;

/// Below this no PostgreSQL with a load on it is worth measuring.
pub(crate) const LEAST_MEMORY: u64 = 256 << 20;

/// The bytes, where the option was given.
pub(crate) fn given(text: Option<&str>) -> Result<Option<u64>, Failure> {
    text.map(read).transpose()
}

/// Reads `4GB`, `512 MiB`, `2g`; units are powers of 1024, as PostgreSQL's are.
fn read(text: &str) -> Result<u64, Failure> {
    let wrong = || {
        Failure::usage(
            format!("--memory {text:?} is not a size"),
            "write it as 4GB or 512MB",
        )
    };
    let trimmed = text.trim();
    let digits = trimmed
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .ok_or_else(wrong)?;
    let number: f64 = trimmed[..digits].parse().map_err(|_| wrong())?;
    let unit = match trimmed[digits..].trim().to_ascii_lowercase().as_str() {
        "k" | "kb" | "kib" => 1_u64 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return Err(wrong()),
    };
    let bytes = number * unit as f64;
    if bytes < LEAST_MEMORY as f64 {
        return Err(Failure::usage(
            format!("--memory {text} is too little for a PostgreSQL server under load"),
            "give at least 256MB",
        ));
    }
    Ok(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        for (text, bytes) in [
            ("4GB", 4_u64 << 30),
            ("512 MiB", 512 << 20),
            ("1.5g", 3 << 29),
        ] {
            assert_eq!(given(Some(text)).unwrap(), Some(bytes), "{text}");
        }
        for text in ["", "GB", "4", "-4GB", "4 parsecs", "12kB", "0GB", "1.2.3GB"] {
            assert!(given(Some(text)).is_err(), "{text}");
        }
        assert_eq!(given(None).unwrap(), None);
    }
}
