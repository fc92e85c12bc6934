//! Accounts of this host, /etc/passwd.

use super::root::Root;

/// The name of an account; a line that does not parse is passed over.
pub fn account_name(text: &str, uid: u32) -> Option<String> {
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        let number: u32 = fields.nth(1)?.parse().ok()?;
        (number == uid).then(|| name.to_owned())
    })
}

/// The same of a host.
pub fn account_of(root: &Root, uid: u32) -> Option<String> {
    account_name(&root.table("/etc/passwd").ok()?, uid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_found_beside_lines_that_are_no_utf8() {
        let tree = tempfile::tempdir().unwrap();
        std::fs::create_dir(tree.path().join("etc")).unwrap();
        let passwd =
            b"root:x:0:0:root:/root:/bin/bash\nold:x:9:9:Andr\xe9:/:\n:x:7:7::/:\nbroken\n\
            postgres:x:101:104:PostgreSQL,,,:/var/lib/postgresql:/bin/bash\n";
        std::fs::write(tree.path().join("etc/passwd"), passwd).unwrap();
        let root = Root::new(tree.path());
        assert_eq!(account_of(&root, 101).as_deref(), Some("postgres"));
        assert_eq!(account_of(&root, 9).as_deref(), Some("old"));
        assert_eq!(account_of(&root, 7), None);
        assert_eq!(account_of(&root, 8), None);
    }
}
