//! The common part of `lock` and others: wait, run COMMAND once while it is held, release.

mod event;
mod grip;

use core::time::Duration;
use std::io::{self, IsTerminal as _};

use election_tokio::lock::LockError;
use election_tokio::once::NotDue;
use election_tokio::{Client, ConnectionState};
use tokio::time::{Instant, sleep_until, timeout};

use crate::args::{CommandArgs, LeaseArgs, ServersArgs, Terms, WhenBusy};
use crate::contender::{Contender, LEAVE_BOUND, Waited};
use crate::event::{Recorder, Subject};
use crate::exit::{CommandExit, Exit};
use crate::failure::Failure;
use crate::supervision::{Held as _, Hold, Input, Over};
use crate::{connection, console, diagnosis};
use grip::Grip;
pub(crate) use grip::{Conclusion, Guard, OnRevokeRequest, Released};

/// Something to contend for, and then to hold.
pub(crate) trait Goal {
    type Guard: Guard;

    /// Waits until it is held.
    ///
    /// Cancel safe: dropping the future gives up the place in the queue.
    async fn acquire(&self, when_busy: WhenBusy) -> Result<Acquired<Self::Guard>, Failure>;
}

/// The outcome of a wait.
pub(crate) enum Acquired<G> {
    Held(G),
    /// Others are in the way, and the contender does not wait.
    Busy,
    /// COMMAND has run already.
    NotDue(NotDue),
}

impl<G> From<Option<G>> for Acquired<G> {
    fn from(held: Option<G>) -> Self {
        held.map_or(Self::Busy, Self::Held)
    }
}

/// The part of the command line that does not depend on what is held.
pub(crate) struct Plan<'a> {
    pub(crate) subject: Subject,
    pub(crate) servers: &'a ServersArgs,
    /// The default if there is no lease.
    pub(crate) lease: LeaseArgs,
    pub(crate) terms: Terms,
    pub(crate) command: &'a CommandArgs,
    pub(crate) on_request: OnRevokeRequest,
}

/// Runs COMMAND once, while holding what `goal` makes of a client and the data of its znode.
pub(crate) async fn hold<G: Goal>(
    plan: Plan<'_>,
    goal: impl FnOnce(&Client, String) -> G,
) -> Result<Exit, Failure> {
    let id = plan.command.id();
    let recorder = Recorder::open(plan.command.events.as_ref(), plan.subject.clone(), &id)?;
    let session_timeout = plan.command.session_timeout;
    let builder = plan.lease.apply(plan.servers.client()?);
    let mut contender = Contender::new(builder, plan.servers, session_timeout, plan.terms.bound)?;
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
    let goal = goal(&client, plan.command.data(id.clone()));
    let mut holder = Holder { plan, id, contender, goal, grip };
    let outcome = holder.until_over().await;
    let Holder { contender, grip, .. } = holder;
    contender.leave(grip.let_go(LEAVE_BOUND, reason(&outcome))).await;
    outcome
}

/// Returns the reason for the end, unless it is a normal one.
fn reason(outcome: &Result<Exit, Failure>) -> Option<String> {
    outcome.as_ref().err().map(ToString::to_string)
}

struct Holder<'a, G: Goal> {
    plan: Plan<'a>,
    id: String,
    contender: Contender,
    goal: G,
    grip: Grip<G::Guard>,
}

impl<G: Goal> Holder<'_, G> {
    async fn until_over(&mut self) -> Result<Exit, Failure> {
        loop {
            let pace = self.contender.pace();
            let waited = match self.grip.look() {
                Hold::Valid { until } if pace.may_start(until) => {
                    return self.run_command(until).await;
                }
                // COMMAND was not started yet.
                _ if self.grip.is_requested() => return Ok(Exit::InDoubt),
                // COMMAND has not run yet, so a lost holding can be acquired again.
                Hold::Nothing => {
                    let acquired = self.goal.acquire(self.plan.terms.when_busy);
                    match self.contender.wait(acquired).await {
                        Waited::Until(Ok(Acquired::Held(guard))) => {
                            self.grip.take(guard);
                            Waited::Until(())
                        }
                        Waited::Until(Ok(Acquired::Busy)) => return Ok(self.busy()),
                        Waited::Until(Ok(Acquired::NotDue(not_due))) => {
                            self.grip.not_due(&not_due);
                            return Ok(Exit::NotDue);
                        }
                        // For formats without an id: until the lost znode has gone.
                        Waited::Until(Err(Failure::Lock(LockError::AlreadyContending {
                            ..
                        }))) => self.contender.wait(sleep_until(pace.next_look())).await,
                        Waited::Until(Err(failure)) => return Err(self.diagnosed(failure).await),
                        Waited::Told(signal) => Waited::Told(signal),
                        Waited::OutOfTime(bound) => Waited::OutOfTime(bound),
                    }
                }
                Hold::Valid { .. } | Hold::InDoubt { .. } | Hold::Requested { .. } => {
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
        let subject = &self.plan.subject;
        let mut environment = self.grip.environment();
        environment.push(("ZKELECT_ID", self.id.clone()));
        environment.push((subject.variable(), subject.value()));
        let input = self.grip.input();
        let input = match input.map_err(Failure::system("COMMAND's input cannot be made"))? {
            Some(file) => Input::File(file),
            // A process group in the background cannot read from a terminal.
            None if io::stdin().is_terminal() => Input::Empty,
            None => Input::Own,
        };
        let task = self.plan.command.task(environment, input);
        match self.contender.supervise(&mut self.grip, &task, until).await? {
            Over::Done(exit) => self.conclude(exit).await,
            Over::Told(exit) => Ok(Exit::Command(exit)),
            Over::InDoubt => Ok(Exit::InDoubt),
            Over::OutOfReach => Err(Failure::OutOfReach),
        }
    }

    async fn conclude(&mut self, exit: CommandExit) -> Result<Exit, Failure> {
        self.contender.wait_without_end();
        match self.contender.wait(self.grip.conclude(exit)).await {
            Waited::Until(outcome) => outcome,
            Waited::Told(signal) => Ok(Exit::Signal(signal.as_raw())),
            Waited::OutOfTime(bound) => Err(Failure::NoAnswer(bound)),
        }
    }

    /// Ends because the time is over: others were in the way, or no server was in reach.
    fn out_of_time(&self, bound: Duration) -> Result<Exit, Failure> {
        let is_connected =
            matches!(self.contender.client().connection_state(), ConnectionState::Connected { .. });
        match self.plan.terms.when_busy {
            WhenBusy::Wait if is_connected => Ok(self.busy()),
            WhenBusy::Wait | WhenBusy::GiveUp => Err(Failure::NoAnswer(bound)),
        }
    }

    fn busy(&self) -> Exit {
        console::remark(self.plan.subject.in_vain());
        Exit::Busy(self.plan.terms.in_vain)
    }

    /// Returns the reason for the failure, as far as it can be found out.
    async fn diagnosed(&self, failure: Failure) -> Failure {
        let client = self.contender.client();
        let path = match &failure {
            Failure::Lock(LockError::Failed { at, .. }) => at.path(),
            _ => self.plan.subject.path(),
        };
        let diagnosis = diagnosis::diagnose(client, path, &failure);
        let found = timeout(LEAVE_BOUND, diagnosis).await.ok().flatten();
        found.unwrap_or(failure)
    }
}
