//! What rows look like as text, and that nothing in them needs escaping.

use super::*;

/// The first rows of a table.
fn first(form: Form, layout: Layout, table: Table, rows: u64) -> String {
    let mut encoder = Encoder::new(form);
    let mut source = source(layout, 7, table, 2);
    assert!(encoder.fill(&mut source, usize::MAX, rows));
    let mut text = Vec::new();
    assert_eq!(encoder.take(&mut text), rows);
    String::from_utf8(text).unwrap()
}

/// Tables with their columns.
const COLUMNS: [(Table, usize); 9] = [
    (Table::Warehouse, 9),
    (Table::District, 11),
    (Table::Customer, 21),
    (Table::History, 9),
    (Table::Orders, 8),
    (Table::NewOrder, 3),
    (Table::OrderLine, 10),
    (Table::Item, 5),
    (Table::Stock, 17),
];

#[test]
fn numbers_and_times_have_their_digits() {
    let mut encoder = Encoder::new(Form::File);
    encoder
        .row()
        .int(0)
        .long(u64::MAX)
        .cents(-1_005)
        .cents(7)
        .rate(123)
        .null()
        .time(rows::LOADED_AT + 3_661)
        .end();
    encoder.row().int(12).end();
    let mut text = Vec::new();
    assert_eq!(encoder.take(&mut text), 2);
    let expected = "0\t18446744073709551615\t-10.05\t0.07\t0.0123\t\\N\t2026-01-01 01:01:01\n12\n";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn rows_for_insert_are_tuples() {
    let orders = first(Form::Values, Layout::Own, Table::NewOrder, 2);
    assert_eq!(orders, "(2101,1,2),(2102,1,2)");
    let mut encoder = Encoder::new(Form::Values);
    encoder.head("INSERT INTO t VALUES ");
    encoder.row().int(1).quoted(b"ab").null().end();
    encoder.row().time(rows::LOADED_AT).end();
    let mut text = Vec::new();
    encoder.take(&mut text);
    let expected = "INSERT INTO t VALUES (1,'ab',NULL),('2026-01-01 00:00:00')";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
}

#[test]
fn every_row_has_all_columns_and_nothing_to_escape() {
    let own = COLUMNS.map(|(table, columns)| (Layout::Own, table, columns));
    // Where rows are others: a credit without cents, a history without a number.
    let sysbench = [
        (Layout::Sysbench, Table::Customer, 21),
        (Layout::Sysbench, Table::History, 8),
    ];
    for (layout, table, columns) in own.into_iter().chain(sysbench) {
        let rows = table.rows(7, 2).min(4_000);
        let text = first(Form::File, layout, table, rows);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len() as u64, rows, "{table:?}");
        for line in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields.len(), columns, "{table:?}: {line}");
            for field in fields.into_iter().filter(|field| *field != r"\N") {
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -.:".contains(&byte);
                assert!(field.bytes().all(plain), "{table:?}: {line}");
                assert!(!field.is_empty(), "{table:?}: {line}");
            }
        }
    }
}

#[test]
fn the_rows_are_all_there_and_history_is_numbered_through() {
    let rows = Table::History.rows(7, 2);
    let text = first(Form::File, Layout::Own, Table::History, rows);
    let numbers = text.lines().filter_map(|line| line.rsplit('\t').next());
    let numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
    assert_eq!(numbers, (30_001..=60_000).collect::<Vec<u64>>());
    for (table, _) in COLUMNS {
        let mut encoder = Encoder::new(Form::File);
        let mut source = source(Layout::Own, 7, table, 2);
        assert!(encoder.fill(&mut source, usize::MAX, u64::MAX));
        let mut text = Vec::new();
        assert_eq!(encoder.take(&mut text), table.rows(7, 2), "{table:?}");
        assert!(!encoder.fill(&mut source, usize::MAX, u64::MAX));
    }
}

#[test]
fn a_buffer_is_filled_to_its_size() {
    let mut encoder = Encoder::new(Form::File);
    let mut source = source(Layout::Own, 7, Table::Stock, 1);
    let mut text = Vec::new();
    assert!(encoder.fill(&mut source, 10_000, u64::MAX));
    let rows = encoder.take(&mut text);
    assert!((10_000..10_500).contains(&text.len()), "{}", text.len());
    assert_eq!(
        text.iter().filter(|byte| **byte == b'\n').count() as u64,
        rows
    );
    assert!(encoder.fill(&mut source, 10_000, 3));
    assert_eq!(encoder.take(&mut text), 3);
}

#[test]
fn a_credit_limit_has_cents_only_where_its_column_has() {
    let field = |layout| {
        let text = first(Form::File, layout, Table::Customer, 1);
        text.split('\t').nth(14).map(str::to_owned)
    };
    assert_eq!(field(Layout::Own).as_deref(), Some("50000.00"));
    assert_eq!(field(Layout::Sysbench).as_deref(), Some("50000"));
}
