//! The nouns of dbdyno: plain, versioned, serialisable documents and nothing that acts on them; and counts
//! as sentences have them.

pub mod bench;
pub mod catalogue;
pub mod check;
pub mod class;
pub mod comparison;
pub mod connection;
pub mod diff;
pub mod fact;
pub mod facts;
pub mod finding;
pub mod footprint;
pub mod host;
pub mod plan;
pub mod postgres;
pub mod run;
pub mod tune;
pub mod verdict;
pub mod words;

pub use bench::Bench;
pub use catalogue::{Catalogue, RuleText};
pub use check::Check;
pub use class::{Class, Needs};
pub use comparison::Comparison;
pub use connection::{Address, ClientCertificate, Connection, Engine, Secret, SslMode};
pub use diff::Diff;
pub use fact::Fact;
pub use facts::{Facts, Intent};
pub use finding::{Effect, Evidence, Finding, Outcome, Recommendation, Severity};
pub use footprint::Footprint;
pub use plan::{Change, FileLines, HostAction, Plan};
pub use run::Run;
pub use tune::Tune;
pub use verdict::Verdict;
