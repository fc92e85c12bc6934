//! The store against real engines: the same tests on SQLite files and on a PostgreSQL server.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod bed;
mod documentation;
mod foreign;
mod kill;
mod names;
mod postgres_only;
mod sqlite_damage;
mod sqlite_file;
mod sqlite_space;
mod together;
mod trial;
mod trials;

/// Makes of each function one test for each engine.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(&crate::bed::Bed::sqlite()); })+
        }
        mod postgres {
            $(#[test] fn $name() { super::$name(&crate::bed::Bed::postgres()); })+
        }
    };
}
pub(crate) use on_both;
