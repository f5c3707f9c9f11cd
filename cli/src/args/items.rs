//! Options about the items of a queue.

use core::time::Duration;

use clap::Args;

use super::{QueueFormatName, Time};

/// How to read a queue.
#[derive(Debug, Args)]
pub(crate) struct ItemsArgs {
    /// The format of items' names: all users of a queue need the same one.
    #[arg(long, value_name = "NAME", default_value_t = QueueFormatName::Guide)]
    pub(crate) format: QueueFormatName,
}

/// How long to wait for an item.
#[derive(Debug, Args)]
pub(crate) struct ForItemArgs {
    /// Wait for an item while there is none, at most for TIME if it is given, and for a server,
    /// too. Without it, end with code 1 if there is none.
    #[arg(short, long, value_name = "TIME", require_equals = true, num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "clap's form of an option whose value is optional")]
    wait: Option<Option<Time>>,
}

/// The reaction to an empty queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForItem {
    GiveUp,
    Wait { bound: Option<Duration> },
}

impl ForItemArgs {
    pub(crate) fn for_item(&self) -> ForItem {
        match self.wait {
            None => ForItem::GiveUp,
            Some(Some(bound)) if bound.is_zero() => ForItem::GiveUp,
            Some(bound) => ForItem::Wait { bound: bound.map(|bound| *bound) },
        }
    }
}
