//! `zkelect lock --once-per`: runs COMMAND if no run of the last period counts.

use election_tokio::Token;
use election_tokio::once::{Admission, Once, OnceError, OnceRun, TakeAgain};
use tokio::time::Instant;

use crate::args::{Again, WhenBusy};
use crate::console;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::holding::{Acquired, Conclusion, Goal, Guard, Released};

impl From<Again> for TakeAgain {
    fn from(again: Again) -> Self {
        match again {
            Again::Never => Self::Never,
            Again::Interrupted => Self::Interrupted,
            Again::Failed => Self::Failed,
        }
    }
}

impl Goal for Once {
    type Guard = OnceRun;

    async fn acquire(&self, when_busy: WhenBusy) -> Result<Acquired<OnceRun>, Failure> {
        let admission = match when_busy {
            WhenBusy::Wait => self.begin().await?,
            WhenBusy::GiveUp => self.try_begin().await?,
        };
        match admission {
            Admission::Run(run) => Ok(Acquired::Held(run)),
            Admission::NotDue(not_due) => Ok(Acquired::NotDue(not_due)),
            Admission::Busy => Ok(Acquired::Busy),
            _ => Err(Failure::Internal("a job was begun in an unknown way")),
        }
    }
}

impl Guard for OnceRun {
    fn token(&self) -> Option<Token> {
        Some(self.lock().token())
    }

    fn znode(&self) -> String {
        self.lock().znode().to_string()
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        Guard::environment(self.lock())
    }

    fn valid_until(&self) -> Option<Instant> {
        self.lock().valid_until()
    }

    async fn lost(&self) -> String {
        self.lock().lost().await.to_string()
    }

    async fn revoke_requested(&self) {
        Guard::revoke_requested(self.lock()).await;
    }

    /// Records how COMMAND has ended.
    async fn conclude(self, exit: CommandExit) -> Conclusion<Self> {
        let recorded = match exit {
            CommandExit::Code(0) => self.succeeded().await,
            CommandExit::Code(_) | CommandExit::Signal(_) => self.failed().await,
        };
        match recorded {
            Ok(()) => Conclusion::Over { how: "released" },
            Err(error @ OnceError::NotReleased(_)) => {
                console::warn(error);
                Conclusion::Over { how: "released, without a server's answer" }
            }
            Err(error @ OnceError::Lost { .. }) => Conclusion::Lost { reason: error.to_string() },
            Err(error) => Conclusion::Failed(error.into()),
        }
    }

    async fn release(self) -> Released {
        self.give_up().await.map(drop).into()
    }
}
