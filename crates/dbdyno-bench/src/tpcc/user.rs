//! The user at one terminal: a home of its own, and the time it takes to key in and to think
//! (clauses 2.4.1.1, 2.8.1.1 and 5.2.5).

use std::time::Duration;

use super::deck::Deck;
use super::random::Random;
use super::stream;
use super::think::{TERMINALS, Think, unit};

/// What a terminal's transactions are about, as long as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home {
    /// Index of the set of tables.
    pub(crate) set: usize,
    pub(crate) warehouse: u32,
    /// Stock-Level's; no other terminal of the warehouse has it.
    pub(crate) district: u32,
}

impl Home {
    /// Of the terminal with this index, from 0, where each set has so many warehouses.
    pub(crate) fn of(index: u32, warehouses: u32) -> Self {
        let warehouse = index / TERMINALS;
        Self {
            set: (warehouse / warehouses) as usize,
            warehouse: warehouse % warehouses + 1,
            district: index % TERMINALS + 1,
        }
    }
}

#[derive(Debug)]
pub(crate) struct User {
    home: Home,
    think: Think,
    random: Random,
    last: Option<usize>,
}

impl User {
    /// How long the user takes depends on `run_seed` and `index` alone, and on no input.
    pub(crate) fn new(think: Think, run_seed: u64, index: u32, warehouses: u32) -> Self {
        Self {
            home: Home::of(index, warehouses),
            think,
            random: Random::stream(run_seed, &[stream::USER, u64::from(index)]),
            last: None,
        }
    }

    pub(crate) fn home(&self) -> Home {
        self.home
    }

    /// From the end of the last transaction to the start of this one: the user thinks about the
    /// one and keys in the other. Before the first, what is left of such a wait.
    pub(crate) fn wait_before(&mut self, transaction: usize) -> Duration {
        match self.last.replace(transaction) {
            Some(last) => self.between(last, transaction),
            None => self.rest(),
        }
    }

    fn between(&mut self, last: usize, next: usize) -> Duration {
        self.think.thinking(last, &mut self.random) + self.think.keying(next)
    }

    /// As if the users had been at work for long when the load begins. If each began at any moment
    /// of the first cycle, those with short cycles would come again while others are still to come,
    /// and the rate would rise to 1.6 times what it is later.
    fn rest(&mut self) -> Duration {
        loop {
            let last = Deck::any(&mut self.random);
            let next = Deck::any(&mut self.random);
            let wait = self.between(last, next);
            // The moment at which the load begins falls into a wait the likelier the longer it is.
            if self.think.longest().mul_f64(unit(&mut self.random)) <= wait {
                return wait.mul_f64(unit(&mut self.random));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Mean seconds from one transaction to the next of a terminal, without response times: the
    /// deck's 23 cards take 476 s.
    const CYCLE_S: f64 = 476.0 / 23.0;

    #[test]
    fn users_begin_as_they_go_on() {
        const USERS: u32 = 20_000;
        const PART_S: f64 = 2.0;
        let mut starts = [0_u32; 20];
        for index in 0..USERS {
            let mut user = User::new(Think::SPECIFIED, 1, index, USERS);
            let (mut cards, mut deck) = (Random::stream(2, &[u64::from(index)]), Deck::new());
            let mut at = 0.0;
            loop {
                let card = deck.deal(&mut cards);
                at += user.wait_before(card).as_secs_f64();
                match starts.get_mut((at / PART_S) as usize) {
                    Some(part) => *part += 1,
                    None => break,
                }
            }
        }
        let expected = f64::from(USERS) * PART_S / CYCLE_S;
        for started in starts {
            let share = f64::from(started) / expected;
            assert!((0.9..1.1).contains(&share), "{starts:?}, {expected}");
        }
    }

    #[test]
    fn a_user_thinks_about_the_last_and_keys_in_the_next() {
        // Keying alone shows where nobody thinks for long: the least of many waits.
        let mut user = User::new(Think::SPECIFIED, 1, 0, 1);
        user.wait_before(1);
        for (next, keying_s) in [(0, 18.0), (1, 3.0), (4, 2.0)] {
            let waits = (0..2_000).map(|_| {
                user.last = Some(4);
                user.wait_before(next).as_secs_f64()
            });
            let waits: Vec<f64> = waits.collect();
            let least = waits.iter().copied().fold(f64::INFINITY, f64::min);
            assert!((keying_s..keying_s + 0.1).contains(&least), "{least}");
            let mean = waits.iter().sum::<f64>() / waits.len() as f64;
            assert!((mean - keying_s - 5.0).abs() < 0.5, "{mean}");
        }
    }

    proptest! {
        #[test]
        fn every_terminal_has_a_district_of_its_own(warehouses in 1..200_u32, sets in 1..4_u32) {
            let terminals = sets * warehouses * TERMINALS;
            let homes: BTreeSet<(usize, u32, u32)> = (0..terminals)
                .map(|index| Home::of(index, warehouses))
                .map(|home| (home.set, home.warehouse, home.district))
                .collect();
            prop_assert_eq!(homes.len() as u32, terminals);
            prop_assert_eq!(homes.first(), Some(&(0, 1, 1)));
            prop_assert_eq!(homes.last(), Some(&(sets as usize - 1, warehouses, TERMINALS)));
        }

        #[test]
        fn the_first_wait_is_part_of_one(seed: u64, index: u32, factor in 0.001..100.0_f64) {
            let think = Think::scaled(factor).unwrap();
            let first = User::new(think, seed, index, 7).wait_before(0);
            prop_assert!(first <= think.longest());
            prop_assert_eq!(first, User::new(think, seed, index, 7).wait_before(4));
        }
    }
}
