//! Answers byte by byte: what is handed out, and what is left for the next command.

use super::super::testing::{definition, packet, packets};
use super::super::types;
use super::*;
use crate::wire::ServerError;
use proptest::prelude::*;

const NO_EOF: Capabilities = Capabilities {
    deprecate_eof: true,
    cache_metadata: false,
};
const CACHE: Capabilities = Capabilities {
    deprecate_eof: true,
    cache_metadata: true,
};

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
/// One row is affected, within a transaction.
const OK_ONE: &[u8] = &[0, 1, 0, 3, 0, 0, 0];
/// Two rows are affected, and another answer follows.
const OK_TWO_MORE: &[u8] = &[0, 2, 0, 0x0a, 0, 0, 0];
const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
const END_MORE: &[u8] = &[0xfe, 0, 0, 0x0a, 0, 0, 0];
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
const EOF_IN_TRANSACTION: &[u8] = &[0xfe, 0, 0, 3, 0];
const DUPLICATE: &[u8] = b"\xff\x26\x04#23000Duplicate entry";
/// A binary row of the number 7, and of 8.
const SEVEN: &[u8] = &[0, 0, 7, 0, 0, 0];
const EIGHT: &[u8] = &[0, 0, 8, 0, 0, 0];

/// Steps, with rows as their bytes.
#[derive(Debug, PartialEq)]
enum Seen {
    Row(Vec<u8>),
    Text(Vec<u8>),
    Done(Done),
    SendFile,
    Refused(ServerError),
    Broken(String),
}

fn statement() -> Statement {
    Statement {
        id: 5,
        params: Box::default(),
        columns: Box::new([Column {
            kind: types::LONG,
            unsigned: false,
        }]),
    }
}

fn int() -> Vec<u8> {
    definition(0x03, 0)
}

fn row(bytes: &[u8]) -> Seen {
    Seen::Row(bytes.to_vec())
}

fn done(affected: u64, in_transaction: bool) -> Seen {
    Seen::Done(Done {
        affected,
        in_transaction,
    })
}

/// Everything that can be taken now. After what is broken nothing is.
fn take(answers: &mut Answers, inbound: &mut Inbound) -> Vec<Seen> {
    let mut seen = Vec::new();
    loop {
        let step = match answers.step(inbound) {
            Ok(Step::More) => return seen,
            Ok(Step::Row(range)) => row(inbound.slice(range)),
            Ok(Step::TextRow(range)) => Seen::Text(inbound.slice(range).to_vec()),
            Ok(Step::Done(end)) => Seen::Done(end),
            Ok(Step::SendFile) => Seen::SendFile,
            Err(WireError::Server(error)) => Seen::Refused(*error),
            Err(error) => {
                seen.push(Seen::Broken(error.to_string()));
                return seen;
            }
        };
        seen.push(step);
    }
}

fn take_all(answers: &mut Answers, bytes: &[u8]) -> Vec<Seen> {
    let mut inbound = Inbound::default();
    inbound.extend(bytes);
    take(answers, &mut inbound)
}

/// One answer for each: executions of [`statement`], or text.
fn expecting(capabilities: Capabilities, binary: &[bool]) -> Answers {
    let mut answers = Answers::new(capabilities);
    for &binary in binary {
        let statement = statement();
        answers.expect(binary.then_some(&statement));
    }
    answers
}

fn broken(seen: &[Seen], words: &str) {
    assert!(
        matches!(seen, [.., Seen::Broken(text)] if text.contains(words)),
        "{seen:?}"
    );
}

#[test]
fn pipelined_answers_of_two_commands() {
    let bytes = [packets(&[OK_ONE]), packets(&[DUPLICATE]), packets(&[OK])].concat();
    let seen = take_all(&mut expecting(NO_EOF, &[true, false, true]), &bytes);
    let refused = ServerError {
        sqlstate: "23000".to_owned(),
        number: Some(1062),
        message: "Duplicate entry".to_owned(),
        hint: None,
        fatal: false,
    };
    assert_eq!(
        seen,
        [done(1, true), Seen::Refused(refused), done(0, false)]
    );
}

#[test]
fn a_result_set_without_eof_packets() {
    let bytes = packets(&[&[1], &int(), SEVEN, EIGHT, END]);
    let seen = take_all(&mut expecting(NO_EOF, &[true]), &bytes);
    assert_eq!(seen, [row(SEVEN), row(EIGHT), done(0, false)]);
}

#[test]
fn a_result_set_with_eof_packets() {
    let bytes = packets(&[&[1], &int(), EOF, SEVEN, EOF_IN_TRANSACTION]);
    let seen = take_all(&mut expecting(Capabilities::default(), &[true]), &bytes);
    assert_eq!(seen, [row(SEVEN), done(0, true)]);
    let bytes = packets(&[&[1], &int(), SEVEN]);
    let seen = take_all(&mut expecting(Capabilities::default(), &[true]), &bytes);
    broken(&seen, "EOF after column definitions");
}

