//! Names, addresses and secrets in a text, and what stands in their place.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV4};

pub(super) const ADDRESS: &str = "(address)";
const HOST: &str = "(host)";
pub(super) const USER: &str = "(user)";
const HIDDEN: &str = "(hidden)";

/// Mount options of CIFS and Ceph that hold a secret, beside `password`.
const SECRET_OPTIONS: [&str; 3] = ["pass", "password2", "secret"];
/// Mount options that name a user, a domain or a host.
const NAMING_OPTIONS: [&str; 9] = [
    "dom",
    "domain",
    "mounthost",
    "netbiosname",
    "servern",
    "user",
    "username",
    "workgroup",
    "unc",
];

/// Passwords in addresses and in connection parameters.
pub(super) fn without_secrets(text: &str) -> String {
    let mut text = text.to_owned();
    if text.contains("://") {
        text = without_user_info(&text);
    }
    text = without_passwords(&text);
    without_value(&text, &SECRET_OPTIONS, HIDDEN).unwrap_or(text)
}

/// A mount option by the names of those whose value must not be shown.
fn without_value(text: &str, names: &[&str], stand_in: &str) -> Option<String> {
    let (name, value) = text.split_once('=')?;
    let is_shown = value.is_empty() || value.contains(char::is_whitespace);
    (names.contains(&name) && !is_shown).then(|| format!("{name}={stand_in}"))
}

/// `postgres://user:secret@host` has its part before the @ hidden.
fn without_user_info(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        shown.push_str(before);
        let end = after.find(|c: char| "/?#\"'".contains(c) || c.is_whitespace());
        let (authority, after) = after.split_at(end.unwrap_or(after.len()));
        match authority.rsplit_once('@') {
            Some((_, host)) => shown.push_str(&format!("{HIDDEN}@{host}")),
            None => shown.push_str(authority),
        }
        rest = after;
    }
    shown + rest
}

/// `password=secret`, `password = 'secret'` and `PGPASSWORD=secret`, with what is glued to them.
fn without_passwords(text: &str) -> String {
    const NAME: &str = "password";
    // As long as the text, byte by byte.
    let folded = text.to_ascii_lowercase();
    let mut shown = String::new();
    let mut from = 0;
    while let Some(at) = folded[from..].find(NAME) {
        let behind = from + at + NAME.len();
        shown.push_str(&text[from..behind]);
        from = behind;
        let Some(value) = text[behind..].trim_start_matches(' ').strip_prefix('=') else {
            continue;
        };
        let value = value.trim_start_matches(' ');
        let quoted = value.strip_prefix('\'').map_or(0, |rest| 1 + quoted(rest));
        let ends = |c: char| c.is_whitespace() || c == '&' || c == ';';
        let glued = value[quoted..].find(ends);
        let end = glued.map_or(value.len(), |at| quoted + at);
        shown.push('=');
        shown.push_str(if end == 0 { "" } else { HIDDEN });
        from = text.len() - value.len() + end;
    }
    shown + &text[from..]
}

/// Bytes up to and with the quote that closes: libpq has a backslash before one that does not, SQL
/// another quote.
fn quoted(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            chars.next();
        } else if c == '\'' && chars.next_if(|(_, next)| *next == '\'').is_none() {
            return at + 1;
        }
    }
    text.len()
}

/// Names that are known, and whatever has the form of one.
pub(super) fn without_names(
    text: &str,
    hosts: &[String],
    users: &[String],
    is_version: bool,
) -> String {
    let mut text = without_remote_host(text);
    if let Some(option) = without_value(&text, &NAMING_OPTIONS, super::NAME) {
        return option;
    }
    for home in ["/home/", "/Users/"] {
        text = between(&text, home, USER, |c| {
            matches!(c, '/' | ':' | ',' | ')' | '"' | '\'') || c.is_whitespace()
        });
    }
    for (label, name) in [("user \"", USER), ("role \"", USER), ("host \"", HOST)] {
        text = between(&text, label, name, |c| c == '"');
    }
    if !is_version {
        text = without_addresses(&text);
    }
    for (names, stand_in) in [(hosts, HOST), (users, USER)] {
        for name in names {
            text = without_word(&text, name, stand_in);
        }
    }
    text
}

