//! Checks whether the nominee is well, by a command.

use core::future::pending;
use core::time::Duration;
use std::ffi::OsString;

use election_tokio::election::{CheckFailure, Checked, Checks, Condition, ConditionChange};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::notifier;
use crate::args::{RunArgs, WellnessArgs};
use crate::console;
use crate::exit::CommandExit;
use crate::failure::Failure;
use crate::guard::{BootTime, EndedBy};
use crate::supervision::{GuardedCommand, Input, News, Privileges, Task, WhileSuspended};

/// The state of the nominee, by its checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// No check has ended yet.
    Unchecked,
    /// The nominee is well, or is not checked.
    Well,
    /// It is not, because of this.
    Unwell(String),
    /// The first check could not be started.
    Unusable(CommandExit),
}

/// The state of the nominee, kept up to date. Dropping it ends the checks, and kills one that is
/// under way.
pub(super) enum Wellness {
    /// It is not checked, and counts as well.
    Unasked,
    Asked {
        seen: watch::Receiver<State>,
        #[expect(dead_code, reason = "dropping it ends the checks")]
        checks: AbortOnDrop,
    },
}

pub(super) struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Wellness {
    /// Begins to check, if the command line asks for it.
    pub(super) fn start(args: &RunArgs, id: &str) -> Self {
        let WellnessArgs { check: Some(command), .. } = &args.wellness else {
            return Self::Unasked;
        };
        let (sender, seen) = watch::channel(State::Unchecked);
        let asked = &args.wellness;
        let runner = Runner {
            // What a check prints must not get between the lines of --events.
            command: ["sh", "-c", &format!("exec >/dev/null\n{command}")].map(OsString::from),
            environment: vec![
                ("ZKELECT_ID", id.to_owned()),
                ("ZKELECT_ELECTION", args.election.clone()),
            ],
            timeout: *asked.check_timeout,
            under_way: None,
            sender: sender.clone(),
        };
        let (timeout, every) = (*asked.check_timeout, *asked.check_every);
        let (rise, fall) = (asked.check_rise, asked.check_fall);
        let checks = tokio::spawn(async move {
            let mut runner = runner;
            let check = async move || runner.check().await;
            let checks = Checks::new(check).every(every).timeout(timeout).rise(rise).fall(fall);
            checks.monitor(|checked| heed(&sender, checked)).await;
        });
        Self::Asked { seen, checks: AbortOnDrop(checks.abort_handle()) }
    }

    /// Returns the present state.
    pub(super) fn state(&mut self) -> State {
        match self {
            Self::Unasked => State::Well,
            Self::Asked { seen, .. } => seen.borrow_and_update().clone(),
        }
    }

    /// Waits for a change since the last look.
    ///
    /// Cancel safe.
    pub(super) async fn changed(&mut self) {
        match self {
            Self::Unasked => pending().await,
            Self::Asked { seen, checks: _ } => {
                if seen.changed().await.is_err() {
                    pending::<()>().await;
                }
            }
        }
    }
}

fn heed(sender: &watch::Sender<State>, checked: Checked) {
    let Checked { failure, condition, change, .. } = checked;
    match (change, condition, failure) {
        (ConditionChange::Changed, Condition::Well, _) => {
            sender.send_replace(State::Well);
        }
        (ConditionChange::Changed, _, Some(reason)) => {
            sender.send_if_modified(|state| {
                let is_usable = !matches!(state, State::Unusable(_));
                if is_usable {
                    *state = State::Unwell(reason.to_string());
                }
                is_usable
            });
        }
        (ConditionChange::Unchanged, Condition::Well, Some(reason)) => {
            console::note(format_args!("a check failed: {reason}"));
        }
        _ => {}
    }
}

/// Runs a check, one at a time.
struct Runner {
    command: [OsString; 3],
    environment: Vec<(&'static str, String)>,
    timeout: Duration,
    /// The last check, until nothing of it is left.
    under_way: Option<GuardedCommand>,
    sender: watch::Sender<State>,
}

impl Runner {
    /// Runs the check, and returns why it failed if it did.
    ///
    /// If it is dropped, the guard ends the check at its time, and the next call waits for that.
    async fn check(&mut self) -> Result<(), String> {
        if let Some(last) = &mut self.under_way {
            // However it has ended: its time is over.
            let _ = last.news_alone().await;
            self.under_way = None;
        }
        let task = Task {
            command: &self.command,
            grace: Duration::ZERO,
            environment: self.environment.clone(),
            hidden: notifier::VARIABLES,
            privileges: Privileges::Fixed,
            input: Input::Empty,
            ready_fd: None,
            while_suspended: WhileSuspended::Stop,
        };
        let until = BootTime::now().plus(self.timeout);
        let started = GuardedCommand::start(&task, until);
        let check = self
            .under_way
            .insert(started.map_err(|error| format!("the check cannot be started: {error}"))?);
        let news = check.news_alone().await;
        self.under_way = None;
        let News::Ended { exit, ended_by } = news else {
            return Err("the guard of the check has gone".to_owned());
        };
        if ended_by != EndedBy::Itself {
            return Err(CheckFailure::TimedOut(self.timeout).to_string());
        }
        match exit {
            CommandExit::Code(0) => Ok(()),
            CommandExit::Code(code) => {
                if is_not_started(code) && *self.sender.borrow() == State::Unchecked {
                    self.sender.send_replace(State::Unusable(exit));
                }
                Err(format!("the check ended with code {code}"))
            }
            CommandExit::Signal(signal) => Err(format!("the check was killed by signal {signal}")),
        }
    }
}

/// Returns whether a shell ends with this code where it cannot start a command.
const fn is_not_started(code: u8) -> bool {
    matches!(code, 126 | 127)
}

/// Makes the failure of checks that cannot be started.
pub(super) fn unusable(args: &RunArgs, exit: CommandExit) -> Failure {
    let command = args.wellness.check.clone().unwrap_or_default();
    Failure::Check { command, exit }
}
