//! Exact decimals on the wire: scaled integers here, binary `numeric` there.
//!
//! Sent as `numeric`, an amount costs the server neither a parse nor a division, and loses nothing.

use std::error::Error;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

const POSITIVE: u16 = 0x0000;
const NEGATIVE: u16 = 0x4000;

/// A number of `SCALE` decimal places, times 10^`SCALE`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fixed<const SCALE: u32>(pub(crate) i64);

pub(crate) type Cents = Fixed<2>;
/// Ten-thousandths: taxes and discounts.
pub(crate) type Rate = Fixed<4>;

impl<const SCALE: u32> Fixed<SCALE> {
    /// Hands the parts of the binary form to `put`, two bytes at a time: number of base-10000
    /// digits, weight of the first, sign, decimal places, digits.
    pub(crate) fn encode(self, mut put: impl FnMut(u16)) {
        const { assert!(SCALE <= 4) };
        let magnitude = self.0.unsigned_abs();
        let one = 10_u64.pow(SCALE);
        let mut whole = magnitude / one;
        let fraction = magnitude % one * 10_u64.pow(4 - SCALE);
        let mut digits = [0_u16; 6];
        let mut first = digits.len() - 1;
        digits[first] = fraction as u16;
        while whole > 0 {
            first -= 1;
            digits[first] = (whole % 10_000) as u16;
            whole /= 10_000;
        }
        let weight = digits.len() as i16 - first as i16 - 2;
        put((digits.len() - first) as u16);
        put(weight as u16);
        put(if self.0 < 0 { NEGATIVE } else { POSITIVE });
        put(SCALE as u16);
        digits[first..].iter().for_each(|&digit| put(digit));
    }
}

impl<const SCALE: u32> ToSql for Fixed<SCALE> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.encode(|part| out.extend_from_slice(&part.to_be_bytes()));
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::NUMERIC
    }

    to_sql_checked!();
}

impl<'a, const SCALE: u32> FromSql<'a> for Fixed<SCALE> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let mut parts = raw
            .chunks_exact(2)
            .map(|part| u16::from_be_bytes([part[0], part[1]]));
        let (Some(_), Some(weight), Some(sign), Some(_)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err("a numeric shorter than its header".into());
        };
        let mut exponent = 4 * i32::from(weight as i16) + SCALE as i32;
        let mut value = 0_i128;
        for digit in parts {
            let digit = i128::from(digit);
            value += if exponent >= 0 {
                digit * 10_i128.pow(exponent.unsigned_abs())
            } else {
                digit / 10_i128.pow(exponent.unsigned_abs())
            };
            exponent -= 4;
        }
        let value = i64::try_from(value)?;
        match sign {
            POSITIVE => Ok(Self(value)),
            NEGATIVE => Ok(Self(-value)),
            _ => Err("a numeric that is not a number".into()),
        }
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::NUMERIC
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(cents: i64) -> Vec<u16> {
        let mut parts = Vec::new();
        Cents::encode(Fixed(cents), |part| parts.push(part));
        parts
    }

    #[test]
    fn the_form_is_the_servers() {
        // 12345.67, as numeric_send writes it.
        assert_eq!(encoded(1_234_567), [3, 1, 0, 2, 1, 2345, 6700]);
        assert_eq!(encoded(-100), [2, 0, NEGATIVE, 2, 1, 0]);
        assert_eq!(encoded(5), [1, u16::MAX, 0, 2, 500]);
    }

    proptest! {
        #[test]
        fn what_is_sent_is_read_back(value in -999_999_999_999_i64..=999_999_999_999) {
            let mut bytes = BytesMut::new();
            Fixed::<2>(value).to_sql(&Type::NUMERIC, &mut bytes).expect("cannot fail");
            let read = Fixed::<2>::from_sql(&Type::NUMERIC, &bytes).expect("well formed");
            prop_assert_eq!(read.0, value);
        }
    }
}
