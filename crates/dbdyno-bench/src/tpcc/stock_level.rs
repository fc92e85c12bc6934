//! The Stock-Level transaction: its input (clause 2.8.1), and itself where it is one statement.

use std::hint::black_box;

use super::missing;
use super::names::Names;
use super::random::Random;
use crate::wire::{Row, Session, Statement, WireError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StockLevelInput {
    pub(crate) warehouse: u32,
    pub(crate) district: u32,
    pub(crate) threshold: u32,
}

pub(crate) fn draw(random: &mut Random, home: u32, district: u32) -> StockLevelInput {
    StockLevelInput {
        warehouse: home,
        district,
        threshold: random.uniform(10..=20),
    }
}

/// Warehouse, district and threshold to the number of stocks below it.
#[derive(Debug)]
pub(crate) struct StockLevel {
    stock_level: Statement,
}

impl StockLevel {
    pub(crate) async fn prepare(
        session: &mut Session,
        names: &Names,
        template: &str,
    ) -> Result<Self, WireError> {
        Ok(Self {
            stock_level: session.prepare(&names.sql(template)).await?,
        })
    }

    pub(crate) async fn execute(
        &self,
        session: &mut Session,
        input: &StockLevelInput,
    ) -> Result<(), WireError> {
        session.queue(&self.stock_level, |params| {
            for value in [input.warehouse, input.district, input.threshold] {
                params.int(value.into());
            }
        })?;
        let mut low = None;
        let read = |mut row: Row<'_>| {
            low = Some(row.int()?);
            Ok(())
        };
        session.rows(&self.stock_level, read).await?;
        // What the terminal would show.
        black_box(low.ok_or_else(|| missing("stock"))?);
        Ok(())
    }
}
