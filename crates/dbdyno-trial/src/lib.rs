//! Puts plans and loads together: trials of two or more arms on identical data, judged as they go.

pub mod arm;
pub mod budget;
mod disk;
pub mod error;
pub mod events;
mod execute;
mod failure;
mod loaded;
mod recovery;
mod sampler;
mod summary;
pub mod template;
mod trial;
mod verdict;

pub use arm::{ArmSpec, unsafe_arms};
pub use budget::{Budget, LEAST_LOAD_S};
pub use error::TrialError;
pub use events::{Estimate, Events, Phase, Progress};
pub use sampler::{HostReader, of_postgres};
pub use template::{Template, load_template};
pub use trial::{Outcome, Spec, run};
