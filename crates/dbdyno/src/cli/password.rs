//! Where TARGET's password comes from, on every command that takes a TARGET.

use std::path::PathBuf;

use clap::Args;

/// Without either, the password comes from where psql or mysql would take it.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PasswordFrom {
    /// Take TARGET's password from this file, which nobody else may be able to read
    #[arg(long, value_name = "FILE", conflicts_with = "password_command")]
    pub(crate) password_file: Option<PathBuf>,

    /// Take TARGET's password from the first line that this command prints; /bin/sh runs it
    #[arg(long, value_name = "COMMAND")]
    pub(crate) password_command: Option<String>,
}

impl PasswordFrom {
    /// The option that was given, if one was.
    pub(crate) fn option(&self) -> Option<&'static str> {
        if self.password_file.is_some() {
            return Some("--password-file");
        }
        self.password_command
            .is_some()
            .then_some("--password-command")
    }
}
