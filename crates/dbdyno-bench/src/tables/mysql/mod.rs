//! Tables on MySQL and MariaDB, in InnoDB.

mod footprint;
mod loader;

pub(super) use footprint::footprint;
pub(super) use loader::load;
