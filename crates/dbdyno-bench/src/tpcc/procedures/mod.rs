//! The five transactions as routines that are stored on the server: one statement, one round trip.
//!
//! A call carries the whole input, and its rows are all that the terminal would show, the same
//! columns on both engines. What is done in between is what the other modes do; only the place
//! differs. Locks are taken in their order too: stock by warehouse and item, new orders by district,
//! customers, districts, warehouses.

mod install;
mod lines;
mod mysql;
mod postgres;
mod routine;

use std::hint::black_box;

pub(super) use install::{install, remove};

use super::delivery::DeliveryInput;
use super::names::Names;
use super::new_order::NewOrderInput;
use super::order_status::OrderStatusInput;
use super::payment::PaymentInput;
use super::priced::Head;
use super::sql::prepare;
use super::stock_level::StockLevelInput;
use super::{End, missing};
use crate::wire::{Engine, Params, Row, Session, Statement, WireError};
use lines::Lines;
use routine::Routine;

/// Columns before ol_amount in the answer of Order-Status.
const AMOUNT: usize = 10;

/// In the order of [`super::TRANSACTIONS`].
fn routines(engine: Engine) -> &'static [Routine; 5] {
    match engine {
        Engine::Postgres => &postgres::ROUTINES,
        Engine::MySql => &mysql::ROUTINES,
    }
}

/// Calls of the routines.
#[derive(Debug)]
pub(crate) struct Procedures {
    new_order: Statement,
    payment: Statement,
    order_status: Statement,
    delivery: Statement,
    stock_level: Statement,
    /// Lines as MySQL takes them.
    packed: String,
}

impl Procedures {
    pub(crate) async fn prepare(session: &mut Session, names: &Names) -> Result<Self, WireError> {
        let engine = session.engine();
        if engine == Engine::MySql {
            // Procedures begin and end transactions themselves, those that only read have none.
            session.queue_text("SET autocommit = 1");
            session.done().await?;
        }
        let calls = routines(engine).each_ref().map(|it| it.call(names, engine));
        let [new_order, payment, order_status, delivery, stock_level] = &calls;
        Ok(Self {
            new_order: prepare(session, new_order).await?,
            payment: prepare(session, payment).await?,
            order_status: prepare(session, order_status).await?,
            delivery: prepare(session, delivery).await?,
            stock_level: prepare(session, stock_level).await?,
            packed: String::new(),
        })
    }

    pub(crate) async fn new_order(
        &mut self,
        session: &mut Session,
        input: &NewOrderInput,
    ) -> Result<End, WireError> {
        let engine = session.engine();
        let lines = Lines::of(input);
        if engine == Engine::MySql {
            lines.pack(&mut self.packed);
        }
        let packed = &self.packed;
        let fill = |params: &mut Params<'_>| {
            for value in [input.warehouse, input.district, input.customer] {
                params.int(value.into());
            }
            params.int(input.all_local().into());
            match engine {
                Engine::Postgres => lines.put_arrays(params),
                Engine::MySql => {
                    params.text(packed);
                }
            }
        };
        let mut entered = Entered::default();
        let read = |row: Row<'_>| entered.read(row);
        call(session, &self.new_order, fill, read).await?;
        let end = entered.end.ok_or_else(|| missing("stock"))?;
        // What the terminal would show.
        black_box(entered.head.total_of(entered.sum_cents));
        Ok(end)
    }

    pub(crate) async fn payment(
        &self,
        session: &mut Session,
        input: &PaymentInput,
    ) -> Result<(), WireError> {
        let fill = |params: &mut Params<'_>| {
            params.int(input.warehouse.into());
            params.int(input.district.into());
            params.int(input.customer_warehouse.into());
            params.int(input.customer_district.into());
            input.customer.put_both(params);
            params.fixed(input.amount_cents, 2);
        };
        let mut balance = None;
        let read = |mut row: Row<'_>| {
            balance = Some(row.fixed(2)?);
            Ok(())
        };
        call(session, &self.payment, fill, read).await?;
        // What the terminal would show.
        black_box(balance.ok_or_else(|| missing("customer, district or warehouse"))?);
        Ok(())
    }

    pub(crate) async fn order_status(
        &self,
        session: &mut Session,
        input: &OrderStatusInput,
    ) -> Result<(), WireError> {
        let fill = |params: &mut Params<'_>| {
            params.int(input.warehouse.into());
            params.int(input.district.into());
            input.customer.put_both(params);
        };
        let mut total = None;
        let read = |mut row: Row<'_>| {
            for _ in 0..AMOUNT {
                row.skip()?;
            }
            total = Some(total.unwrap_or(0) + row.fixed(2)?);
            Ok(())
        };
        call(session, &self.order_status, fill, read).await?;
        // What the terminal would show.
        black_box(total.ok_or_else(|| missing("customer or order"))?);
        Ok(())
    }

    pub(crate) async fn delivery(
        &self,
        session: &mut Session,
        input: &DeliveryInput,
    ) -> Result<(), WireError> {
        let fill = |params: &mut Params<'_>| {
            params.int(input.warehouse.into());
            params.int(input.carrier.into());
        };
        let delivered = number(session, &self.delivery, fill).await?;
        // What the terminal would show.
        black_box(delivered.ok_or_else(|| missing("number of orders delivered"))?);
        Ok(())
    }

    pub(crate) async fn stock_level(
        &self,
        session: &mut Session,
        input: &StockLevelInput,
    ) -> Result<(), WireError> {
        let fill = |params: &mut Params<'_>| {
            for value in [input.warehouse, input.district, input.threshold] {
                params.int(value.into());
            }
        };
        let low = number(session, &self.stock_level, fill).await?;
        // What the terminal would show.
        black_box(low.ok_or_else(|| missing("stock"))?);
        Ok(())
    }
}

