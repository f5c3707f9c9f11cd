//! Ctrl-C, the only signal that `zkelect` handles on this system.

use core::future::pending;
use std::io;

pub(crate) struct Signals(());

/// SIGINT.
#[derive(Clone, Copy)]
pub(crate) struct Signal(());

impl Signal {
    #[expect(clippy::unused_self, reason = "as on Linux, where there are several")]
    pub(crate) fn as_raw(self) -> i32 {
        2
    }
}

impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "as on Linux, where it can fail")]
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(()))
    }

    /// Waits for the next one.
    ///
    /// Cancel safe.
    pub(crate) async fn next(&mut self) -> Signal {
        if tokio::signal::ctrl_c().await.is_err() {
            pending::<()>().await;
        }
        Signal(())
    }
}