/// What is mounted from another machine: `host:/export`, `//host/share`, `user@host:/path`.
fn without_remote_host(text: &str) -> String {
    if text.contains(char::is_whitespace) {
        return text.to_owned();
    }
    if let Some(rest) = text.strip_prefix("//")
        && let Some((_, share)) = rest.split_once('/')
    {
        return format!("//{HOST}/{share}");
    }
    match text.split_once(":/") {
        Some((host, path)) if is_host(host) && !path.starts_with('/') => {
            format!("{HOST}:/{path}")
        }
        _ => text.to_owned(),
    }
}

fn is_host(text: &str) -> bool {
    /// What Kerberos has before the path of a key table.
    const KINDS_OF_FILES: [&str; 3] = ["FILE", "WRFILE", "DIR"];
    if KINDS_OF_FILES.contains(&text) {
        return false;
    }
    let part = |c: char| c.is_ascii_alphanumeric() || ".-_@[]:,".contains(c);
    !text.is_empty() && text.chars().all(part)
}

/// Replaces what stands between a label and the first character that ends it.
fn between(text: &str, label: &str, stand_in: &str, ends: impl Fn(char) -> bool) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(label) {
        let (before, after) = rest.split_at(at + label.len());
        shown.push_str(before);
        // What was replaced before may hold a character that ends a name.
        let end = match after.strip_prefix(stand_in) {
            Some(_) => stand_in.len(),
            None => after.find(&ends).unwrap_or(after.len()),
        };
        if end > 0 {
            shown.push_str(stand_in);
        }
        rest = &after[end..];
    }
    shown + rest
}

/// Replaces a name where it stands as a whole word.
fn without_word(text: &str, word: &str, stand_in: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, after) = (&rest[..at], &rest[at + word.len()..]);
        let last = before.chars().next_back().or(shown.chars().next_back());
        let stands_alone = !last.is_some_and(is_part) && !after.starts_with(is_part);
        shown.push_str(before);
        shown.push_str(if stands_alone { stand_in } else { word });
        rest = after;
    }
    shown + rest
}

/// Replaces every address but those that are the same on each machine.
fn without_addresses(text: &str) -> String {
    // Neither kind is shorter than `fd::`.
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '.' || c == ':';
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(is_part) {
        let (before, after) = rest.split_at(at);
        shown.push_str(before);
        let end = after.find(|c: char| !is_part(c)).unwrap_or(after.len());
        let (run, after) = after.split_at(end);
        let is_glued = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let stands_alone = !shown.chars().next_back().is_some_and(is_glued)
            && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        match stood_in(run).filter(|_| stands_alone) {
            Some(stand_in) => shown.push_str(&stand_in),
            None => shown.push_str(run),
        }
        rest = after;
    }
    shown + rest
}

/// What stands for an address, with its port and what ends the sentence kept.
fn stood_in(run: &str) -> Option<String> {
    let bare = run.trim_end_matches(['.', ':']);
    let tail = &run[bare.len()..];
    if let Ok(socket) = bare.parse::<SocketAddrV4>() {
        let port = socket.port();
        return tells(IpAddr::V4(*socket.ip())).then(|| format!("{ADDRESS}:{port}{tail}"));
    }
    let address = match bare.parse::<Ipv4Addr>() {
        Ok(address) => IpAddr::V4(address),
        // Its own end may be the colons that were cut off.
        Err(_) => {
            let address = run.parse::<Ipv6Addr>().or_else(|_| bare.parse());
            IpAddr::V6(address.ok()?)
        }
    };
    tells(address).then(|| format!("{ADDRESS}{}", tail.trim_start_matches(':')))
}

