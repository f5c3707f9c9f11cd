//! Contenders for one election, lock or semaphore that are processes of their own, of this library
//! and of others: what they say, and whether what they held overlapped.

mod ledger;
mod report;

pub use ledger::{Contradiction, Held, Ledger, Rule};
pub use report::{NotAReport, Report};
