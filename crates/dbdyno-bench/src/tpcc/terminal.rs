//! One connection that draws transactions and runs them.

use std::sync::Arc;
use std::time::Duration;

use super::control::Control;
use super::deck::Deck;
use super::delivery::DeliveryInput;
use super::names::Names;
use super::new_order::NewOrderInput;
use super::order_status::OrderStatusInput;
use super::payment::PaymentInput;
use super::procedures::Procedures;
use super::random::Random;
use super::stock_level::{StockLevel, StockLevelInput};
use super::think::Think;
use super::user::User;
use super::{Config, Constants, DISTRICTS, End, Mode, mysql, plain, postgres, stream};
use crate::wire::{Engine, Sent, Session, WireError};

#[derive(Debug, Clone, Copy)]
enum Input {
    NewOrder(NewOrderInput),
    Payment(PaymentInput),
    OrderStatus(OrderStatusInput),
    Delivery(DeliveryInput),
    StockLevel(StockLevelInput),
}

/// The five transactions, prepared for one set.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a terminal has few, none of which ever moves"
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

/// What a transaction depends on its set for.
#[derive(Debug)]
struct Set {
    c_run: [u32; 3],
    transactions: Transactions,
}

/// One connection with its deck, its random numbers and its statements.
#[derive(Debug)]
pub struct Terminal {
    session: Session,
    random: Random,
    deck: Deck,
    /// None where nobody keys in and thinks, and every warehouse is as much home as another.
    user: Option<User>,
    warehouses: u32,
    sets: Vec<Set>,
    /// Index of the set that the input is for.
    set: usize,
    input: Option<Input>,
    control: Control,
}

impl Terminal {
    /// Prepares the statements for every set. What the terminal draws depends on `run_seed` and `index`
    /// alone. The constants are those of the first set; each of the others has been loaded with its own.
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
        let mut sets = Vec::new();
        for (names, number) in config.names().zip(1..) {
            let c_run = match number {
                1 => constants.c_run,
                _ => super::constants(config.set_seed(number)).c_run,
            };
            let names = Arc::new(names);
            let transactions = Transactions::prepare(&mut session, &names, mode).await?;
            sets.push(Set {
                c_run,
                transactions,
            });
        }
        Ok(Self {
            session,
            random: Random::stream(run_seed, &[stream::TERMINAL, u64::from(index)]),
            deck: Deck::new(),
            user: None,
            warehouses: config.warehouses,
            sets,
            set: 0,
            input: None,
            control,
        })
    }

    /// From now on a user sits here, at the home that goes with the index.
    pub(crate) fn seat(&mut self, think: Think, run_seed: u64, index: u32) {
        self.user = Some(User::new(think, run_seed, index, self.warehouses));
    }

    /// How long the user takes from the last transaction's end to the start of this one.
    pub(crate) fn wait_before(&mut self, transaction: usize) -> Duration {
        let user = self.user.as_mut();
        user.map_or(Duration::ZERO, |user| user.wait_before(transaction))
    }

    /// Deals the next card and draws its input; returns its index into [`super::TRANSACTIONS`].
    #[expect(
        clippy::should_implement_trait,
        reason = "an endless deal is no iteration"
    )]
    pub fn next(&mut self) -> usize {
        let card = self.deck.deal(&mut self.random);
        let random = &mut self.random;
        let warehouses = self.warehouses;
        let fixed = self.user.as_ref().map(User::home);
        if let Some(home) = fixed {
            self.set = home.set;
        } else if self.sets.len() > 1 {
            self.set = random.uniform(1..=self.sets.len() as u32) as usize - 1;
        }
        let c = &self.sets[self.set].c_run;
        let home = fixed.map_or_else(|| random.uniform(1..=warehouses), |home| home.warehouse);
        self.input = Some(match card {
            0 => Input::NewOrder(super::new_order::draw(random, home, warehouses, c)),
            1 => Input::Payment(super::payment::draw(random, home, warehouses, c)),
            2 => Input::OrderStatus(super::order_status::draw(random, home, c)),
            3 => Input::Delivery(super::delivery::draw(random, home)),
            _ => {
                let district = fixed.map(|home| home.district);
                let district = district.unwrap_or_else(|| random.uniform(1..=DISTRICTS));
                Input::StockLevel(super::stock_level::draw(random, home, district))
            }
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
        let transactions = &mut self.sets[self.set].transactions;
        transactions.execute(session, control, input).await
    }

    /// Ends what a failed attempt left open: answers that nobody took, and the transaction.
    ///
    /// # Errors
    /// The server is lost.
    pub async fn rollback(&mut self) -> Result<(), WireError> {
        self.session.rollback().await
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
    async fn prepare(
        session: &mut Session,
        names: &Arc<Names>,
        mode: Mode,
    ) -> Result<Self, WireError> {
        match (mode, session.engine()) {
            (Mode::Unbatched | Mode::Batched, _) => {
                let batched = mode == Mode::Batched;
                Ok(Self::Plain {
                    new_order: plain::NewOrder::prepare(session, names, batched).await?,
                    payment: plain::Payment::prepare(session, names, batched).await?,
                    order_status: plain::OrderStatus::prepare(session, names, batched).await?,
                    delivery: plain::Delivery::prepare(session, names, batched).await?,
                    stock_level: plain::StockLevel::prepare(session, names).await?,
                })
            }
            (Mode::Pipelined, Engine::Postgres) => Ok(Self::Postgres {
                new_order: postgres::NewOrder::prepare(session, names).await?,
                payment: postgres::Payment::prepare(session, names).await?,
                order_status: postgres::OrderStatus::prepare(session, names).await?,
                delivery: postgres::Delivery::prepare(session, names).await?,
                stock_level: StockLevel::prepare(session, names, postgres::STOCK_LEVEL).await?,
            }),
            (Mode::Pipelined, Engine::MySql) => Ok(Self::MySql {
                new_order: mysql::NewOrder::prepare(session, names).await?,
                payment: mysql::Payment::prepare(session, names).await?,
                order_status: mysql::OrderStatus::prepare(session, names).await?,
                delivery: mysql::Delivery::prepare(session, names).await?,
                stock_level: StockLevel::prepare(session, names, mysql::STOCK_LEVEL).await?,
            }),
            (Mode::Procedures, _) => {
                Ok(Self::Procedures(Procedures::prepare(session, names).await?))
            }
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