/// What a new order returns: for each line a row, with the order's own values in all of them.
#[derive(Debug, Default)]
struct Entered {
    end: Option<End>,
    head: Head,
    sum_cents: i64,
}

impl Entered {
    fn read(&mut self, mut row: Row<'_>) -> Result<(), WireError> {
        let committed = row.int()? != 0;
        self.end = Some(if committed {
            End::Committed
        } else {
            End::RolledBack
        });
        self.head = Head {
            order: row.int()?,
            district_tax: row.fixed(4)?,
            warehouse_tax: row.fixed(4)?,
            discount: row.fixed(4)?,
        };
        // Last name and credit; number, name, stock, brand and price.
        black_box((row.text()?, row.text()?));
        black_box((row.int()?, row.text()?, row.int()?, row.int()?));
        black_box(row.fixed(2)?);
        self.sum_cents += row.fixed(2)?;
        Ok(())
    }
}

/// The number that a routine returns.
async fn number(
    session: &mut Session,
    routine: &Statement,
    fill: impl FnOnce(&mut Params<'_>),
) -> Result<Option<i64>, WireError> {
    let mut number = None;
    let read = |mut row: Row<'_>| {
        number = Some(row.int()?);
        Ok(())
    };
    call(session, routine, fill, read).await?;
    Ok(number)
}

/// Runs a routine to its end, and undoes what it had done where something stopped it half-way.
async fn call(
    session: &mut Session,
    routine: &Statement,
    fill: impl FnOnce(&mut Params<'_>),
    read: impl FnMut(Row<'_>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    session.queue(routine, fill)?;
    let ended = session.rows(routine, read).await;
    if let Err(WireError::Server(error)) = &ended
        && !error.fatal
        && session.engine() == Engine::MySql
    {
        // KILL QUERY and limits on time run no handler, and a transaction that they leave open would
        // be committed by the next one that begins.
        session.queue_text("ROLLBACK");
        session.done().await?;
    }
    ended.map(drop)
}

#[cfg(test)]
mod tests {
    use super::super::TRANSACTIONS;
    use super::*;
    use crate::tpcc::Layout;
    use crate::tpcc::names::assert_rendered;

    fn plain() -> Names {
        Names::new(Layout::Own, 1, 1)
    }

    #[test]
    fn bodies_are_templates() {
        for engine in ENGINES {
            for routine in routines(engine) {
                assert_rendered(&[&routine.body.concat()]);
            }
        }
    }

    const ENGINES: [Engine; 2] = [Engine::Postgres, Engine::MySql];

    #[test]
    fn every_transaction_has_its_routine() {
        for engine in ENGINES {
            let names = routines(engine).each_ref().map(|it| it.transaction);
            assert_eq!(names, TRANSACTIONS);
        }
    }

    /// Inputs are those whose names begin with `in_`.
    #[test]
    fn calls_have_as_many_arguments_as_the_routine_takes() {
        for engine in ENGINES {
            for routine in routines(engine) {
                let words = routine.head.split([' ', '(', ',', '\n']);
                let inputs = words.filter(|word| word.starts_with("in_")).count();
                assert_eq!(
                    inputs, routine.arguments,
                    "{engine:?} {}",
                    routine.transaction
                );
                let call = routine.call(&plain(), engine);
                assert_eq!(call.matches('?').count(), inputs, "{call}");
            }
        }
    }

    /// Nothing in a body ends it early.
    #[test]
    fn bodies_are_whole() {
        for engine in ENGINES {
            for routine in routines(engine) {
                let body = routine.body.concat();
                assert!(!body.contains("$dbdyno$"), "{body}");
                let blocks = body.trim_start().starts_with(['B', 'D']);
                assert!(blocks && body.trim_end().ends_with("END"), "{body}");
                assert_eq!(body.matches('\'').count() % 2, 0, "{body}");
                let (open, close) = (body.matches('(').count(), body.matches(')').count());
                assert_eq!(open, close, "{body}");
            }
        }
    }

    #[test]
    fn marks_of_all_routines_differ() {
        let mut marks: Vec<String> = ENGINES
            .iter()
            .flat_map(|&engine| {
                routines(engine)
                    .iter()
                    .map(move |it| it.mark(&plain(), engine))
            })
            .collect();
        let count = marks.len();
        marks.sort();
        marks.dedup();
        assert_eq!(marks.len(), count);
    }
}
