//! What `bench run` tells: a line a second, a page for a run, a table for a sweep, and CSV.

mod csv;
mod footprint;
mod innodb;
mod limits;
mod page;
mod reconnects;
mod second;
mod sweep;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod sample;

pub use csv::bench_csv;
pub use page::bench_page;
pub use second::bench_second;
pub use sweep::sweep_page;
