//! The signals that `zkelect` handles.

use core::future::pending;
use std::fs;
use std::io;

pub(crate) use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind, signal};

/// The signals that end `zkelect`.
pub(crate) struct Signals {
    terminate: Handled,
    interrupt: Handled,
    hangup: Handled,
    quit: Handled,
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        let ignored = Ignored::at_the_start();
        Ok(Self {
            // Service managers end with it the processes that they started, however they started
            // them.
            terminate: Handled::new(Signal::TERM, Ignored::NONE)?,
            interrupt: Handled::new(Signal::INT, ignored)?,
            hangup: Handled::new(Signal::HUP, ignored)?,
            quit: Handled::new(Signal::QUIT, ignored)?,
        })
    }

    /// Waits for the next one.
    ///
    /// Cancel safe.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            () = self.terminate.next() => Signal::TERM,
            () = self.interrupt.next() => Signal::INT,
            () = self.hangup.next() => Signal::HUP,
            () = self.quit.next() => Signal::QUIT,
        }
    }
}

/// The signals that COMMAND gives a meaning to.
pub(crate) struct UserSignals {
    first: Handled,
    second: Handled,
}

impl UserSignals {
    pub(crate) fn new() -> io::Result<Self> {
        let ignored = Ignored::at_the_start();
        Ok(Self {
            first: Handled::new(Signal::USR1, ignored)?,
            second: Handled::new(Signal::USR2, ignored)?,
        })
    }

    /// Waits for the next one.
    ///
    /// Cancel safe.
    pub(crate) async fn next(&mut self) -> Signal {
        tokio::select! {
            () = self.first.next() => Signal::USR1,
            () = self.second.next() => Signal::USR2,
        }
    }
}

/// A signal that is handled, unless it was ignored when this process started, as `nohup` and shells
/// do: then it stays ignored, for COMMAND too.
struct Handled(Option<unix::Signal>);

impl Handled {
    fn new(of: Signal, ignored: Ignored) -> io::Result<Self> {
        if ignored.has(of) {
            return Ok(Self(None));
        }
        Ok(Self(Some(signal(SignalKind::from_raw(of.as_raw()))?)))
    }

    async fn next(&mut self) {
        match &mut self.0 {
            Some(signal) => drop(signal.recv().await),
            None => pending().await,
        }
    }
}

/// Which signals are ignored: signal N is bit N - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ignored(u64);

impl Ignored {
    const NONE: Self = Self(0);

    /// Reads the ignored signals; those that this process handles do not count. Empty if the kernel
    /// does not tell.
    fn at_the_start() -> Self {
        fs::read_to_string("/proc/self/status").map_or(Self::NONE, |status| Self::parse(&status))
    }

    fn parse(status: &str) -> Self {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.map_or(Self::NONE, Self)
    }

    fn has(self, signal: Signal) -> bool {
        u32::try_from(signal.as_raw() - 1)
            .is_ok_and(|bit| self.0.checked_shr(bit).is_some_and(|mask| mask & 1 == 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_mask() {
        let ignored = Ignored::parse("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\tff\n");
        assert!(ignored.has(Signal::HUP) && ignored.has(Signal::PIPE));
        assert!(!ignored.has(Signal::INT) && !ignored.has(Signal::TERM));
        assert_eq!(Ignored::parse("SigIgn:\tnonsense\n"), Ignored::NONE);
        assert_eq!(Ignored::parse(""), Ignored::NONE);
    }
}
