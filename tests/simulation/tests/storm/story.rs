//! The story of a run, for the reader of one that broke a law.

use tokio::time::Instant;

/// Prints what it is told, if `STORM_STORY` is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Story {
    begin: Option<Instant>,
}

impl Story {
    pub(crate) fn begin() -> Self {
        let is_told = std::env::var_os("STORM_STORY").is_some();
        Self { begin: is_told.then(Instant::now) }
    }

    pub(crate) fn tell(self, what: impl FnOnce() -> String) {
        if let Some(begin) = self.begin {
            println!("{:8.3} s: {}", begin.elapsed().as_secs_f64(), what());
        }
    }
}
