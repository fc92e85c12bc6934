//! Colour on or off, and what each colour stands for.

use anstyle::{AnsiColor, Style as Ansi};

/// Whether text carries colour. The caller decides it, by terminal and `NO_COLOR`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    #[default]
    Plain,
    Coloured,
}

/// What a piece of text is; words say the same, so that nothing rests on colour alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Heading,
    Dim,
    Good,
    Bad,
    Warn,
}

impl Style {
    /// The text in the colour of its role; unchanged where colour is off or there is no text.
    pub(crate) fn paint(self, role: Role, text: &str) -> String {
        if self == Self::Plain || text.is_empty() {
            return text.to_owned();
        }
        let ansi = match role {
            Role::Heading => Ansi::new().bold(),
            Role::Dim => Ansi::new().dimmed(),
            Role::Good => AnsiColor::Green.on_default().bold(),
            Role::Bad => AnsiColor::Red.on_default().bold(),
            Role::Warn => AnsiColor::Yellow.on_default().bold(),
        };
        format!("{ansi}{text}{ansi:#}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Role, Style};

    #[test]
    fn plain_is_untouched_and_coloured_is_reset() {
        assert_eq!(Style::Plain.paint(Role::Bad, "worse"), "worse");
        assert_eq!(
            Style::Coloured.paint(Role::Bad, "worse"),
            "\u{1b}[1m\u{1b}[31mworse\u{1b}[0m"
        );
        assert_eq!(Style::Coloured.paint(Role::Bad, ""), "");
    }
}
