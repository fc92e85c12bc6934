//! Parameters of a statement, appended in order while the command is written.

use super::{WireError, mysql, postgres};

/// Takes the parameters of one execution, first to last. A value is encoded as the type that the
/// server expects; the first that does not fit is reported when the command is finished.
#[derive(Debug)]
pub struct Params<'a>(pub(crate) Writer<'a>);

#[derive(Debug)]
pub(crate) enum Writer<'a> {
    Postgres(postgres::Params<'a>),
    MySql(mysql::Params<'a>),
}

macro_rules! both {
    ($self:ident, $method:ident($($argument:expr),*)) => {{
        match &mut $self.0 {
            Writer::Postgres(params) => params.$method($($argument),*),
            Writer::MySql(params) => params.$method($($argument),*),
        }
        $self
    }};
}

impl Params<'_> {
    pub fn null(&mut self) -> &mut Self {
        both!(self, null())
    }

    /// For any integer, floating-point or numeric type.
    pub fn int(&mut self, value: i64) -> &mut Self {
        both!(self, int(value))
    }

    pub fn float(&mut self, value: f64) -> &mut Self {
        both!(self, float(value))
    }

    /// `value` / 10^`scale`, exactly.
    pub fn fixed(&mut self, value: i64, scale: u8) -> &mut Self {
        both!(self, fixed(value, scale))
    }

    /// A number of any length in decimal text, without an exponent.
    pub fn decimal(&mut self, value: &str) -> &mut Self {
        both!(self, decimal(value))
    }

    pub fn text(&mut self, value: &str) -> &mut Self {
        both!(self, text(value))
    }

    /// For bytea, uuid (16 bytes), BINARY and BLOB.
    pub fn bytes(&mut self, value: &[u8]) -> &mut Self {
        both!(self, bytes(value))
    }

    /// An array of any integer type; MySQL has none, and reports it.
    pub fn ints(&mut self, values: impl ExactSizeIterator<Item = i64>) -> &mut Self {
        both!(self, ints(values))
    }

    /// An array of numeric.
    pub fn fixeds(&mut self, values: impl ExactSizeIterator<Item = i64>, scale: u8) -> &mut Self {
        both!(self, fixeds(values, scale))
    }

    /// An array of any text type.
    pub fn texts<'t>(&mut self, values: impl ExactSizeIterator<Item = &'t str>) -> &mut Self {
        both!(self, texts(values))
    }

    pub(crate) fn finish(self) -> Result<(), WireError> {
        match self.0 {
            Writer::Postgres(params) => params.finish(),
            Writer::MySql(params) => params.finish(),
        }
    }
}
