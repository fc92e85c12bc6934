//! How many friendships there are, and by which key they lie.

use crate::tables::{Contents as _, field};

/// Ids of users are four bytes.
const MAX_USERS: u64 = i32::MAX as u64;
const MAX_FRIENDS: u32 = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rows lie as they were inserted, by a number of their own; users are found by an index.
    Surrogate,
    /// Rows of a user lie together, in the order of the composite key.
    Clustered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    pub kind: Kind,
    /// At least: what is missing for all users to have as many friends is added.
    pub rows: u64,
    /// Of each user.
    pub friends: u32,
    pub seed: u64,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Surrogate, Self::Clustered];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Surrogate => "surrogate",
            Self::Clustered => "clustered",
        }
    }
}

impl Config {
    /// A million rows; 25 friends, as many as the article's users have.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            rows: 1_000_000,
            friends: 25,
            seed: 1,
        }
    }

    #[must_use]
    pub fn name(&self) -> &'static str {
        "friends"
    }

    #[must_use]
    pub fn description(&self) -> String {
        format!(
            "friends of X: {} key, {} users with {} friends each, {} rows",
            self.kind.name(),
            self.users(),
            self.friends,
            self.stored_rows()
        )
    }

    #[must_use]
    pub fn writes(&self) -> bool {
        false
    }

    /// Names of what is measured by transaction, in the order of their indexes.
    #[must_use]
    pub fn transactions(&self) -> Vec<String> {
        vec!["friends_of".to_owned()]
    }

    /// Of one transaction.
    #[must_use]
    pub fn statements(&self) -> u32 {
        1
    }

    #[must_use]
    pub fn users(&self) -> u64 {
        self.rows.div_ceil(u64::from(self.friends.max(1)))
    }

    #[must_use]
    pub fn stored_rows(&self) -> u64 {
        self.users().saturating_mul(self.friends.into())
    }

    /// Roughly what the load takes on the disk.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.stored_rows().saturating_mul(150)
    }

    /// What a load of this identity is; none where it is none of ours.
    pub(super) fn of_identity(identity: &str) -> Option<Self> {
        let of = |name: &str| field(identity, name);
        let kind = of("kind")?;
        let config = Self {
            kind: Kind::ALL.into_iter().find(|each| each.name() == kind)?,
            rows: of("rows")?.parse().ok()?,
            friends: of("friends")?.parse().ok()?,
            seed: of("seed")?.parse().ok()?,
        };
        (config.identity() == identity).then_some(config)
    }

    /// Why it cannot be loaded or run.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let (users, friends) = (self.users(), self.friends);
        if !(1..=MAX_FRIENDS).contains(&friends) {
            return Some(format!(
                "users with {friends} friends: between 1 and {MAX_FRIENDS} are possible"
            ));
        }
        if users > MAX_USERS {
            return Some(format!("{users} users: at most {MAX_USERS} are possible"));
        }
        // Nobody is their own friend.
        (users <= u64::from(friends)).then(|| {
            format!("{users} users with {friends} friends each: there have to be more users")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_users_have_as_many_friends() {
        let config = Config {
            rows: 1_001,
            friends: 10,
            ..Config::new(Kind::Surrogate)
        };
        assert_eq!((config.users(), config.stored_rows()), (101, 1_010));
    }

    #[test]
    fn an_identity_says_what_was_loaded() {
        for kind in Kind::ALL {
            let config = Config {
                rows: 1_010,
                friends: 10,
                seed: 4,
                kind,
            };
            assert_eq!(Config::of_identity(&config.identity()), Some(config));
        }
        assert_eq!(Config::of_identity("kind=surrogate rows=5 seed=1"), None);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let with = |rows, friends| Config {
            rows,
            friends,
            ..Config::new(Kind::Clustered)
        };
        assert_eq!(Config::new(Kind::Clustered).refusal(), None);
        assert_eq!(with(110, 10).refusal(), None);
        for config in [with(100, 10), with(0, 1), with(10, 0), with(u64::MAX, 1)] {
            assert!(config.refusal().is_some(), "{config:?}");
        }
    }
}
