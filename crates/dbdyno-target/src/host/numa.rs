//! NUMA nodes.

use dbdyno_model::Fact;

use super::root::Root;
use super::text;

/// How many nodes a list such as `0-1` names.
pub fn nodes(text: &str) -> Result<u32, String> {
    match text::cpu_list(text)?.len() as u32 {
        0 => Err("the list is empty".into()),
        count => Ok(count),
    }
}

pub(super) fn collect(root: &Root) -> Fact<u32> {
    root.fact("/sys/devices/system/node/online", nodes)
}

#[cfg(test)]
mod tests {
    use super::nodes;

    #[test]
    fn nodes_are_counted() {
        assert_eq!(nodes("0\n"), Ok(1));
        assert_eq!(nodes("0-1,4\n"), Ok(3));
        assert!(nodes("\n").is_err());
    }
}
