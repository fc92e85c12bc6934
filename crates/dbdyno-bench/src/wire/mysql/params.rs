//! Parameters of COM_STMT_EXECUTE: a bitmap of NULLs and the types, which lie before the values.

use super::numeric;
use super::packet::put_lenenc_bytes;
use super::types;
use crate::wire::WireError;

/// Each type is followed by a byte of flags, of which none is ever set here.
const TYPE_SIZE: usize = 2;

/// Takes the parameters of one execution. NULL bitmap and types are written where room was left for
/// them, the values behind.
#[derive(Debug)]
pub(crate) struct Params<'a> {
    out: &'a mut Vec<u8>,
    /// Where they begin in `out`.
    nulls: usize,
    types: usize,
    count: usize,
    given: usize,
    error: Option<WireError>,
}

impl<'a> Params<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>, count: usize) -> Self {
        let nulls = out.len();
        if count > 0 {
            const NEW_PARAMS_BOUND: u8 = 1;
            out.resize(nulls + count.div_ceil(8), 0);
            out.push(NEW_PARAMS_BOUND);
        }
        let types = out.len();
        out.resize(types + count * TYPE_SIZE, 0);
        Self {
            out,
            nulls,
            types,
            count,
            given: 0,
            error: None,
        }
    }

    pub(crate) fn null(&mut self) {
        let index = self.given;
        if self.next(types::NULL) {
            self.out[self.nulls + index / 8] |= 1 << (index % 8);
        }
    }

    pub(crate) fn int(&mut self, value: i64) {
        if self.next(types::LONGLONG) {
            self.out.extend_from_slice(&value.to_le_bytes());
        }
    }

    pub(crate) fn float(&mut self, value: f64) {
        if self.next(types::DOUBLE) {
            self.out.extend_from_slice(&value.to_le_bytes());
        }
    }

    pub(crate) fn fixed(&mut self, value: i64, scale: u8) {
        if self.next(types::NEWDECIMAL) {
            let mut buffer = [0; numeric::LONGEST];
            put_lenenc_bytes(self.out, numeric::format(value, scale, &mut buffer));
        }
    }

    pub(crate) fn decimal(&mut self, value: &str) {
        if self.next(types::NEWDECIMAL) {
            put_lenenc_bytes(self.out, value.as_bytes());
        }
    }

    pub(crate) fn text(&mut self, value: &str) {
        if self.next(types::VAR_STRING) {
            put_lenenc_bytes(self.out, value.as_bytes());
        }
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) {
        if self.next(types::BLOB) {
            put_lenenc_bytes(self.out, value);
        }
    }

    pub(crate) fn ints(&mut self, _values: impl ExactSizeIterator<Item = i64>) {
        self.array();
    }

    pub(crate) fn fixeds(&mut self, _values: impl ExactSizeIterator<Item = i64>, _scale: u8) {
        self.array();
    }

    pub(crate) fn texts<'t>(&mut self, _values: impl ExactSizeIterator<Item = &'t str>) {
        self.array();
    }

    /// # Errors
    /// There were more or fewer parameters than the statement has, or one that MySQL does not know.
    pub(crate) fn finish(self) -> Result<(), WireError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.given != self.count {
            return Err(WireError::Type(format!(
                "a statement of {} parameters was given {}",
                self.count, self.given
            )));
        }
        Ok(())
    }

    /// Whether the statement has another parameter, whose type is set then.
    fn next(&mut self, kind: u32) -> bool {
        let index = self.given;
        self.given += 1;
        if index >= self.count {
            return false;
        }
        self.out[self.types + index * TYPE_SIZE] = kind as u8;
        true
    }

    fn array(&mut self) {
        self.given += 1;
        self.error.get_or_insert_with(|| {
            WireError::Type(
                "MySQL and MariaDB have no arrays: pass JSON text, or one parameter for each value"
                    .to_owned(),
            )
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(count: usize, fill: impl FnOnce(&mut Params<'_>)) -> Result<Vec<u8>, WireError> {
        let mut out = vec![0xee];
        let mut params = Params::new(&mut out, count);
        fill(&mut params);
        params.finish().map(|()| out)
    }

    #[test]
    fn the_layout_is_the_protocols() {
        let out = written(6, |params| {
            params.int(-2);
            params.null();
            params.float(0.5);
            params.fixed(-12_345, 2);
            params.text("né");
            params.bytes(&[0, 255]);
        });
        let expected = [
            &[0xee_u8][..],
            &[0b0000_0010, 1],
            &[8, 0, 6, 0, 5, 0, 0xf6, 0, 0xfd, 0, 0xfc, 0],
            &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            &[0, 0, 0, 0, 0, 0, 0xe0, 0x3f],
            b"\x07-123.45",
            b"\x03n\xc3\xa9",
            b"\x02\x00\xff",
        ]
        .concat();
        assert_eq!(out.unwrap(), expected);
    }

    #[test]
    fn the_ninth_null_lies_in_the_second_byte() {
        let out = written(9, |params| {
            for _ in 0..8 {
                params.int(0);
            }
            params.null();
        });
        assert_eq!(out.unwrap()[1..4], [0, 1, 1]);
    }

    #[test]
    fn without_parameters_there_is_nothing() {
        assert_eq!(written(0, |_| {}).unwrap(), [0xee]);
    }

    #[test]
    fn the_number_of_parameters_has_to_fit() {
        let fewer = written(2, |params| params.int(1));
        assert!(matches!(fewer, Err(WireError::Type(text)) if text.contains("2 parameters")));
        for more in [
            written(0, |params| params.null()),
            written(0, |params| params.int(1)),
            written(0, |params| params.float(1.0)),
            written(0, |params| params.fixed(1, 1)),
            written(0, |params| params.text("a")),
            written(0, |params| params.bytes(b"a")),
        ] {
            assert!(matches!(more, Err(WireError::Type(text)) if text.contains("given 1")));
        }
    }

    #[test]
    fn arrays_are_refused() {
        for array in [
            written(1, |params| params.ints([1].into_iter())),
            written(1, |params| params.fixeds([1].into_iter(), 2)),
            written(1, |params| params.texts(["a"].into_iter())),
        ] {
            assert!(matches!(array, Err(WireError::Type(text)) if text.contains("no arrays")));
        }
    }

    proptest! {
        #[test]
        fn long_texts_keep_their_length(length in 0_usize..70_000) {
            let text = "x".repeat(length);
            let out = written(1, |params| params.text(&text)).unwrap();
            let mut cursor = super::super::packet::Cursor::new(&out[5..]);
            prop_assert_eq!(cursor.lenenc_bytes().unwrap(), text.as_bytes());
            prop_assert!(cursor.rest().is_empty());
        }
    }
}
