//! Nominees that are processes of their own, to be killed and paused.

mod process;
mod report;

pub use process::{NomineeError, NomineeProcess, merged};
pub use report::{NotAReport, Report};
