//! Option files of the mysql client: groups of `name = value`, and files that include others.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::settings::Settings;

/// How deep files may include each other: the client's own limit.
const DEEPEST: usize = 10;

/// Files that one reading takes at most: two that include each other twice would be thousands.
const MOST_FILES: usize = 200;

/// What the groups say in these files, the last of them strongest. A file that cannot be read is
/// passed over, as the client does: most of them do not exist anywhere.
pub(super) fn read_files(files: &[PathBuf], groups: &[&str]) -> Settings {
    let mut reader = Reader {
        groups,
        files_left: MOST_FILES,
        settings: Settings::default(),
    };
    for file in files {
        reader.file(file, 0);
    }
    reader.settings
}

/// How many settings of a connection a file's text holds, for fuzzing; includes are not followed.
#[doc(hidden)]
pub fn read_options(text: &str) -> usize {
    let mut reader = Reader {
        groups: &["client"],
        files_left: 0,
        settings: Settings::default(),
    };
    reader.text(text, 0);
    reader.settings.len()
}

struct Reader<'a> {
    groups: &'a [&'a str],
    files_left: usize,
    settings: Settings,
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, depth: usize) {
        if depth > DEEPEST || self.files_left == 0 {
            return;
        }
        self.files_left -= 1;
        if let Some(text) = trusted_text(path) {
            self.text(&text, depth);
        }
    }

    fn text(&mut self, text: &str, depth: usize) {
        let mut is_ours = false;
        for line in text.lines() {
            match Line::parse(line) {
                Line::Nothing => {}
                Line::Group(name) => is_ours = self.groups.contains(&name),
                Line::Option(name, value) if is_ours => self.settings.set_option(name, value),
                Line::Option(..) => {}
                Line::Include(path) => self.file(Path::new(path), depth + 1),
                Line::IncludeDirectory(path) => self.directory(Path::new(path), depth + 1),
            }
        }
    }

    fn directory(&mut self, path: &Path, depth: usize) {
        if depth > DEEPEST || self.files_left == 0 {
            return;
        }
        for file in files_in(path) {
            self.file(&file, depth);
        }
    }
}

/// None where the client would pass it over: a file that everybody may write says nothing that is
/// believed.
fn trusted_text(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o002 != 0 {
        return None;
    }
    let text = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// In the order of their names.
fn files_in(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cnf"))
        .collect();
    files.sort();
    files
}

#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    /// Empty, a comment, an option without a value, or not to be understood.
    Nothing,
    Group(&'a str),
    Include(&'a str),
    IncludeDirectory(&'a str),
    Option(&'a str, String),
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Self {
        let line = line.trim_ascii();
        if line.starts_with(['#', ';']) {
            return Self::Nothing;
        }
        if let Some(directive) = line.strip_prefix('!') {
            return Self::directive(directive.trim_ascii_start());
        }
        if let Some(group) = line.strip_prefix('[') {
            return match group.split_once(']') {
                Some((name, _)) => Self::Group(name.trim_ascii()),
                None => Self::Nothing,
            };
        }
        match without_comment(line).split_once('=') {
            Some((name, value)) => Self::Option(name.trim_ascii(), unquote(value.trim_ascii())),
            None => Self::Nothing,
        }
    }

    fn directive(text: &'a str) -> Self {
        let (word, path) = text
            .split_once(|c: char| c.is_ascii_whitespace())
            .unwrap_or((text, ""));
        match (word, path.trim_ascii()) {
            (_, "") => Self::Nothing,
            ("include", path) => Self::Include(path),
            ("includedir", path) => Self::IncludeDirectory(path),
            _ => Self::Nothing,
        }
    }
}

/// A `#` ends a line anywhere but within quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, c) in line.char_indices() {
        match quote {
            None if c == '#' => return &line[..at],
            None if c == '\'' || c == '"' => quote = Some(c),
            Some(open) if c == open && !is_escaped => quote = None,
            _ => {}
        }
        is_escaped = quote.is_some() && c == '\\' && !is_escaped;
    }
    line
}

/// Takes one pair of quotes off, and undoes the escapes, which count without quotes as well.
fn unquote(value: &str) -> String {
    let inner = ['"', '\'']
        .into_iter()
        .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    let mut text = String::with_capacity(value.len());
    let mut rest = inner.unwrap_or(value).chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('s') => text.push(' '),
            Some(c @ ('"' | '\'' | '\\')) => text.push(c),
            // No escape: the backslash is one.
            other => {
                text.push('\\');
                text.extend(other);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn option(line: &str) -> (String, String) {
        match Line::parse(line) {
            Line::Option(name, value) => (name.to_owned(), value),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn values_are_read_as_the_client_reads_them() {
        for (line, value) in [
            ("password=plain", "plain"),
            ("  password = two words ", "two words"),
            ("password=a#b", "a"),
            ("password=\"a#b\" # said aloud", "a#b"),
            ("password='it\\'s'", "it's"),
            ("password=\"say \\\"#\\\"\"", "say \"#\""),
            ("password=a\\sb\\\\c\\x", "a b\\c\\x"),
            ("password=a=b", "a=b"),
            ("password=\"", "\""),
            ("password=\\", "\\"),
            ("password=", ""),
        ] {
            assert_eq!(option(line), ("password".into(), value.into()), "{line}");
        }
    }

    #[test]
    fn other_lines_are_told_apart() {
        for nothing in [
            "", " \t", "# a=b", ";a=b", "quick", "[client", "!", "!load x",
        ] {
            assert_eq!(Line::parse(nothing), Line::Nothing, "{nothing}");
        }
        assert_eq!(Line::parse(" [ client ] # x"), Line::Group("client"));
        assert_eq!(Line::parse("!include /a b"), Line::Include("/a b"));
        assert_eq!(
            Line::parse("! includedir\t/etc/x/"),
            Line::IncludeDirectory("/etc/x/")
        );
    }

    #[test]
    fn only_what_a_connection_needs_is_taken() {
        let text = "user=nobody\n[client]\nuser=me\nssl_ca=/a\nloose-port=1\nquick\nmax=2\n\
                    [mysql]\nhost=no\n[client]\nsocket=/s";
        assert_eq!(read_options(text), 4);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(\\PC|\n|\\[client\\]\n|!include(dir)? |[='\"\\\\#])*") {
            read_options(&text);
        }

        #[test]
        fn a_quoted_value_comes_back_unchanged(value in "\\PC{0,20}") {
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
            let (_, read) = option(&format!("password = \"{escaped}\""));
            prop_assert_eq!(read, value);
        }
    }
}
