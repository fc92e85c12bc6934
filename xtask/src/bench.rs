//! `cargo xtask bench`: figures for docs/performance.md, each with the command that makes it.

pub(crate) fn run(_names: &[&str]) -> Result<(), String> {
    Err("being written".into())
}
