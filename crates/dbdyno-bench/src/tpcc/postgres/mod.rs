//! TPC-C on PostgreSQL: loading, checking, and a terminal that runs the five transactions.
//!
//! Statements are prepared, and as few as the data dependences allow. New-Order needs two round
//! trips; each of the others is one statement, a transaction of its own: it sees one snapshot, which
//! is more than clause 3.4.1 asks, and holds its locks for no longer than the server needs.
//!
//! Locks are always taken in this order, so that transactions do not deadlock with each other:
//! stock by warehouse and item, new orders by district, customers, districts, warehouses. What the
//! foreign keys lock on top of that conflicts with none of it, since no key is ever updated.

mod connect;
pub(crate) mod consistency;
mod copy;
mod delivery;
pub(crate) mod error;
pub(crate) mod loader;
mod new_order;
mod numeric;
mod order_status;
mod payment;
mod schema;
mod stock_level;
pub(crate) mod stored;

use tokio_postgres::{Client, Error};

use super::deck::Deck;
use super::delivery::DeliveryInput;
use super::new_order::NewOrderInput;
use super::order_status::OrderStatusInput;
use super::payment::PaymentInput;
use super::random::Random;
use super::stock_level::StockLevelInput;
use super::{Config, Constants, stream};

/// How an attempt at a transaction ended without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Committed,
    /// As the specification asks of 1 % of new orders (clause 2.4.1.4).
    RolledBack,
}

#[derive(Debug, Clone, Copy)]
enum Input {
    NewOrder(NewOrderInput),
    Payment(PaymentInput),
    OrderStatus(OrderStatusInput),
    Delivery(DeliveryInput),
    StockLevel(StockLevelInput),
}

/// One connection with its deck, its random numbers and its statements.
#[derive(Debug)]
pub struct Terminal {
    client: Client,
    random: Random,
    deck: Deck,
    warehouses: u32,
    c_run: [u32; 3],
    input: Option<Input>,
    /// Whether the server may hold a transaction open for us.
    in_transaction: bool,
    new_order: new_order::NewOrder,
    payment: payment::Payment,
    order_status: order_status::OrderStatus,
    delivery: delivery::Delivery,
    stock_level: stock_level::StockLevel,
}

impl Terminal {
    /// Prepares the statements. What the terminal draws depends on `run_seed` and `index` alone.
    pub async fn prepare(
        client: Client,
        config: &Config,
        constants: &Constants,
        run_seed: u64,
        index: u32,
    ) -> Result<Self, Error> {
        Ok(Self {
            random: Random::stream(run_seed, &[stream::TERMINAL, u64::from(index)]),
            deck: Deck::new(),
            warehouses: config.warehouses,
            c_run: constants.c_run,
            input: None,
            in_transaction: false,
            new_order: new_order::NewOrder::prepare(&client).await?,
            payment: payment::Payment::prepare(&client).await?,
            order_status: order_status::OrderStatus::prepare(&client).await?,
            delivery: delivery::Delivery::prepare(&client).await?,
            stock_level: stock_level::StockLevel::prepare(&client).await?,
            client,
        })
    }

    /// Deals the next card and draws its input; returns its index into [`super::TRANSACTIONS`].
    #[expect(
        clippy::should_implement_trait,
        reason = "an endless deal is no iteration"
    )]
    pub fn next(&mut self) -> usize {
        let card = self.deck.deal(&mut self.random);
        let random = &mut self.random;
        let (warehouses, c) = (self.warehouses, &self.c_run);
        let home = random.uniform(1..=warehouses);
        self.input = Some(match card {
            0 => Input::NewOrder(super::new_order::draw(random, home, warehouses, c)),
            1 => Input::Payment(super::payment::draw(random, home, warehouses, c)),
            2 => Input::OrderStatus(super::order_status::draw(random, home, c)),
            3 => Input::Delivery(super::delivery::draw(random, home)),
            _ => Input::StockLevel(super::stock_level::draw(random, home)),
        });
        card
    }

    /// One attempt at the transaction drawn last; may be repeated with the same input.
    ///
    /// After an error call [`Self::rollback`] before anything else.
    pub async fn execute(&mut self) -> Result<End, Error> {
        if self.input.is_none() {
            self.next();
        }
        match &self.input {
            Some(Input::NewOrder(input)) => {
                self.in_transaction = true;
                let end = self.new_order.execute(&self.client, input).await?;
                self.in_transaction = false;
                return Ok(end);
            }
            Some(Input::Payment(input)) => self.payment.execute(&self.client, input).await?,
            Some(Input::OrderStatus(input)) => {
                self.order_status.execute(&self.client, input).await?;
            }
            Some(Input::Delivery(input)) => self.delivery.execute(&self.client, input).await?,
            Some(Input::StockLevel(input)) => {
                self.stock_level.execute(&self.client, input).await?;
            }
            None => {}
        }
        Ok(End::Committed)
    }

    /// Ends the transaction that a failed attempt left open, if it left one.
    pub async fn rollback(&mut self) -> Result<(), Error> {
        if self.in_transaction {
            self.client.batch_execute("ROLLBACK").await?;
            self.in_transaction = false;
        }
        Ok(())
    }

    /// The connection, for settings and for the driver's own statements between transactions.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }
}