#[test]
fn rows_of_text_are_told_apart() {
    let text = packets(&[&[1], &int(), b"\x017", b"\x018", END]);
    let binary = packets(&[&[1], &int(), SEVEN, END]);
    let bytes = [text, binary].concat();
    let seen = take_all(&mut expecting(NO_EOF, &[false, true]), &bytes);
    let text = |bytes: &[u8]| Seen::Text(bytes.to_vec());
    let first = [text(b"\x017"), text(b"\x018"), done(0, false)];
    assert_eq!(seen[..3], first);
    assert_eq!(seen[3..], [row(SEVEN), done(0, false)]);
    let seen = take_all(&mut expecting(NO_EOF, &[true]), &bytes);
    broken(&seen, "binary");
}

#[test]
fn an_answer_may_have_several_result_sets() {
    let bytes = packets(&[
        OK_TWO_MORE,
        &[1],
        &int(),
        SEVEN,
        END_MORE,
        &[1],
        &int(),
        EIGHT,
        END_MORE,
        OK_ONE,
    ]);
    let mut answers = expecting(NO_EOF, &[true, true]);
    let seen = take_all(&mut answers, &bytes);
    assert_eq!(seen, [row(SEVEN), row(EIGHT), done(3, true)]);
    let seen = take_all(&mut answers, &packets(&[OK_ONE]));
    assert_eq!(seen, [done(1, true)], "the next begins at zero");
}

#[test]
fn a_call_is_one_statement_whatever_it_returns() {
    // A result set that the procedure returns, and its end.
    let bytes = packets(&[&[1], &int(), SEVEN, EIGHT, END_MORE, OK]);
    let mut answers = expecting(NO_EOF, &[true]);
    let seen = take_all(&mut answers, &bytes);
    assert_eq!(seen, [row(SEVEN), row(EIGHT), done(0, false)]);
    assert_eq!(answers.statements(), 1);
    // Inside of procedures MariaDB sends definitions though it caches them elsewhere.
    let bytes = packets(&[&[1, 1], &int(), SEVEN, END_MORE, OK]);
    let mut answers = expecting(CACHE, &[true]);
    let seen = take_all(&mut answers, &bytes);
    assert_eq!(seen, [row(SEVEN), done(0, false)]);
    // It fails when rows were sent: at its COMMIT, say.
    let bytes = packets(&[&[1], &int(), SEVEN, END_MORE, DUPLICATE]);
    let mut answers = expecting(NO_EOF, &[true]);
    let seen = take_all(&mut answers, &bytes);
    assert!(matches!(&seen[..], [Seen::Row(_), Seen::Refused(_)]));
    assert_eq!(answers.statements(), 0);
    // Statements of a text are counted one by one.
    let mut answers = expecting(NO_EOF, &[false]);
    let seen = take_all(&mut answers, &packets(&[OK_TWO_MORE, OK_ONE]));
    assert_eq!(seen, [done(3, true)]);
    assert_eq!(answers.statements(), 2);
}

#[test]
fn a_call_without_deprecated_eof_ends_each_result_set_with_one() {
    let eof_more: &[u8] = &[0xfe, 0, 0, 0x0a, 0];
    let bytes = packets(&[&[1], &int(), EOF, SEVEN, eof_more, OK_ONE]);
    let mut answers = expecting(Capabilities::default(), &[true]);
    let seen = take_all(&mut answers, &bytes);
    assert_eq!(seen, [row(SEVEN), done(1, true)]);
    assert_eq!(answers.statements(), 1);
}

#[test]
fn an_error_may_come_instead_of_a_row() {
    let bytes = [
        packets(&[OK_TWO_MORE, &[1], &int(), SEVEN, DUPLICATE]),
        packets(&[OK_ONE]),
    ]
    .concat();
    let seen = take_all(&mut expecting(NO_EOF, &[true, true]), &bytes);
    assert_eq!(seen[0], row(SEVEN));
    assert!(matches!(seen[1], Seen::Refused(_)));
    assert_eq!(seen[2..], [done(1, true)]);
}

#[test]
fn a_file_is_asked_for() {
    let mut answers = expecting(NO_EOF, &[false]);
    let mut inbound = Inbound::default();
    inbound.extend(&packet(1, b"\xfb/tmp/rows.tsv"));
    assert_eq!(take(&mut answers, &mut inbound), [Seen::SendFile]);
    assert_eq!(answers.file_sequence(), 2);
    inbound.extend(&packet(4, OK_ONE));
    assert_eq!(take(&mut answers, &mut inbound), [done(1, true)]);
}

#[test]
fn what_is_cut_short_waits_for_more() {
    let bytes = packets(&[&[1], &int(), SEVEN, EIGHT, END]);
    for length in 0..bytes.len() {
        let mut answers = expecting(NO_EOF, &[true]);
        let seen = take_all(&mut answers, &bytes[..length]);
        assert!(
            seen.iter().all(|step| matches!(step, Seen::Row(_))),
            "{length}: {seen:?}"
        );
    }
}

