//! The session's clock: tokio's, counted from when the client was made.

use core::time::Duration;

use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: Instant::now() }
    }

    pub(crate) fn now(self) -> zk_session::Instant {
        zk_session::Instant::since_origin(self.origin.elapsed())
    }

    /// The moment on tokio's clock; in the far future where that cannot say it.
    pub(crate) fn to_tokio(self, at: zk_session::Instant) -> Instant {
        const FAR: Duration = Duration::from_secs(60 * 60 * 24 * 365);
        self.origin.checked_add(at.elapsed()).unwrap_or_else(|| Instant::now() + FAR)
    }
}
