//! The types that are spoken here, by the oids that every PostgreSQL gives them.

use std::borrow::Cow;

pub(crate) const BOOL: u32 = 16;
pub(crate) const BYTEA: u32 = 17;
/// `"char"`, a single byte.
pub(crate) const CHAR: u32 = 18;
pub(crate) const NAME: u32 = 19;
pub(crate) const INT8: u32 = 20;
pub(crate) const INT2: u32 = 21;
pub(crate) const INT4: u32 = 23;
pub(crate) const TEXT: u32 = 25;
pub(crate) const OID: u32 = 26;
pub(crate) const JSON: u32 = 114;
pub(crate) const FLOAT4: u32 = 700;
pub(crate) const FLOAT8: u32 = 701;
pub(crate) const UNKNOWN: u32 = 705;
pub(crate) const INT2_ARRAY: u32 = 1005;
pub(crate) const INT4_ARRAY: u32 = 1007;
pub(crate) const TEXT_ARRAY: u32 = 1009;
pub(crate) const BPCHAR_ARRAY: u32 = 1014;
pub(crate) const VARCHAR_ARRAY: u32 = 1015;
pub(crate) const INT8_ARRAY: u32 = 1016;
pub(crate) const BPCHAR: u32 = 1042;
pub(crate) const VARCHAR: u32 = 1043;
pub(crate) const DATE: u32 = 1082;
pub(crate) const TIME: u32 = 1083;
pub(crate) const TIMESTAMP: u32 = 1114;
pub(crate) const TIMESTAMPTZ: u32 = 1184;
pub(crate) const NUMERIC_ARRAY: u32 = 1231;
pub(crate) const NUMERIC: u32 = 1700;
pub(crate) const UUID: u32 = 2950;
pub(crate) const JSONB: u32 = 3802;

/// Days from the Unix epoch to PostgreSQL's own, the first of January 2000.
pub(crate) const EPOCH_DAYS: i64 = 10_957;
/// The same in microseconds.
pub(crate) const EPOCH_MICROS: i64 = EPOCH_DAYS * 86_400_000_000;

/// The version byte that a binary jsonb begins with.
pub(crate) const JSONB_VERSION: u8 = 1;

/// In PostgreSQL's words: `type integer`, or `type with oid 600`.
pub(crate) fn name(oid: u32) -> Cow<'static, str> {
    let name = match oid {
        BOOL => "type boolean",
        BYTEA => "type bytea",
        CHAR => "type \"char\"",
        NAME => "type name",
        INT8 => "type bigint",
        INT2 => "type smallint",
        INT4 => "type integer",
        TEXT => "type text",
        OID => "type oid",
        JSON => "type json",
        FLOAT4 => "type real",
        FLOAT8 => "type double precision",
        UNKNOWN => "type unknown",
        INT2_ARRAY => "type smallint[]",
        INT4_ARRAY => "type integer[]",
        TEXT_ARRAY => "type text[]",
        BPCHAR_ARRAY => "type character[]",
        VARCHAR_ARRAY => "type character varying[]",
        INT8_ARRAY => "type bigint[]",
        BPCHAR => "type character",
        VARCHAR => "type character varying",
        DATE => "type date",
        TIME => "type time without time zone",
        TIMESTAMP => "type timestamp without time zone",
        TIMESTAMPTZ => "type timestamp with time zone",
        NUMERIC_ARRAY => "type numeric[]",
        NUMERIC => "type numeric",
        UUID => "type uuid",
        JSONB => "type jsonb",
        _ => return Cow::Owned(format!("type with oid {oid}")),
    };
    Cow::Borrowed(name)
}

/// What the elements of an array are; none if it is no array that is spoken here.
pub(super) fn element(array: u32) -> Option<u32> {
    match array {
        INT2_ARRAY => Some(INT2),
        INT4_ARRAY => Some(INT4),
        INT8_ARRAY => Some(INT8),
        NUMERIC_ARRAY => Some(NUMERIC),
        TEXT_ARRAY => Some(TEXT),
        VARCHAR_ARRAY => Some(VARCHAR),
        BPCHAR_ARRAY => Some(BPCHAR),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_named_after_its_elements() {
        let arrays = [1005, 1007, 1009, 1014, 1015, 1016, 1231];
        for array in arrays {
            let element = element(array).expect("an array");
            assert_eq!(name(array), format!("{}[]", name(element)));
        }
        assert_eq!(element(23), None);
    }

    #[test]
    fn a_type_without_a_name_has_its_oid() {
        assert_eq!(name(21), "type smallint");
        assert_eq!(name(600), "type with oid 600");
    }
}
