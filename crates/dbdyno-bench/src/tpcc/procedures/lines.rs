//! The lines of a new order as a routine takes them.
//!
//! PostgreSQL takes an array for each column. MySQL has no arrays: there they are one text of records
//! of a fixed width, each field filled up with zeros. That is 15 bytes a line where three numbers as
//! parameters would be 30, and a procedure can go through it in a loop, which it cannot with the names
//! of parameters. JSON would have to be parsed again for each value, and becomes a table only since
//! MariaDB 10.6.

use std::fmt::Write as _;

use crate::tpcc::new_order::{Line, MAX_LINES, NewOrderInput, Numbered};
use crate::wire::Params;

/// Lines in the order in which their stocks are locked.
#[derive(Debug)]
pub(super) struct Lines {
    numbered: Numbered,
    earlier: [u8; MAX_LINES],
}

impl Lines {
    pub(super) fn of(input: &NewOrderInput) -> Self {
        let numbered = Numbered::by_stock(input);
        Self {
            earlier: earlier(numbered.lines()),
            numbered,
        }
    }

    /// Number, item, supplying warehouse, quantity and how many lines before it name the same
    /// stock, each as an array; and the most of the last.
    pub(super) fn put_arrays(&self, params: &mut Params<'_>) {
        let lines = self.numbered.lines();
        let earlier = &self.earlier[..lines.len()];
        params.ints(lines.iter().map(|(number, _)| *number as i64));
        params.ints(lines.iter().map(|(_, line)| line.item.into()));
        params.ints(lines.iter().map(|(_, line)| line.supply_warehouse.into()));
        params.ints(lines.iter().map(|(_, line)| line.quantity.into()));
        params.ints(earlier.iter().map(|&count| count.into()));
        let most = earlier.iter().copied().max();
        params.int(most.unwrap_or_default().into());
    }

    /// Number, item, supplying warehouse and quantity in 2, 6, 5 and 2 digits.
    pub(super) fn pack(&self, packed: &mut String) {
        packed.clear();
        for (number, line) in self.numbered.lines() {
            let Line {
                item,
                supply_warehouse,
                quantity,
            } = line;
            // Writing to a String cannot fail.
            let _ = write!(
                packed,
                "{number:02}{item:06}{supply_warehouse:05}{quantity:02}"
            );
        }
    }
}

