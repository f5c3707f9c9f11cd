//! Options of `run` about checks whether this nominee is well.

use core::num::NonZeroU32;

use clap::Args;

use super::time::{Time, above_zero};

#[derive(Debug, Args)]
#[command(next_help_heading = "Checks")]
pub(crate) struct WellnessArgs {
    /// Stand for election only while this nominee is well: while `sh -c COMMAND` ends with 0, as
    /// `curl -fsS http://127.0.0.1:8080/health` does. A leader that is unwell stops its own COMMAND and
    /// gives the lead up; it stands again once it is well.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,
    /// The time from the start of a check to that of the next. Checks never overlap.
    #[arg(long, value_name = "TIME", default_value = "5s", requires = "check")]
    pub(crate) check_every: Time,
    /// How long a check may take. Then it is killed, with all that it has started, and has failed.
    #[arg(long, value_name = "TIME", default_value = "5s", requires = "check", value_parser = above_zero)]
    pub(crate) check_timeout: Time,
    /// How many checks in a row have to succeed until an unwell nominee is well again. The first check
    /// decides alone.
    #[arg(long, value_name = "N", default_value = "2", requires = "check")]
    pub(crate) check_rise: NonZeroU32,
    /// How many checks in a row have to fail until a well nominee is unwell.
    #[arg(long, value_name = "N", default_value = "3", requires = "check")]
    pub(crate) check_fall: NonZeroU32,
}
