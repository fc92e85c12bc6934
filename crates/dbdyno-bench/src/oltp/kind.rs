//! The ten workloads: their names, and what each is about.

use std::str::FromStr;

/// Which statements a transaction is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    PointSelect,
    ReadOnly,
    ReadWrite,
    WriteOnly,
    Insert,
    UpdateIndex,
    UpdateNonIndex,
    Delete,
    SelectRandomPoints,
    SelectRandomRanges,
}

/// A name that none of them has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no workload {0}")]
pub struct UnknownKind(pub String);

impl Kind {
    pub const ALL: [Self; 10] = [
        Self::PointSelect,
        Self::ReadOnly,
        Self::ReadWrite,
        Self::WriteOnly,
        Self::Insert,
        Self::UpdateIndex,
        Self::UpdateNonIndex,
        Self::Delete,
        Self::SelectRandomPoints,
        Self::SelectRandomRanges,
    ];

    /// sysbench's, with hyphens: two of its scripts have no `oltp` before their names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PointSelect => "oltp-point-select",
            Self::ReadOnly => "oltp-read-only",
            Self::ReadWrite => "oltp-read-write",
            Self::WriteOnly => "oltp-write-only",
            Self::Insert => "oltp-insert",
            Self::UpdateIndex => "oltp-update-index",
            Self::UpdateNonIndex => "oltp-update-non-index",
            Self::Delete => "oltp-delete",
            Self::SelectRandomPoints => "select-random-points",
            Self::SelectRandomRanges => "select-random-ranges",
        }
    }

    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::PointSelect => "reads one row by its primary key",
            Self::ReadOnly => "reads single rows and four kinds of ranges in a transaction",
            Self::ReadWrite => "reads like oltp-read-only, then updates, deletes and inserts",
            Self::WriteOnly => "updates, deletes and inserts in a transaction",
            Self::Insert => "inserts one row",
            Self::UpdateIndex => "updates an indexed column of one row",
            Self::UpdateNonIndex => "updates a column without an index of one row",
            Self::Delete => "deletes one row, if it is still there",
            Self::SelectRandomPoints => "reads rows by a list of values of the secondary index",
            Self::SelectRandomRanges => "counts rows in ranges of the secondary index",
        }
    }

    /// Names of the transactions that are measured.
    #[must_use]
    pub fn transactions(self) -> [&'static str; 1] {
        [match self {
            Self::PointSelect => "point_select",
            Self::ReadOnly => "read_only",
            Self::ReadWrite => "read_write",
            Self::WriteOnly => "write_only",
            Self::Insert => "insert",
            Self::UpdateIndex => "update_index",
            Self::UpdateNonIndex => "update_non_index",
            Self::Delete => "delete",
            Self::SelectRandomPoints => "select_random_points",
            Self::SelectRandomRanges => "select_random_ranges",
        }]
    }

    /// Whether it changes data.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(
            self,
            Self::PointSelect
                | Self::ReadOnly
                | Self::SelectRandomPoints
                | Self::SelectRandomRanges
        )
    }

    /// Whether BEGIN and COMMIT belong to it.
    pub(crate) fn has_transactions(self) -> bool {
        matches!(self, Self::ReadOnly | Self::ReadWrite | Self::WriteOnly)
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    /// Takes sysbench's underscores as well, and its two other scripts with or without `oltp`.
    fn from_str(text: &str) -> Result<Self, UnknownKind> {
        let name = text.replace('_', "-");
        // Without the prefix only the two that have none by themselves.
        let bare = name.strip_prefix("oltp-").unwrap_or_default();
        let named = |kind: &Self| {
            let own = kind.name();
            own == name || own == bare && !own.starts_with("oltp-")
        };
        let found = Self::ALL.into_iter().find(named);
        found.ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse::<Kind>(), Ok(kind));
        }
        for (text, kind) in [
            ("oltp_read_write", Kind::ReadWrite),
            ("select_random_points", Kind::SelectRandomPoints),
            ("oltp-select-random-points", Kind::SelectRandomPoints),
            ("oltp-select-random-ranges", Kind::SelectRandomRanges),
        ] {
            assert_eq!(text.parse::<Kind>(), Ok(kind), "{text}");
        }
        for text in ["", "oltp-", "read-write", "oltp-oltp-insert", "tpcc"] {
            assert_eq!(text.parse::<Kind>(), Err(UnknownKind(text.to_owned())));
        }
    }
}
