//! Input of the New-Order transaction (clause 2.4.1).

use super::random::Random;
use super::{DISTRICTS, ITEMS};

pub(crate) const MIN_LINES: usize = 5;
pub(crate) const MAX_LINES: usize = 15;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// May be an item that does not exist: whether it does, only the database says.
    pub(crate) item: u32,
    pub(crate) supply_warehouse: u32,
    pub(crate) quantity: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewOrderInput {
    pub(crate) warehouse: u32,
    pub(crate) district: u32,
    pub(crate) customer: u32,
    count: usize,
    lines: [Line; MAX_LINES],
}

impl NewOrderInput {
    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }

    pub(crate) fn all_local(&self) -> bool {
        self.lines()
            .iter()
            .all(|line| line.supply_warehouse == self.warehouse)
    }
}

/// Lines with their numbers, in the order in which stocks are locked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbered {
    lines: [(usize, Line); MAX_LINES],
    count: usize,
}

impl Numbered {
    pub(crate) fn by_stock(input: &NewOrderInput) -> Self {
        let mut numbered = Self {
            lines: [(0, Line::default()); MAX_LINES],
            count: input.count,
        };
        for (index, line) in input.lines().iter().enumerate() {
            numbered.lines[index] = (index + 1, *line);
        }
        numbered.lines[..input.count]
            .sort_unstable_by_key(|(number, line)| (line.supply_warehouse, line.item, *number));
        numbered
    }

    pub(crate) fn lines(&self) -> &[(usize, Line)] {
        &self.lines[..self.count]
    }
}

/// 5 to 15 lines, 1 % of them remote; in 1 % of orders the last item does not exist.
pub(crate) fn draw(random: &mut Random, home: u32, warehouses: u32, c: &[u32; 3]) -> NewOrderInput {
    let mut input = NewOrderInput {
        warehouse: home,
        district: random.uniform(1..=DISTRICTS),
        customer: random.nurand_customer(c),
        count: random.uniform(MIN_LINES as u32..=MAX_LINES as u32) as usize,
        lines: [Line::default(); MAX_LINES],
    };
    let unused_item = random.percent(1);
    for line in &mut input.lines[..input.count] {
        line.item = random.nurand_item(c);
        line.supply_warehouse = if random.percent(1) {
            random.other_warehouse(home, warehouses)
        } else {
            home
        };
        line.quantity = random.uniform(1..=10);
    }
    if unused_item {
        input.lines[input.count - 1].item = ITEMS + 1;
    }
    input
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::constants;

    #[test]
    fn shares_and_ranges_are_those_of_the_clause() {
        let mut random = Random::stream(11, &[]);
        let c = constants(11).c_run;
        let (mut lines, mut remote, mut unused) = (0_u32, 0_u32, 0_u32);
        let orders = 20_000;
        for _ in 0..orders {
            let input = draw(&mut random, 3, 10, &c);
            assert!((5..=15).contains(&input.lines().len()));
            assert!((1..=10).contains(&input.district) && (1..=3000).contains(&input.customer));
            lines += input.lines().len() as u32;
            for line in input.lines() {
                assert!((1..=10).contains(&line.quantity));
                assert!((1..=10).contains(&line.supply_warehouse));
                remote += u32::from(line.supply_warehouse != 3);
            }
            let (last, others) = input.lines().split_last().expect("five lines or more");
            assert!(others.iter().all(|line| (1..=ITEMS).contains(&line.item)));
            unused += u32::from(last.item > ITEMS);
            assert_eq!(
                input.all_local(),
                input.lines().iter().all(|line| line.supply_warehouse == 3)
            );
        }
        // Four standard deviations: 200,000 lines and 20,000 orders at one in a hundred.
        assert!((198_000..202_000).contains(&lines), "{lines}");
        assert!((1_820..2_180).contains(&remote), "{remote}");
        assert!((144..256).contains(&unused), "{unused}");
    }

    #[test]
    fn one_warehouse_has_no_remote_line() {
        let mut random = Random::stream(12, &[]);
        let c = constants(12).c_run;
        assert!((0..2_000).all(|_| draw(&mut random, 1, 1, &c).all_local()));
    }
}