/// For each line, how many before it name the same stock. They are sorted by stock.
fn earlier(lines: &[(usize, Line)]) -> [u8; MAX_LINES] {
    let stock = |(_, line): &(usize, Line)| (line.supply_warehouse, line.item);
    let mut earlier = [0; MAX_LINES];
    for (index, pair) in lines.windows(2).enumerate() {
        if stock(&pair[0]) == stock(&pair[1]) {
            earlier[index + 1] = earlier[index] + 1;
        }
    }
    earlier
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::random::Random;
    use crate::tpcc::{MAX_WAREHOUSES, constants, new_order};
    use crate::wire::Statement;
    use crate::wire::postgres::execute;
    use crate::wire::postgres::types::{INT2, INT2_ARRAY, INT4, INT4_ARRAY};
    use proptest::prelude::*;

    fn drawn(seed: u64) -> NewOrderInput {
        let mut random = Random::stream(seed, &[]);
        let warehouses = MAX_WAREHOUSES;
        new_order::draw(&mut random, warehouses, warehouses, &constants(seed).c_run)
    }

    /// What was ordered, by number.
    fn sorted(lines: &[(usize, Line)]) -> Vec<(usize, Line)> {
        let mut lines = lines.to_vec();
        lines.sort_unstable_by_key(|(number, _)| *number);
        lines
    }

    fn ordered(input: &NewOrderInput) -> Vec<(usize, Line)> {
        (1..).zip(input.lines().iter().copied()).collect()
    }

    fn unpacked(packed: &str) -> Vec<(usize, Line)> {
        assert_eq!(packed.len() % 15, 0, "{packed}");
        let records = (0..packed.len()).step_by(15);
        let records = records.map(|start| {
            let field = |from: usize, to: usize| packed[start + from..start + to].parse::<u32>();
            let line = Line {
                item: field(2, 8).unwrap(),
                supply_warehouse: field(8, 13).unwrap(),
                quantity: field(13, 15).unwrap(),
            };
            (field(0, 2).unwrap() as usize, line)
        });
        records.collect()
    }

    /// The arrays and the number behind them, as they are sent.
    fn sent(lines: &Lines) -> (Vec<Vec<i64>>, i64) {
        let params = [
            INT2_ARRAY, INT4_ARRAY, INT2_ARRAY, INT2_ARRAY, INT2_ARRAY, INT2,
        ];
        let statement = Statement {
            id: 0,
            params: Box::new(params),
            columns: Box::default(),
        };
        let mut out = Vec::new();
        execute(&mut out, &statement, |params| lines.put_arrays(params)).unwrap();
        // Behind the message's type and length, the names of portal and statement, the format of the
        // parameters and their number.
        let mut rest = &out[15..];
        let arrays: Vec<Vec<i64>> = params[..5].iter().map(|_| array(&mut rest)).collect();
        let [0, 0, 0, 2, high, low, ..] = rest else {
            panic!("no smallint in {rest:?}");
        };
        (arrays, i16::from_be_bytes([*high, *low]).into())
    }

    fn array(rest: &mut &[u8]) -> Vec<i64> {
        let _length = int(rest);
        let _dimensions = int(rest);
        let _has_nulls = int(rest);
        let element = int(rest) as u32;
        let count = int(rest);
        let _lower_bound = int(rest);
        let values = (0..count).map(|_| {
            let size = int(rest) as usize;
            let (value, behind) = rest.split_at(size);
            *rest = behind;
            match element {
                INT2 => i64::from(i16::from_be_bytes(value.try_into().unwrap())),
                INT4 => i64::from(i32::from_be_bytes(value.try_into().unwrap())),
                other => panic!("elements of type {other}"),
            }
        });
        values.collect()
    }

    fn int(rest: &mut &[u8]) -> i32 {
        let (value, behind) = rest.split_first_chunk::<4>().unwrap();
        *rest = behind;
        i32::from_be_bytes(*value)
    }

    #[test]
    fn lines_of_the_same_stock_are_counted() {
        let lines = [(3, 1), (7, 1), (7, 1), (7, 1), (7, 2), (9, 2), (9, 2)].map(
            |(item, supply_warehouse)| {
                let line = Line {
                    item,
                    supply_warehouse,
                    quantity: 1,
                };
                (1, line)
            },
        );
        assert_eq!(earlier(&lines)[..7], [0, 0, 1, 2, 0, 0, 1]);
        assert_eq!(earlier(&[]), [0; MAX_LINES]);
    }

    proptest! {
        #[test]
        fn what_is_packed_is_what_was_ordered(seed in any::<u64>()) {
            let input = drawn(seed);
            let mut packed = "left over".to_owned();
            let lines = Lines::of(&input);
            lines.pack(&mut packed);
            let found = unpacked(&packed);
            prop_assert_eq!(&found[..], lines.numbered.lines());
            prop_assert_eq!(sorted(&found), ordered(&input));
        }

        #[test]
        fn what_is_sent_in_arrays_is_what_was_ordered(seed in any::<u64>()) {
            let input = drawn(seed);
            let lines = Lines::of(&input);
            let (arrays, most) = sent(&lines);
            let count = input.lines().len();
            prop_assert!(arrays.iter().all(|array| array.len() == count));
            let found: Vec<(usize, Line)> = (0..count)
                .map(|index| {
                    let line = Line {
                        item: arrays[1][index] as u32,
                        supply_warehouse: arrays[2][index] as u32,
                        quantity: arrays[3][index] as u32,
                    };
                    (arrays[0][index] as usize, line)
                })
                .collect();
            prop_assert_eq!(sorted(&found), ordered(&input));
            prop_assert_eq!(arrays[4].iter().copied().max(), Some(most));
        }
    }
}
