//! Leaders of the operated election write in their epoch, where an operator deletes that election now and
//! then.

use core::future::pending;
use core::time::Duration;

use election_tokio::election::Leadership;
use election_tokio::{CreateMode, Version};
use tokio::time::sleep;

use crate::life::{Life, in_time};
use crate::setting::LONGEST;

/// The znode that they write to.
pub(crate) const REGISTER: &str = "/operated-register";
/// Every candidate that stood before is known to be gone by then: its lease has lapsed.
pub(crate) const QUIET: Duration = LONGEST;
const EVERY: Duration = Duration::from_millis(60);

/// How an operator ends the operated election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EndsBy {
    /// It leaves the sign of the end, and takes it away later.
    #[default]
    Sign,
    /// It often deletes the election, with its epoch and its other marks.
    Deletion,
}

impl EndsBy {
    /// From this seed on, the election is deleted. So the others are what they were.
    const FIRST: u64 = 10_000;

    pub(crate) const fn of(seed: u64) -> Self {
        if seed < Self::FIRST { Self::Sign } else { Self::Deletion }
    }
}

impl Life {
    /// Writes its token again and again, each time with a check of its epoch, for as long as it may.
    pub(crate) async fn write_in_epoch(&self, leadership: &Leadership) -> ! {
        if self.laws.operated_ends_by() == EndsBy::Deletion {
            let epoch = in_time(&self.laws, self.number, "an epoch", leadership.epoch()).await;
            if let Some(Ok(epoch)) = epoch {
                let (token, number) = (leadership.token(), epoch.number());
                self.laws.tell(|| format!("{} has epoch {number} by {token}", self.number));
                while self.write_once(&leadership.token().to_string(), &epoch).await {
                    sleep(EVERY).await;
                }
            }
        }
        pending().await
    }

    /// Returns whether the epoch may go on.
    async fn write_once(&self, token: &str, epoch: &election_tokio::election::Epoch) -> bool {
        let create = self.client.create(REGISTER, "", CreateMode::Persistent);
        // It is there, or the write says why it is not.
        let _ = in_time(&self.laws, self.number, "a create", create).await;
        let start = self.client.transaction().check(epoch.path(), epoch.version());
        let write = start.set_data(REGISTER, token.to_owned(), Version::ANY);
        let written = in_time(&self.laws, self.number, "a write in an epoch", write.commit()).await;
        if let Some(Ok(_)) = written {
            self.laws.count(|tally| tally.writes_in_epochs += 1);
        }
        !matches!(written, Some(Err(error)) if error.is_bad_version() || error.is_no_node())
    }
}
