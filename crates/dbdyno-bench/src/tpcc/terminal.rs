//! One connection that draws transactions and runs them.

use super::control::Control;
use super::deck::Deck;
use super::delivery::DeliveryInput;
use super::new_order::NewOrderInput;
use super::order_status::OrderStatusInput;
use super::payment::PaymentInput;
use super::procedures::Procedures;
use super::random::Random;
use super::stock_level::{StockLevel, StockLevelInput};
use super::{Config, Constants, End, Mode, mysql, plain, postgres, stream};
use crate::wire::{Engine, Sent, Session, WireError};

#[derive(Debug, Clone, Copy)]
enum Input {
    NewOrder(NewOrderInput),
    Payment(PaymentInput),
    OrderStatus(OrderStatusInput),
    Delivery(DeliveryInput),
    StockLevel(StockLevelInput),
}

/// The five transactions, prepared.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a terminal has one, in a box of its own"
)]
enum Transactions {
    Plain {
        new_order: plain::NewOrder,
        payment: plain::Payment,
        order_status: plain::OrderStatus,
        delivery: plain::Delivery,
        stock_level: plain::StockLevel,
    },
    Postgres {
        new_order: postgres::NewOrder,
        payment: postgres::Payment,
        order_status: postgres::OrderStatus,
        delivery: postgres::Delivery,
        stock_level: StockLevel,
    },
    MySql {
        new_order: mysql::NewOrder,
        payment: mysql::Payment,
        order_status: mysql::OrderStatus,
        delivery: mysql::Delivery,
        stock_level: StockLevel,
    },
    Procedures(Procedures),
}

/// One connection with its deck, its random numbers and its statements.
#[derive(Debug)]
pub struct Terminal {
    session: Session,
    random: Random,
    deck: Deck,
    warehouses: u32,
    c_run: [u32; 3],
    input: Option<Input>,
    control: Control,
    transactions: Transactions,
}

impl Terminal {
    /// Prepares the statements. What the terminal draws depends on `run_seed` and `index` alone.
    ///
    /// # Errors
    /// The server refuses a statement, as where nothing was loaded, or is lost.
    pub async fn prepare(
        mut session: Session,
        config: &Config,
        mode: Mode,
        constants: &Constants,
        run_seed: u64,
        index: u32,
    ) -> Result<Self, WireError> {
        let control = Control::prepare(&mut session).await?;
        let transactions = Transactions::prepare(&mut session, mode).await?;
        Ok(Self {
            session,
            random: Random::stream(run_seed, &[stream::TERMINAL, u64::from(index)]),
            deck: Deck::new(),
            warehouses: config.warehouses,
            c_run: constants.c_run,
            input: None,
            control,
            transactions,
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
    /// # Errors
    /// The server refuses a statement, or is lost. Call [`Self::rollback`] before anything else.
    pub async fn execute(&mut self) -> Result<End, WireError> {
        if self.input.is_none() {
            self.next();
        }
        let Some(input) = &self.input else {
            return Ok(End::Committed);
        };
        let (session, control) = (&mut self.session, &self.control);
        self.transactions.execute(session, control, input).await
    }

    /// Ends what a failed attempt left open: answers that nobody took, and the transaction.
    ///
    /// # Errors
    /// The server is lost.
    pub async fn rollback(&mut self) -> Result<(), WireError> {
        self.session.drain().await?;
        if self.session.in_transaction() {
            self.session.queue_text("ROLLBACK");
            self.session.done().await?;
        }
        Ok(())
    }

    pub(crate) fn sent(&self) -> Sent {
        self.session.sent()
    }

    pub(crate) fn into_session(self) -> Session {
        self.session
    }

    /// The connection, for settings and for the driver's own statements between transactions.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }
}

impl Transactions {
    async fn prepare(session: &mut Session, mode: Mode) -> Result<Self, WireError> {
        match (mode, session.engine()) {
            (Mode::Unbatched | Mode::Batched, _) => {
                let batched = mode == Mode::Batched;
                Ok(Self::Plain {
                    new_order: plain::NewOrder::prepare(session, batched).await?,
                    payment: plain::Payment::prepare(session, batched).await?,
                    order_status: plain::OrderStatus::prepare(session, batched).await?,
                    delivery: plain::Delivery::prepare(session, batched).await?,
                    stock_level: plain::StockLevel::prepare(session).await?,
                })
            }
            (Mode::Pipelined, Engine::Postgres) => Ok(Self::Postgres {
                new_order: postgres::NewOrder::prepare(session).await?,
                payment: postgres::Payment::prepare(session).await?,
                order_status: postgres::OrderStatus::prepare(session).await?,
                delivery: postgres::Delivery::prepare(session).await?,
                stock_level: StockLevel::prepare(session, postgres::STOCK_LEVEL).await?,
            }),
            (Mode::Pipelined, Engine::MySql) => Ok(Self::MySql {
                new_order: mysql::NewOrder::prepare(session).await?,
                payment: mysql::Payment::prepare(session).await?,
                order_status: mysql::OrderStatus::prepare(session).await?,
                delivery: mysql::Delivery::prepare(session).await?,
                stock_level: StockLevel::prepare(session, mysql::STOCK_LEVEL).await?,
            }),
            (Mode::Procedures, _) => Ok(Self::Procedures(Procedures::prepare(session).await?)),
        }
    }

    async fn execute(
        &mut self,
        session: &mut Session,
        control: &Control,
        input: &Input,
    ) -> Result<End, WireError> {
        match self {
            Self::Plain {
                new_order,
                payment,
                order_status,
                delivery,
                stock_level,
            } => match input {
                Input::NewOrder(input) => return new_order.execute(session, control, input).await,
                Input::Payment(input) => payment.execute(session, control, input).await?,
                Input::OrderStatus(input) => order_status.execute(session, control, input).await?,
                Input::Delivery(input) => delivery.execute(session, control, input).await?,
                Input::StockLevel(input) => stock_level.execute(session, control, input).await?,
            },
            Self::Postgres {
                new_order,
                payment,
                order_status,
                delivery,
                stock_level,
            } => match input {
                Input::NewOrder(input) => return new_order.execute(session, control, input).await,
                Input::Payment(input) => payment.execute(session, input).await?,
                Input::OrderStatus(input) => order_status.execute(session, input).await?,
                Input::Delivery(input) => delivery.execute(session, input).await?,
                Input::StockLevel(input) => stock_level.execute(session, input).await?,
            },
            Self::MySql {
                new_order,
                payment,
                order_status,
                delivery,
                stock_level,
            } => match input {
                Input::NewOrder(input) => return new_order.execute(session, control, input).await,
                Input::Payment(input) => payment.execute(session, control, input).await?,
                Input::OrderStatus(input) => order_status.execute(session, control, input).await?,
                Input::Delivery(input) => delivery.execute(session, control, input).await?,
                Input::StockLevel(input) => stock_level.execute(session, input).await?,
            },
            Self::Procedures(procedures) => match input {
                Input::NewOrder(input) => return procedures.new_order(session, input).await,
                Input::Payment(input) => procedures.payment(session, input).await?,
                Input::OrderStatus(input) => procedures.order_status(session, input).await?,
                Input::Delivery(input) => procedures.delivery(session, input).await?,
                Input::StockLevel(input) => procedures.stock_level(session, input).await?,
            },
        }
        Ok(End::Committed)
    }
}
