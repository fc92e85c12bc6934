//! How far a load has come, and what it came to.

/// How far a load has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// `rows`, then `analyze` and `keys` in the order that suits the engine.
    pub phase: &'static str,
    /// Rows, or in the later phases statements, done.
    pub rows: u64,
    pub rows_total: u64,
}

/// What a load came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loaded {
    pub rows: u64,
    pub seconds: f64,
    pub seconds_rows: f64,
    pub seconds_analyze: f64,
    pub seconds_keys: f64,
}
