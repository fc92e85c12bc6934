//! A row of an answer, read column by column.

use super::{Engine, WireError, mysql, postgres};

/// Reads the columns of one row in order; each call takes the next.
#[derive(Debug)]
pub struct Row<'a>(pub(crate) Reader<'a>);

#[derive(Debug)]
pub(crate) enum Reader<'a> {
    Postgres(postgres::Row<'a>),
    MySql(mysql::Row<'a>),
}

macro_rules! both {
    ($self:ident, $method:ident($($argument:expr),*)) => {
        match &mut $self.0 {
            Reader::Postgres(row) => row.$method($($argument),*),
            Reader::MySql(row) => row.$method($($argument),*),
        }
    };
}

impl<'a> Row<'a> {
    /// Passes over a column, whatever it holds.
    pub fn skip(&mut self) -> Result<(), WireError> {
        both!(self, skip())
    }

    /// Any integer type, and a numeric without a fraction; none for NULL.
    pub fn try_int(&mut self) -> Result<Option<i64>, WireError> {
        both!(self, try_int())
    }

    /// Any number type.
    pub fn try_float(&mut self) -> Result<Option<f64>, WireError> {
        both!(self, try_float())
    }

    /// A numeric or integer times 10^`scale`, exactly; one with more decimals is an error.
    pub fn try_fixed(&mut self, scale: u8) -> Result<Option<i64>, WireError> {
        both!(self, try_fixed(scale))
    }

    /// Any text type.
    pub fn try_text(&mut self) -> Result<Option<&'a str>, WireError> {
        both!(self, try_text())
    }

    /// As it was sent.
    pub fn try_bytes(&mut self) -> Result<Option<&'a [u8]>, WireError> {
        both!(self, try_bytes())
    }

    pub fn int(&mut self) -> Result<i64, WireError> {
        self.try_int()?.ok_or_else(null)
    }

    pub fn float(&mut self) -> Result<f64, WireError> {
        self.try_float()?.ok_or_else(null)
    }

    pub fn fixed(&mut self, scale: u8) -> Result<i64, WireError> {
        self.try_fixed(scale)?.ok_or_else(null)
    }

    pub fn text(&mut self) -> Result<&'a str, WireError> {
        self.try_text()?.ok_or_else(null)
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        self.try_bytes()?.ok_or_else(null)
    }
}

/// A row of a command that was sent as text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextRow<'a> {
    pub(crate) engine: Engine,
    pub(crate) body: &'a [u8],
}

impl TextRow<'_> {
    /// As the server writes them, none for NULL. What is not UTF-8 is replaced.
    pub(crate) fn fields(self) -> Result<Vec<Option<String>>, WireError> {
        match self.engine {
            Engine::Postgres => postgres::text_fields(self.body),
            Engine::MySql => mysql::text_fields(self.body),
        }
    }
}

fn null() -> WireError {
    WireError::Type("a column is NULL where a value was expected".to_owned())
}
