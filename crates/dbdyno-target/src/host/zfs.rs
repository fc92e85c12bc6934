//! ZFS's cache, from its own statistics.

use dbdyno_model::Fact;

use super::root::Root;
use super::text;

const STATISTICS: &str = "/proc/spl/kstat/zfs/arcstats";

/// The most that the cache may hold: a line `c_max 4 8387215360`.
pub fn cache_max(text: &str) -> Result<u64, String> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("c_max "))
        .ok_or("no line `c_max`")?;
    text::number(line.split_whitespace().nth(1).unwrap_or_default())
}

pub(super) fn collect(root: &Root) -> Fact<u64> {
    root.fact(STATISTICS, cache_max)
}

#[cfg(test)]
mod tests {
    use super::cache_max;

    #[test]
    fn the_limit_is_read() {
        let text = "13 1 0x01 96 26112 1 2\nname type data\nc_min    4    1\nc_max                           4    8387215360\n";
        assert_eq!(cache_max(text), Ok(8_387_215_360));
        assert!(cache_max("c_max 4\n").is_err());
        assert!(cache_max("").is_err());
    }
}
