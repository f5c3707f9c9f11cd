//! The arguments of the command line.

use std::path::PathBuf;

use crate::outcome::{Outcome, failed};

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The whole table.
    Whole,
    /// Ours and raw, on our own server, few of each: does it still run?
    Quick,
}

#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) extent: Extent,
    pub(crate) rounds: usize,
    /// Runs the measures that have this prefix; all, if it is not given.
    pub(crate) only: Option<String>,
    pub(crate) svg: Option<PathBuf>,
}

pub(crate) const USAGE: &str = "\
zk-peers [--rounds N] [--only get-data|lists|threads|take-over|many-take-over|bring-up|idle|killed|frozen|pauses]
         [--svg FILE] [--quick]
zk-peers serve              the responder alone; prints its port
zk-peers worker CLIENT [two-threads]
                            one client alone, which takes orders on the standard input";

impl Arguments {
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut arguments = Self { extent: Extent::Whole, rounds: 9, only: None, svg: None };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} what?"));
            match word.as_str() {
                "--quick" => {
                    arguments.extent = Extent::Quick;
                    arguments.rounds = 1;
                }
                "--rounds" => arguments.rounds = value()?.parse()?,
                "--only" => arguments.only = Some(value()?),
                "--svg" => arguments.svg = Some(value()?.into()),
                _ => return failed(format!("no such option: {word}\n{USAGE}")),
            }
        }
        if arguments.rounds == 0 { failed("--rounds 0") } else { Ok(arguments) }
    }
}