/// Whether the address is somebody's: a cast such as `1::dec` reads as one as well, and is not.
fn tells(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            !(address.is_loopback() || address.is_unspecified() || address.is_broadcast())
        }
        IpAddr::V6(address) => {
            if let Some(address) = address.to_ipv4_mapped() {
                return tells(IpAddr::V4(address));
            }
            let first = address.segments()[0];
            let is_global = first & 0xe000 == 0x2000;
            let is_private = first & 0xfe00 == 0xfc00;
            let is_of_link = first & 0xffc0 == 0xfe80;
            is_global || is_private || is_of_link
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        let (hosts, users) = (["db-17".to_owned()], ["carol".to_owned()]);
        without_names(text, &hosts, &users, false)
    }

    #[test]
    fn addresses_go_and_what_looks_like_them_stays() {
        for (text, expected) in [
            ("to 10.1.2.3, port 5432", "to (address), port 5432"),
            ("10.1.2.3:5432.", "(address):5432."),
            ("10.0.0.0/8", "(address)/8"),
            ("[2001:db8::1]:5432", "[(address)]:5432"),
            ("fe80::1", "(address)"),
            ("::ffff:10.1.2.3", "(address)"),
            (
                "127.0.0.1 and ::1 and 0.0.0.0",
                "127.0.0.1 and ::1 and 0.0.0.0",
            ),
            ("2026-11-21T20:45:00Z", "2026-11-21T20:45:00Z"),
            ("1::dec + x::int", "1::dec + x::int"),
            ("15.18 1.2.3 6.1.0-23", "15.18 1.2.3 6.1.0-23"),
            ("253:0 0000:00:1f.2", "253:0 0000:00:1f.2"),
            ("00:1a:2b:3c:4d:5e", "00:1a:2b:3c:4d:5e"),
        ] {
            assert_eq!(shown(text), expected);
        }
        assert_eq!(without_names("1.2.3.4", &[], &[], true), "1.2.3.4");
    }

    #[test]
    fn names_go_as_whole_words() {
        for (text, expected) in [
            (
                "/home/dave/pg and /home/x",
                "/home/(user)/pg and /home/(user)",
            ),
            ("/home", "/home"),
            ("on db-17.", "on (host)."),
            ("db-170 mydb-17", "db-170 mydb-17"),
            ("carol's carolina", "(user)'s carolina"),
            ("carolcarol carol", "carolcarol (user)"),
            (
                "role \"dave\" does not exist",
                "role \"(user)\" does not exist",
            ),
            ("nas:/export", "(host):/export"),
            ("FILE:/etc/krb5.keytab", "FILE:/etc/krb5.keytab"),
            ("//nas/share", "//(host)/share"),
            ("tmpfs", "tmpfs"),
            ("username=dave", "username=(name)"),
            ("uid=1000", "uid=1000"),
            (
                "https://www.postgresql.org/docs",
                "https://www.postgresql.org/docs",
            ),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn secrets_go_whatever_they_stand_in() {
        for (text, expected) in [
            ("postgres://u:p@h/d", "postgres://(hidden)@h/d"),
            ("see https://h/x@y", "see https://h/x@y"),
            ("password=x host=y", "password=(hidden) host=y"),
            ("password = 'a b' host=y", "password=(hidden) host=y"),
            ("password='open", "password=(hidden)"),
            (r"password='it\'s so' user=u", "password=(hidden) user=u"),
            ("password='it''s so' user=u", "password=(hidden) user=u"),
            ("password='a'b user=u", "password=(hidden) user=u"),
            ("password='' user=u", "password=(hidden) user=u"),
            ("PGPASSWORD=x psql", "PGPASSWORD=(hidden) psql"),
            ("Password = x;b", "Password=(hidden);b"),
            ("password_encryption is md5", "password_encryption is md5"),
            ("password=", "password="),
            ("secret=AQBx", "secret=(hidden)"),
            ("password2=x", "password2=(hidden)"),
            ("pass=", "pass="),
            ("passive=x", "passive=x"),
        ] {
            assert_eq!(without_secrets(text), expected);
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_shown_and_showing_it_again_changes_nothing(text in "([a-f0-9:.@/'= \"]|password|://|/home/|carol|db-17|\\PC){0,40}") {
            let once = shown(&without_secrets(&text));
            prop_assert!(!once.split(' ').any(|word| word == "carol"));
            let _ = shown(&without_secrets(&once));
        }
    }
}
