//! Lab servers: private PostgreSQL instances that are removed when their command ends.

mod account;
mod binaries;
mod cap;
mod clone;
mod disk;
mod download;
mod error;
mod home;
mod instance;
mod server;
mod sweep;

pub use account::Account;
pub use binaries::{Binaries, Version, Wanted};
pub use cap::Cap;
pub use download::PINNED;
pub use error::LabError;
pub use home::Home;
pub use instance::{Abort, Lab, LabOptions};
pub use server::{Server, Stop};
pub use sweep::{Swept, sweep};
