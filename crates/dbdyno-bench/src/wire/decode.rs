//! Every decoder over the same bytes, for fuzzing.

use super::row::{Reader, Row, TextRow};
use super::{Column, Engine, Inbound, Login as _, Step, WireError, mysql, postgres};

/// Reads bytes as a server's answers, as a prepared statement and as a login; none of it may panic.
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
            let mut login = postgres::Login::new("u", "d", Some("p"), postgres::Tls::Prefer);
            let _ = login.step(&mut filled(bytes), &mut Vec::new());
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
            let mut login = mysql::Login::new("u", None, Some("p"), mysql::Tls::Prefer, false);
            let mut inbound = filled(bytes);
            for _ in 0..4 {
                let _ = login.step(&mut inbound, &mut Vec::new());
            }
        }
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

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            decode(Engine::Postgres, &bytes);
            decode(Engine::MySql, &bytes);
        }
    }
}
