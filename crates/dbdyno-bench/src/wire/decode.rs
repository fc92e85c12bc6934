//! Every decoder over the same bytes, for fuzzing.

use super::row::{Reader, Row, TextRow};
use super::{Column, Engine, Inbound, Login, LoginStep, Step, WireError, mysql, postgres};

/// Reads bytes as a server's answers, as a prepared statement and as logins; none of it may panic.
#[doc(hidden)]
pub fn decode(engine: Engine, bytes: &[u8]) {
    let kind = u32::from(bytes.first().copied().unwrap_or_default());
    // Types that rows are read as: the first byte's own, and one of each other sort.
    let columns: Vec<Column> = [kind, 23, 701, 1114, 1700, 1043, 17, 2950]
        .into_iter()
        .map(|kind| Column {
            kind: if engine == Engine::MySql {
                kind & 0xff
            } else {
                kind
            },
            unsigned: kind % 2 == 1,
        })
        .collect();
    match engine {
        Engine::Postgres => {
            let mut answers = postgres::Answers::default();
            read(
                engine,
                bytes,
                |inbound| answers.step(inbound),
                |body| {
                    if let Ok(row) = postgres::row(body, &columns) {
                        each(Row(Reader::Postgres(row)));
                    }
                },
            );
            let _ = postgres::Answers::default().prepared(&mut filled(bytes), 0);
            for tls in [
                postgres::Tls::Never,
                postgres::Tls::Prefer,
                postgres::Tls::Require,
            ] {
                let _ = log_in_to_postgres(tls, bytes);
            }
        }
        Engine::MySql => {
            let mut answers = mysql::Answers::default();
            answers.expect(None);
            answers.expect(None);
            read(
                engine,
                bytes,
                |inbound| answers.step(inbound),
                |body| {
                    if let Ok(row) = mysql::row(body, &columns) {
                        each(Row(Reader::MySql(row)));
                    }
                },
            );
            let _ = mysql::Answers::default().prepared(&mut filled(bytes));
            for (tls, is_socket) in [
                (mysql::Tls::Never, false),
                (mysql::Tls::Prefer, false),
                (mysql::Tls::Require, false),
                (mysql::Tls::Prefer, true),
            ] {
                let _ = log_in_to_mysql(tls, is_socket, bytes);
            }
        }
    }
}

fn log_in_to_postgres(tls: postgres::Tls, bytes: &[u8]) -> Result<LoginStep, WireError> {
    let mut login = postgres::Login::new("u", "d", Some("p"), tls);
    // The answer to SSLRequest is one byte.
    let mut is_answer = tls != postgres::Tls::Never;
    log_in(&mut login, bytes, |rest| {
        if std::mem::take(&mut is_answer) {
            return 1;
        }
        match rest {
            [_, a, b, c, d, ..] => {
                let behind_kind = u32::from_be_bytes([*a, *b, *c, *d]);
                (behind_kind as usize).saturating_add(1)
            }
            _ => rest.len(),
        }
    })
}

fn log_in_to_mysql(tls: mysql::Tls, is_socket: bool, bytes: &[u8]) -> Result<LoginStep, WireError> {
    const HEADER: usize = 4;
    let mut login = mysql::Login::new("u", None, Some("p"), tls, is_socket);
    log_in(&mut login, bytes, |rest| match rest {
        [a, b, c, _, ..] => u32::from_le_bytes([*a, *b, *c, 0]) as usize + HEADER,
        _ => rest.len(),
    })
}

/// Logs in with the bytes as what the server says, one message after the other: in between it
/// waits for what we say.
fn log_in(
    login: &mut impl Login,
    bytes: &[u8],
    mut length: impl FnMut(&[u8]) -> usize,
) -> Result<LoginStep, WireError> {
    let (mut inbound, mut out) = (Inbound::default(), Vec::new());
    let mut rest = bytes.to_vec();
    loop {
        out.clear();
        match login.step(&mut inbound, &mut out)? {
            LoginStep::Send | LoginStep::StartTls => echo_nonce(&out, &mut rest),
            LoginStep::More if rest.is_empty() => return Ok(LoginStep::More),
            LoginStep::More => {
                let length = length(&rest).clamp(1, rest.len());
                inbound.extend(&rest[..length]);
                rest.drain(..length);
            }
            LoginStep::Ready => return Ok(LoginStep::Ready),
        }
    }
}

