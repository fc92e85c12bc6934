//! Parameters of an execution, each encoded as the type that the server expects.

use super::encode::{self, Misfit};
use super::types;
use crate::wire::WireError;

/// Appends the values of a Bind message, first to last.
#[derive(Debug)]
pub(crate) struct Params<'a> {
    out: &'a mut Vec<u8>,
    oids: &'a [u32],
    given: usize,
    error: Option<WireError>,
}

impl<'a> Params<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>, oids: &'a [u32]) -> Self {
        Self {
            out,
            oids,
            given: 0,
            error: None,
        }
    }

    pub(crate) fn null(&mut self) {
        if self.expected().is_some() {
            self.out.extend_from_slice(&(-1_i32).to_be_bytes());
        }
    }

    /// For integers, oid, boolean (0 and 1), floats and numeric; for a timestamp in microseconds
    /// and for a date in days since the Unix epoch; for a time in microseconds since midnight.
    pub(crate) fn int(&mut self, value: i64) {
        self.put(|out, oid| encode::int(out, oid, value));
    }

    /// For `real` and `double precision`.
    pub(crate) fn float(&mut self, value: f64) {
        self.put(|out, oid| encode::float(out, oid, value));
    }

    /// `value` / 10^`scale` for numeric, floats and, without a fraction, integers. At most 18
    /// decimals.
    pub(crate) fn fixed(&mut self, value: i64, scale: u8) {
        self.put(|out, oid| encode::fixed(out, oid, value, scale));
    }

    /// Decimal text, for numeric.
    pub(crate) fn decimal(&mut self, value: &str) {
        self.put(|out, oid| encode::decimal_text(out, oid, value));
    }

    /// For any text type, json, jsonb and uuid.
    pub(crate) fn text(&mut self, value: &str) {
        self.put(|out, oid| encode::text(out, oid, value));
    }

    /// For bytea, and uuid if there are 16.
    pub(crate) fn bytes(&mut self, value: &[u8]) {
        self.put(|out, oid| encode::bytes(out, oid, value));
    }

    /// For an array of integers or numeric.
    pub(crate) fn ints(&mut self, values: impl ExactSizeIterator<Item = i64>) {
        self.put(|out, oid| encode::array(out, oid, values, encode::int));
    }

    /// For an array of numeric or, without fractions, integers.
    pub(crate) fn fixeds(&mut self, values: impl ExactSizeIterator<Item = i64>, scale: u8) {
        self.put(|out, oid| {
            encode::array(out, oid, values, |out, oid, value| {
                encode::fixed(out, oid, value, scale)
            })
        });
    }

    /// For an array of text, character varying or character.
    pub(crate) fn texts<'t>(&mut self, values: impl ExactSizeIterator<Item = &'t str>) {
        self.put(|out, oid| encode::array(out, oid, values, encode::text));
    }

    /// # Errors
    /// [`WireError::Type`]: the first value that did not fit, or a wrong number of values.
    pub(crate) fn finish(self) -> Result<(), WireError> {
        let (given, expected) = (self.given, self.oids.len());
        match self.error {
            Some(error) => Err(error),
            None if given == expected => Ok(()),
            None => Err(WireError::Type(format!(
                "wrong number of parameters: {expected} expected, {given} given"
            ))),
        }
    }

    /// The type of the next parameter, if it is still worth encoding one.
    fn expected(&mut self) -> Option<u32> {
        let oid = self.oids.get(self.given).copied();
        self.given += 1;
        oid.filter(|_| self.error.is_none())
    }

    fn put(&mut self, encode: impl FnOnce(&mut Vec<u8>, u32) -> Result<(), Misfit>) {
        let Some(oid) = self.expected() else { return };
        if let Err(misfit) = encode::sized(self.out, |out| encode(out, oid)) {
            self.error = Some(WireError::Type(format!(
                "parameter {} is of {}, which {misfit}",
                self.given,
                types::name(oid)
            )));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::types::{DATE, INT2, INT4, INT4_ARRAY, NUMERIC_ARRAY, TEXT, TEXT_ARRAY, UUID};
    use super::*;

    fn filled(oids: &[u32], fill: impl FnOnce(&mut Params<'_>)) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        let mut params = Params::new(&mut out, oids);
        fill(&mut params);
        match params.finish() {
            Ok(()) => Ok(out),
            Err(WireError::Type(message)) => Err(message),
            Err(error) => panic!("not an error of types: {error:?}"),
        }
    }

    #[test]
    fn values_follow_each_other_with_their_lengths() {
        let sent = filled(&[INT2, TEXT, INT4, TEXT], |params| {
            params.int(1);
            params.text("ab");
            params.null();
            params.text("");
        });
        let expected = [
            &[0_u8, 0, 0, 2, 0, 1][..],
            b"\0\0\0\x02ab",
            &[0xff; 4],
            &[0; 4],
        ];
        assert_eq!(sent.unwrap(), expected.concat());
    }

    #[test]
    fn arrays_are_one_value_each() {
        let oids = [INT4_ARRAY, NUMERIC_ARRAY, TEXT_ARRAY];
        let sent = filled(&oids, |params| {
            params.ints([1].into_iter());
            params.fixeds([].into_iter(), 2);
            params.texts(["a"].into_iter());
        });
        let sent = sent.unwrap();
        assert_eq!(sent[..4], [0, 0, 0, 28]);
        assert_eq!(sent[32..36], [0, 0, 0, 12]);
        assert_eq!(sent[48..52], [0, 0, 0, 25]);
        assert_eq!(sent.len(), 77);
    }

    #[test]
    fn the_first_misfit_is_told_with_its_number_and_type() {
        let error = filled(&[INT4, TEXT, INT2, INT2], |params| {
            params.int(1);
            params.null();
            params.int(70_000);
            params.int(80_000);
        });
        let expected = "parameter 3 is of type smallint, which 70000 does not fit";
        assert_eq!(error.unwrap_err(), expected);

        let error = filled(&[600], |params| params.float(0.5));
        let expected = "parameter 1 is of type with oid 600, which 0.5 does not fit";
        assert_eq!(error.unwrap_err(), expected);

        let error = filled(&[DATE], |params| params.text("tomorrow"));
        let expected = "parameter 1 is of type date, which text does not fit: \
            have the server compute it, as by a cast from text";
        assert_eq!(error.unwrap_err(), expected);
    }

    #[test]
    fn the_number_of_values_has_to_be_right() {
        let error = filled(&[INT4, INT4], |params| params.int(1));
        let expected = "wrong number of parameters: 2 expected, 1 given";
        assert_eq!(error.unwrap_err(), expected);

        let error = filled(&[UUID], |params| {
            params.bytes(&[0; 16]);
            params.null();
            params.int(1);
        });
        let expected = "wrong number of parameters: 1 expected, 3 given";
        assert_eq!(error.unwrap_err(), expected);
    }
}
