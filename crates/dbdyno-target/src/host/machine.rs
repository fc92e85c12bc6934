//! Who made the machine, and which security modules watch over it.

use dbdyno_model::Fact;

use super::root::Root;
use super::text;

const SELINUX: &str = "/sys/fs/selinux/enforce";

/// A name in the firmware's tables (`sys_vendor`, `product_name`).
pub(super) fn name(root: &Root, field: &str) -> Fact<String> {
    root.fact(&format!("/sys/class/dmi/id/{field}"), text::phrase)
}

pub(super) fn selinux(root: &Root) -> Fact<String> {
    if root.exists("/sys/fs") && !root.exists("/sys/fs/selinux") {
        return Fact::known("disabled".to_owned(), SELINUX);
    }
    root.fact(SELINUX, text::flag).map(|enforces| {
        let mode = if enforces { "enforcing" } else { "permissive" };
        mode.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selinux_is_off_where_its_file_system_is_missing() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::new(tree.path());
        assert_eq!(selinux(&root).value(), None);
        std::fs::create_dir_all(tree.path().join("sys/fs/cgroup")).unwrap();
        assert_eq!(selinux(&root).value().unwrap(), "disabled");
        std::fs::create_dir_all(tree.path().join("sys/fs/selinux")).unwrap();
        std::fs::write(tree.path().join("sys/fs/selinux/enforce"), "1").unwrap();
        assert_eq!(selinux(&root).value().unwrap(), "enforcing");
    }
}
