//! The command line of `zkelect counter`.

use core::fmt;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use election_tokio::counter::CounterFormat;

use super::NodeArgs;
use super::exit_codes::EXIT_CODES;

const COUNTER_HELP: &str = "\
Examples:
  zkelect counter get --servers zk1:2181 /app/done
  zkelect counter add --servers zk1:2181 /app/done 1
  zkelect counter set --servers zk1:2181 /app/done 0
  zkelect counter set --servers zk1:2181 --if 7 /app/done 8 || echo 'it is not at 7'

`zkelect counter help ACTION` has more of each.";

/// Reads and changes a number that machines share.
///
/// Without a znode, or without data in it, the counter is at 0; its first change creates the znode.
#[derive(Debug, Args)]
#[command(after_help = COUNTER_HELP, after_long_help = format!("{COUNTER_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct CounterArgs {
    #[command(subcommand)]
    pub(crate) action: CounterAction,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum CounterAction {
    Get(CounterGetArgs),
    Add(CounterAddArgs),
    Set(CounterSetArgs),
}

/// Selects a counter.
#[derive(Debug, Args)]
pub(crate) struct OneCounterArgs {
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// How the number is written.
    #[arg(long, value_name = "NAME", default_value_t = CounterFormatName::Decimal)]
    pub(crate) format: CounterFormatName,
}

/// How the number of a counter is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CounterFormatName {
    /// Decimal digits, as in kazoo's `Counter`: 64 bits.
    Decimal,
    /// Four bytes, as in Curator's `SharedCount`.
    Curator,
}

impl CounterFormatName {
    pub(crate) const fn format(self) -> CounterFormat {
        match self {
            Self::Decimal => CounterFormat::Decimal,
            Self::Curator => CounterFormat::BigEndian,
        }
    }
}

impl fmt::Display for CounterFormatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", PossibleValue::get_name))
    }
}

const GET_HELP: &str = "\
Examples:
  zkelect counter get --servers zk1:2181 /app/done";

/// Prints the number, as one server knows it; it may be out of date.
#[derive(Debug, Args)]
#[command(after_help = GET_HELP, after_long_help = format!("{GET_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct CounterGetArgs {
    #[command(flatten)]
    pub(crate) counter: OneCounterArgs,
    /// Print a JSON object with `path` and `number`.
    #[arg(long)]
    pub(crate) json: bool,
}

const ADD_HELP: &str = "\
Examples:
  zkelect counter add --servers zk1:2181 /app/done 1
  zkelect counter add --servers zk1:2181 /app/left -1

Code 75: the reply was lost, and the number may have been added. It is not added twice.";

/// Adds to the number, and prints the sum.
#[derive(Debug, Args)]
#[command(after_help = ADD_HELP, after_long_help = format!("{ADD_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct CounterAddArgs {
    #[command(flatten)]
    pub(crate) counter: OneCounterArgs,
    /// The number to add; it may be negative.
    #[arg(value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) number: i64,
    /// Print a JSON object with `path` and `number`.
    #[arg(long)]
    pub(crate) json: bool,
}

const SET_HELP: &str = "\
Examples:
  zkelect counter set --servers zk1:2181 /app/done 0
  zkelect counter set --servers zk1:2181 --if 7 /app/done 8 || echo 'it is not at 7'

Code 75: the reply was lost, and the counter may have been set.";

/// Sets the number.
#[derive(Debug, Args)]
#[command(after_help = SET_HELP, after_long_help = format!("{SET_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct CounterSetArgs {
    #[command(flatten)]
    pub(crate) counter: OneCounterArgs,
    /// The number; it may be negative.
    #[arg(value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) number: i64,
    /// Only if the counter is at EXPECTED; else print its number, and end with code 1.
    #[arg(long = "if", value_name = "EXPECTED", allow_negative_numbers = true)]
    pub(crate) expected: Option<i64>,
}
