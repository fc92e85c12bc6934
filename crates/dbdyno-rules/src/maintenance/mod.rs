//! Rules of the maintenance family.

use crate::Rule;

pub const RULES: &[Rule] = &[];