/// SCRAM's nonce is another each time, and a server has to repeat it: it takes the place of
/// whatever stands there, since no fuzzer would guess it.
fn echo_nonce(sent: &[u8], rest: &mut [u8]) {
    let behind = |bytes: &[u8], begin: &[u8]| {
        let mut windows = bytes.windows(begin.len());
        windows
            .position(|window| window == begin)
            .map(|at| at + begin.len())
    };
    let ours = behind(sent, b"n,,n=,r=").map(|at| &sent[at..]);
    let theirs = behind(rest, b"r=").map(|at| &mut rest[at..]);
    for (ours, theirs) in ours.into_iter().flatten().zip(theirs.into_iter().flatten()) {
        *theirs = *ours;
    }
}

fn filled(bytes: &[u8]) -> Inbound {
    let mut inbound = Inbound::default();
    inbound.extend(bytes);
    inbound
}

fn read(
    engine: Engine,
    bytes: &[u8],
    mut step: impl FnMut(&mut Inbound) -> Result<Step, WireError>,
    row: impl Fn(&[u8]),
) {
    let text = |body: &[u8]| drop(TextRow { engine, body }.fields());
    row(bytes);
    text(bytes);
    let mut inbound = filled(bytes);
    let mut refusals = 0;
    while refusals < 8 {
        match step(&mut inbound) {
            Ok(Step::More | Step::SendFile) => return,
            Ok(Step::Row(range)) => row(inbound.slice(range)),
            Ok(Step::TextRow(range)) => text(inbound.slice(range)),
            Ok(Step::Done(_)) => {}
            Err(_) => refusals += 1,
        }
    }
}

/// Each column as something else.
fn each(mut row: Row<'_>) {
    let _ = row.try_int();
    let _ = row.try_fixed(2);
    let _ = row.try_float();
    let _ = row.try_int();
    let _ = row.try_fixed(4);
    let _ = row.try_text();
    let _ = row.try_bytes();
    let _ = row.skip();
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A seed of the fuzz target, by its name.
    macro_rules! seed {
        ($name:literal) => {
            include_bytes!(concat!("../../../../fuzz/corpus/wire/seed-", $name))
        };
    }

    #[test]
    fn the_seeds_of_postgresql_reach_each_phase_of_a_login() {
        use super::postgres::Tls;
        let end = |tls, bytes: &[u8]| match log_in_to_postgres(tls, bytes) {
            Ok(step) => format!("{step:?}"),
            Err(error) => error.to_string(),
        };
        let scram = end(Tls::Never, seed!("postgres-scram"));
        assert!(scram.contains("verification"), "{scram}");
        assert_eq!(end(Tls::Prefer, seed!("postgres-tls")), "Ready");
        assert_eq!(end(Tls::Prefer, seed!("postgres-no-tls")), "Ready");
        assert!(end(Tls::Require, seed!("postgres-no-tls")).contains("TLS is required"));
        assert_eq!(end(Tls::Never, seed!("postgres-md5")), "Ready");
        assert_eq!(end(Tls::Never, seed!("postgres-password")), "Ready");
        let refused = end(Tls::Never, seed!("postgres-refused"));
        assert!(refused.contains("53300"), "{refused}");
    }

    #[test]
    fn the_seeds_of_mysql_reach_each_phase_of_a_login() {
        use super::mysql::Tls;
        let end = |tls, bytes: &[u8]| match log_in_to_mysql(tls, false, bytes) {
            Ok(step) => format!("{step:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(end(Tls::Never, seed!("mysql-fast")), "Ready");
        assert_eq!(end(Tls::Prefer, seed!("mysql-tls-full")), "Ready");
        assert_eq!(end(Tls::Never, seed!("mysql-switch")), "Ready");
        assert_eq!(end(Tls::Never, seed!("mariadb-native")), "Ready");
        let key = end(Tls::Never, seed!("mysql-key"));
        assert!(key.contains("key"), "{key}");
        let full = end(Tls::Never, seed!("mysql-full-server"));
        assert!(full.contains("1040"), "{full}");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            decode(Engine::Postgres, &bytes);
            decode(Engine::MySql, &bytes);
        }
    }
}
