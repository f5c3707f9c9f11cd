//! What `lock` and `semaphore` do alike: wait, run COMMAND once while something is held, let go.

mod event;
mod grip;

use core::time::Duration;
use std::io::{self, IsTerminal as _};

use election_tokio::{Client, ConnectionState, LockError};
use tokio::time::{Instant, sleep_until, timeout};

use crate::args::{CommandArgs, PatienceArgs, ServersArgs};
use crate::contender::{Contender, LEAVE_BOUND, Waited};
use crate::event::{Recorder, Subject};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::supervision::{Held as _, Hold, Input, Over};
use crate::{connection, console, diagnosis};
use grip::Grip;
pub(crate) use grip::{Guard, OnRevokeRequest};

/// What can be contended for, and then held.
pub(crate) trait Goal {
    type Guard: Guard;

    /// Waits until it is held; `None` if others are in the way and the contender does not wait.
    ///
    /// Cancel safe: dropping the future gives the place in the queue up.
    async fn acquire(&self, when_busy: WhenBusy) -> Result<Option<Self::Guard>, Failure>;
}

/// What follows when others are in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WhenBusy {
    Wait,
    GiveUp,
}

/// What the command line says, whatever is held.
pub(crate) struct Plan<'a> {
    pub(crate) subject: Subject,
    pub(crate) servers: &'a ServersArgs,
    pub(crate) patience: &'a PatienceArgs,
    pub(crate) command: &'a CommandArgs,
    pub(crate) on_request: OnRevokeRequest,
}

/// Runs COMMAND once, while that is held which `goal` makes of a client and the contender's name.
pub(crate) async fn hold<G: Goal>(
    plan: Plan<'_>,
    goal: impl FnOnce(&Client, String) -> G,
) -> Result<Exit, Failure> {
    let id = plan.command.id();
    let recorder = Recorder::open(plan.command.events.as_ref(), plan.subject.clone(), &id)?;
    let (when_busy, bound) = plan.patience();
    let mut contender = Contender::new(plan.servers, plan.command, bound)?;
    let client = contender.client().clone();
    let grip = Grip::new(client.connection_updates(), recorder, plan.on_request);
    let checked = contender.wait(connection::check_chroot(&client, &plan.servers.servers)).await;
    let too_early = match checked {
        Waited::Until(Ok(())) => None,
        Waited::Until(Err(failure)) => Some(Err(failure)),
        Waited::Told(signal) => Some(Ok(Exit::Signal(signal.as_raw()))),
        Waited::OutOfTime(bound) => Some(Err(Failure::NoAnswer(bound))),
    };
    if let Some(outcome) = too_early {
        grip.let_go(LEAVE_BOUND, reason(&outcome)).await;
        return outcome;
    }
    let goal = goal(&client, id.clone());
    let mut holder = Holder { plan, id, when_busy, contender, goal, grip };
    let outcome = holder.until_over().await;
    let Holder { contender, grip, .. } = holder;
    contender.leave(grip.let_go(LEAVE_BOUND, reason(&outcome))).await;
    outcome
}

/// Why it is over, if not in the course of things.
fn reason(outcome: &Result<Exit, Failure>) -> Option<String> {
    outcome.as_ref().err().map(ToString::to_string)
}

impl Plan<'_> {
    /// What to do when others are in the way, and how long to wait for all of it.
    fn patience(&self) -> (WhenBusy, Option<Duration>) {
        match self.patience.wait {
            Some(wait) if !wait.is_zero() => (WhenBusy::Wait, Some(*wait)),
            None if !self.patience.r#try => (WhenBusy::Wait, None),
            _ => (WhenBusy::GiveUp, Some(self.command.session_timeout.0)),
        }
    }
}

struct Holder<'a, G: Goal> {
    plan: Plan<'a>,
    id: String,
    when_busy: WhenBusy,
    contender: Contender,
    goal: G,
    grip: Grip<G::Guard>,
}

impl<G: Goal> Holder<'_, G> {
    async fn until_over(&mut self) -> Result<Exit, Failure> {
        loop {
            let pace = self.contender.pace();
            let waited = match self.grip.look() {
                Hold::Valid { until } if !pace.kill_at(until).is_past() => {
                    return self.run_command(until).await;
                }
                // Before COMMAND was started.
                _ if self.grip.is_requested() => return Ok(Exit::HoldLost),
                // COMMAND has not run yet: what was held and is lost can be had again.
                Hold::Nothing => {
                    let acquired = self.goal.acquire(self.when_busy);
                    match self.contender.wait(acquired).await {
                        Waited::Until(Ok(Some(guard))) => {
                            self.grip.take(guard);
                            Waited::Until(())
                        }
                        Waited::Until(Ok(None)) => return Ok(self.busy()),
                        // Of names without an id, until what was lost has gone.
                        Waited::Until(Err(Failure::Lock(LockError::AlreadyContending {
                            ..
                        }))) => self.contender.wait(sleep_until(pace.next_look())).await,
                        Waited::Until(Err(failure)) => return Err(self.diagnosed(failure).await),
                        Waited::Told(signal) => Waited::Told(signal),
                        Waited::OutOfTime(bound) => Waited::OutOfTime(bound),
                    }
                }
                Hold::Valid { .. } | Hold::InDoubt { .. } => {
                    let grip = &mut self.grip;
                    let change = async {
                        tokio::select! {
                            () = grip.changed() => {}
                            () = sleep_until(pace.next_look()) => {}
                        }
                    };
                    self.contender.wait(change).await
                }
            };
            match waited {
                Waited::Until(()) => {}
                Waited::Told(signal) => return Ok(Exit::Signal(signal.as_raw())),
                Waited::OutOfTime(bound) => return self.out_of_time(bound),
            }
        }
    }

    async fn run_command(&mut self, until: Instant) -> Result<Exit, Failure> {
        let [token, znode] = self.grip.token_and_znode();
        let environment = [
            ("ZKELECT_TOKEN", token),
            ("ZKELECT_ID", self.id.clone()),
            (self.plan.subject.variable(), self.plan.subject.path().to_owned()),
            ("ZKELECT_ZNODE", znode),
        ];
        // Of a terminal, a process group in the background cannot read.
        let input = if io::stdin().is_terminal() { Input::Empty } else { Input::Own };
        let task = self.plan.command.task(environment, input);
        match self.contender.supervise(&mut self.grip, &task, until).await? {
            Over::Done(exit) => Ok(Exit::Command(exit)),
            Over::InDoubt => Ok(Exit::HoldLost),
            Over::OutOfReach => Err(Failure::OutOfReach),
        }
    }

    /// A server in reach was asked, and others were in the way; or there was none.
    fn out_of_time(&self, bound: Duration) -> Result<Exit, Failure> {
        let is_connected =
            matches!(self.contender.client().connection_state(), ConnectionState::Connected { .. });
        match self.when_busy {
            WhenBusy::Wait if is_connected => Ok(self.busy()),
            WhenBusy::Wait | WhenBusy::GiveUp => Err(Failure::NoAnswer(bound)),
        }
    }

    fn busy(&self) -> Exit {
        let path = self.plan.subject.path();
        console::note(format_args!("{path} is held by others (`zkelect list` shows them)"));
        Exit::Busy(self.plan.patience.conflict_exit_code)
    }

    /// Why it cannot be held, as far as that can be found out.
    async fn diagnosed(&self, failure: Failure) -> Failure {
        let client = self.contender.client();
        let diagnosis = diagnosis::diagnose(client, self.plan.subject.path(), &failure);
        timeout(LEAVE_BOUND, diagnosis).await.ok().flatten().unwrap_or(failure)
    }
}
