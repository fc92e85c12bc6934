//! Parameters of kernel modules, /sys/module.

use dbdyno_model::Fact;

use super::root::Root;
use super::text;

const MODULES: &str = "/sys/module";

/// A switch, which the kernel writes as `Y` or `N`.
pub fn switch(text: &str) -> Result<bool, String> {
    match text.trim() {
        "Y" | "1" => Ok(true),
        "N" | "0" => Ok(false),
        other => Err(format!("neither Y nor N: {}", text::quoted(other))),
    }
}

fn path(module: &str, parameter: &str) -> String {
    format!("{MODULES}/{module}/parameters/{parameter}")
}

/// A switch of a module; off where the module is not there.
pub(super) fn is_on(root: &Root, module: &str, parameter: &str) -> Fact<bool> {
    let path = path(module, parameter);
    if root.exists(MODULES) && !root.exists(&format!("{MODULES}/{module}")) {
        return Fact::known(false, path);
    }
    root.fact(&path, switch)
}

/// A number of a module; unknown where the module is not there.
pub(super) fn number(root: &Root, module: &str, parameter: &str) -> Fact<u64> {
    root.fact(&path(module, parameter), text::number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_and_absent_modules_are_off() {
        assert_eq!(switch("Y\n"), Ok(true));
        assert_eq!(switch("N"), Ok(false));
        assert!(switch("yes").is_err());
        let tree = tempfile::tempdir().unwrap();
        let root = Root::new(tree.path());
        assert_eq!(is_on(&root, "zswap", "enabled").get(), None);
        let parameters = tree.path().join("sys/module/zswap/parameters");
        std::fs::create_dir_all(&parameters).unwrap();
        std::fs::write(parameters.join("enabled"), "Y\n").unwrap();
        assert_eq!(is_on(&root, "zswap", "enabled").get(), Some(true));
        assert_eq!(is_on(&root, "apparmor", "enabled").get(), Some(false));
        assert_eq!(number(&root, "nvme_core", "io_timeout").get(), None);
    }
}
