//! `scheme://user:password@host:port/database?parameter=value`, read the way libpq reads it.

use super::error::ConnectionError;
use super::parameters::Parameters;

/// What a piece of a URI tells; of several hosts, with commas between them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a> {
    User,
    Password,
    Host,
    Port,
    Database,
    /// The parameter of that name, from behind the `?`.
    Query(&'a str),
}

/// Takes a part with its decoded value; an empty one was not given.
type Set<'a> = dyn FnMut(Part<'_>, String) -> Result<(), ConnectionError> + 'a;

/// Reads what follows the `//` of a PostgreSQL server's URI.
pub(super) fn parse(text: &str) -> Result<Parameters, ConnectionError> {
    let mut parameters = Parameters::default();
    read(text, &mut |part, value| match part {
        Part::User => parameters.set("user", value),
        Part::Password => parameters.set("password", value),
        Part::Host => parameters.set("host", value),
        Part::Port => parameters.set("port", value),
        Part::Database => parameters.set("dbname", value),
        // What JDBC users write.
        Part::Query("ssl") if value == "true" => parameters.set("sslmode", "require".into()),
        Part::Query(name) => parameters.set(name, value),
    })?;
    Ok(parameters)
}

/// Takes any URI of a server apart: what follows its `//`.
pub(super) fn read(text: &str, set: &mut Set<'_>) -> Result<(), ConnectionError> {
    let (user_info, rest) = match text.find(['@', '/']) {
        Some(at) if text[at..].starts_with('@') => (Some(&text[..at]), &text[at + 1..]),
        _ => (None, text),
    };
    let (location, query) = match rest.split_once('?') {
        Some((location, query)) => (location, Some(query)),
        None => (rest, None),
    };
    // A second @ means that the first one, or a slash in front of it, belonged to the password:
    // what looks like a host is then a piece of it.
    if location.contains('@') {
        return Err(ConnectionError::Ambiguous);
    }
    let mut parts = || {
        if let Some(user_info) = user_info {
            let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
            set(Part::User, decode(user)?)?;
            set(Part::Password, decode(password)?)?;
        }
        read_location(location, set)?;
        read_query(query.unwrap_or(""), set)
    };
    match parts() {
        Err(_) if rest.contains('@') => Err(ConnectionError::Ambiguous),
        result => result,
    }
}

fn read_location(location: &str, set: &mut Set<'_>) -> Result<(), ConnectionError> {
    let (authority, database) = location.split_once('/').unwrap_or((location, ""));
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    for place in authority.split(',') {
        let (host, port) = host_and_port(place)?;
        hosts.push(decode(host)?);
        ports.push(decode(port)?);
    }
    // No port at all is not a list of empty ones.
    if ports.iter().all(String::is_empty) {
        ports.clear();
    }
    set(Part::Host, hosts.join(","))?;
    set(Part::Port, ports.join(","))?;
    set(Part::Database, decode(database)?)
}

fn host_and_port(place: &str) -> Result<(&str, &str), ConnectionError> {
    Ok(if let Some(bracketed) = place.strip_prefix('[') {
        let (host, after) = bracketed
            .split_once(']')
            .ok_or(malformed("a `[` has no `]`"))?;
        match after.strip_prefix(':') {
            Some(port) => (host, port),
            None if after.is_empty() => (host, ""),
            None => return Err(malformed("something other than a port follows the `]`")),
        }
    } else {
        match place.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err(malformed("an IPv6 address must stand in brackets: [::1]"));
            }
            Some(pair) => pair,
            None => (place, ""),
        }
    })
}

fn read_query(query: &str, set: &mut Set<'_>) -> Result<(), ConnectionError> {
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair
            .split_once('=')
            .ok_or(malformed("a parameter behind the `?` has no `=`"))?;
        set(Part::Query(&decode(name)?), decode(value)?)?;
    }
    Ok(())
}

fn malformed(why: &'static str) -> ConnectionError {
    ConnectionError::Malformed { form: "URI", why }
}

/// Percent-decoding; neither a zero byte nor anything but UTF-8 may come out.
fn decode(text: &str) -> Result<String, ConnectionError> {
    let broken = || malformed("a `%` is not followed by two hexadecimal digits; write %25");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || {
            let digit = char::from(rest.next()?).to_digit(16)?;
            u8::try_from(digit).ok()
        };
        let (high, low) = (digit().ok_or_else(broken)?, digit().ok_or_else(broken)?);
        bytes.push(high << 4 | low);
    }
    if bytes.contains(&0) {
        return Err(malformed("it contains a zero byte"));
    }
    String::from_utf8(bytes).map_err(|_| malformed("it is not UTF-8 once it is decoded"))
}
