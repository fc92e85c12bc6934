//! How payment and order status name their customer: by id or by last name (clauses 2.5.1.2, 2.6.1.2).

use super::random::{Random, Text, last_name};
use crate::wire::Params;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Customer {
    Id(u32),
    /// Stands for the one in the middle of all who bear it, ordered by first name.
    LastName(Text<16>),
}

impl Customer {
    /// 60 % by last name, 40 % by id, both non-uniform.
    pub(crate) fn draw(random: &mut Random, c: &[u32; 3]) -> Self {
        if random.percent(60) {
            Self::LastName(last_name(random.nurand_last(c)))
        } else {
            Self::Id(random.nurand_customer(c))
        }
    }

    /// The id or the name, as the next parameter.
    pub(crate) fn put(&self, params: &mut Params<'_>) {
        match self {
            Self::Id(id) => params.int((*id).into()),
            Self::LastName(name) => params.text(name.as_str()),
        };
    }

    /// The id and the name as the next two parameters: 0 where there is a name, which is empty where
    /// there is an id.
    pub(crate) fn put_both(&self, params: &mut Params<'_>) {
        match self {
            Self::Id(id) => params.int((*id).into()).text(""),
            Self::LastName(name) => params.int(0).text(name.as_str()),
        };
    }
}