#[test]
fn columns_are_those_that_were_sent_last() {
    let statement = statement();
    let mut answers = expecting(NO_EOF, &[true, true]);
    let mut inbound = Inbound::default();
    inbound.extend(&packets(&[&[1], &definition(0x08, 0x20), SEVEN]));
    assert_eq!(take(&mut answers, &mut inbound), [row(SEVEN)]);
    let sent = [Column {
        kind: types::LONGLONG,
        unsigned: true,
    }];
    assert_eq!(answers.columns(&statement), sent);
}

#[test]
fn cached_definitions_are_left_out() {
    let statement = statement();
    let mut answers = expecting(CACHE, &[true, true, true]);
    let seen = take_all(&mut answers, &packets(&[&[1, 0], SEVEN, END]));
    assert_eq!(seen, [row(SEVEN), done(0, false)]);
    assert_eq!(*answers.columns(&statement), *statement.columns);

    let changed = packets(&[&[1, 1], &definition(0x09, 0), SEVEN, END]);
    let as_before = packets(&[&[1, 0], EIGHT, END]);
    let seen = take_all(&mut answers, &[changed, as_before].concat());
    assert_eq!(
        seen,
        [row(SEVEN), done(0, false), row(EIGHT), done(0, false)]
    );
    assert_eq!(answers.columns(&statement)[0].kind, types::INT24);

    let other = Statement { id: 6, ..statement };
    answers.expect(Some(&other));
    let seen = take_all(&mut answers, &packets(&[&[1, 0], SEVEN, END]));
    assert_eq!(seen.len(), 2);
    assert_eq!(*answers.columns(&other), *other.columns);
}

#[test]
fn cached_definitions_still_end_with_eof_where_it_is_not_deprecated() {
    let capabilities = Capabilities {
        deprecate_eof: false,
        cache_metadata: true,
    };
    let bytes = packets(&[&[1, 0], EOF, SEVEN, EOF]);
    let seen = take_all(&mut expecting(capabilities, &[true]), &bytes);
    assert_eq!(seen, [row(SEVEN), done(0, false)]);
}

#[test]
fn what_nobody_asked_for_is_the_last_word() {
    let seen = take_all(&mut expecting(NO_EOF, &[]), &packets(&[DUPLICATE]));
    assert!(matches!(&seen[..], [Seen::Refused(error)] if error.fatal));
    let seen = take_all(&mut expecting(NO_EOF, &[]), &packets(&[OK]));
    broken(&seen, "nothing was asked");
}

#[test]
fn what_is_no_answer_is_refused() {
    for (payload, words) in [
        (&b""[..], "empty"),
        (&[0xfc, 0, 0], "without columns"),
        (&[0xfe, 0, 0], "too early"),
        (&[0, 1], "too early"),
    ] {
        let seen = take_all(&mut expecting(NO_EOF, &[true]), &packets(&[payload]));
        broken(&seen, words);
    }
    let seen = take_all(&mut expecting(NO_EOF, &[true]), &[0xff, 0xff, 0xff, 1]);
    broken(&seen, "16 MiB");
}

fn payload() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..24),
        Just(OK_ONE.to_vec()),
        Just(OK_TWO_MORE.to_vec()),
        Just(END.to_vec()),
        Just(END_MORE.to_vec()),
        Just(EOF.to_vec()),
        Just(DUPLICATE.to_vec()),
        Just(SEVEN.to_vec()),
        Just(vec![1]),
        Just(vec![2, 1]),
        Just(vec![1, 0]),
        Just(int()),
    ]
}

proptest! {
    #[test]
    fn it_does_not_matter_how_bytes_arrive(
        payloads in prop::collection::vec(payload(), 0..24),
        binary in prop::collection::vec(any::<bool>(), 0..6),
        deprecate_eof in any::<bool>(),
        cache_metadata in any::<bool>(),
        step in 1_usize..20,
    ) {
        let capabilities = Capabilities { deprecate_eof, cache_metadata };
        let bytes: Vec<u8> = payloads.iter().flat_map(|it| packet(0, it)).collect();
        let whole = take_all(&mut expecting(capabilities, &binary), &bytes);
        let mut answers = expecting(capabilities, &binary);
        let mut inbound = Inbound::default();
        let mut parts = Vec::new();
        for chunk in bytes.chunks(step) {
            inbound.extend(chunk);
            parts.extend(take(&mut answers, &mut inbound));
            if matches!(parts.last(), Some(Seen::Broken(_))) {
                break;
            }
        }
        prop_assert_eq!(whole, parts);
    }

    #[test]
    fn no_bytes_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        binary in prop::collection::vec(any::<bool>(), 0..6),
    ) {
        let seen = take_all(&mut expecting(NO_EOF, &binary), &bytes);
        prop_assert!(seen.len() <= bytes.len());
    }
}
