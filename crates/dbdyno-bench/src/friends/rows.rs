//! Friendships: each has a user, a friend and the number under which it arrived, all from the seed alone.

use super::config::Config;
use super::stream;
use crate::tables::numbers::{Permutation, mix, stratum};
use crate::tpcc::random::Random;

/// The first second of 2025, since 1970, and how long friendships were made from there.
pub(super) const MADE_FROM_S: u64 = 1_735_689_600;
const MADE_FOR_S: u64 = 365 * 86_400;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Friendship {
    /// In the order of arrival, from 1.
    pub(super) id: u64,
    pub(super) user: u64,
    pub(super) friend: u64,
    /// Seconds after [`MADE_FROM_S`].
    pub(super) made_s: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Friendships {
    users: u64,
    friends: u64,
    /// From the number of arrival to a user and the number of the friend.
    arrival: Permutation,
    key: u64,
}

impl Friendships {
    pub(super) fn new(config: &Config) -> Self {
        let random = |path| Random::stream(config.seed, &[path]);
        Self {
            users: config.users(),
            friends: config.friends.into(),
            arrival: Permutation::new(&mut random(stream::ARRIVAL), config.stored_rows()),
            key: random(stream::FRIENDS).next_u64(),
        }
    }

    /// The one that came as this number, from 0.
    pub(super) fn of_arrival(&self, arrival: u64) -> Friendship {
        let place = self.arrival.at(arrival);
        self.friendship(arrival, place / self.friends, place % self.friends)
    }

    /// Which user, from 0, has the row at this place of the composite key, and as the how-manieth.
    pub(super) fn place(&self, place: u64) -> (u64, usize) {
        (place / self.friends, (place % self.friends) as usize)
    }

    /// All of one user, from 0, in the order of the composite key.
    pub(super) fn of_user(&self, user: u64, into: &mut Vec<Friendship>) {
        into.clear();
        into.extend((0..self.friends).map(|nth| {
            let arrival = self.arrival.find(user * self.friends + nth);
            self.friendship(arrival, user, nth)
        }));
        into.sort_unstable_by_key(|friendship| friendship.friend);
    }

    fn friendship(&self, arrival: u64, user: u64, nth: u64) -> Friendship {
        // So far behind the user, around the end: never 0, and never the same twice.
        let others = u128::from(self.users - 1);
        let away = 1 + stratum(mix(self.key, user), others, self.friends, nth);
        Friendship {
            id: arrival + 1,
            user: user + 1,
            friend: (user + away) % self.users + 1,
            made_s: arrival % MADE_FOR_S,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::friends::Kind;

    proptest! {
        #[test]
        fn both_orders_hold_the_same_rows(seed: u64, friends in 1..20_u32, more in 1..60_u64) {
            let config = Config {
                rows: (u64::from(friends) + more) * u64::from(friends),
                friends,
                seed,
                ..Config::new(Kind::Surrogate)
            };
            let all = Friendships::new(&config);
            let key = |one: &Friendship| (one.user, one.friend, one.id);
            let arrived: Vec<Friendship> =
                (0..config.stored_rows()).map(|arrival| all.of_arrival(arrival)).collect();
            let mut user = Vec::new();
            let mut clustered = Vec::new();
            for number in 0..config.users() {
                all.of_user(number, &mut user);
                clustered.extend(user.iter().map(key));
            }
            prop_assert!(clustered.is_sorted());
            let sorted: BTreeSet<_> = arrived.iter().map(key).collect();
            prop_assert_eq!(sorted.into_iter().collect::<Vec<_>>(), clustered);
            let pairs: BTreeSet<_> = arrived.iter().map(|one| (one.user, one.friend)).collect();
            prop_assert_eq!(pairs.len() as u64, config.stored_rows());
            for one in arrived {
                prop_assert!(one.user != one.friend);
                prop_assert!((1..=config.users()).contains(&one.friend));
            }
        }
    }

    #[test]
    fn the_friends_of_a_user_arrive_apart() {
        let config = Config {
            rows: 100_000,
            ..Config::new(Kind::Surrogate)
        };
        let mut user = Vec::new();
        Friendships::new(&config).of_user(17, &mut user);
        let ids: BTreeSet<u64> = user.iter().map(|one| one.id / 500).collect();
        assert!(ids.len() > 18, "{ids:?}");
    }
}
