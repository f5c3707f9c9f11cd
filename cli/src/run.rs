//! `zkelect run`: stands for election, and runs COMMAND while it leads.

mod command;
mod diagnosis;
mod lead;
mod standing;

use core::future::pending;
use core::time::Duration;
use std::io::{self, IsTerminal as _};

use election_tokio::{Client, ConnectionState, EndReason, Leadership};
use rustix::process::Signal;
use tokio::time::{Instant, sleep_until, timeout};

use crate::args::RunArgs;
use crate::console;
use crate::event::Recorder;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::signals::{Signals, UserSignals};
use crate::{connection, guard};
use command::{GuardedCommand, Input, Privileges, Task};
use lead::{Lead, Over, Pace};
use standing::{Departure, Nominee, Standing};

/// How long a resignation and the end of the session may take.
const LEAVE_BOUND: Duration = Duration::from_secs(5);

/// Stands until COMMAND has ended by itself, or a signal ends it.
pub(crate) async fn run(mut args: RunArgs) -> Result<Exit, Failure> {
    let id = args.id.clone().unwrap_or_else(host_and_process);
    let path = args.election.election.clone();
    connection::check_path(&path)?;
    if args.stdin && io::stdin().is_terminal() {
        return Err(Failure::TerminalInput);
    }
    guard::check_means()?;
    let recorder = Recorder::open(args.events.take(), &path, &id)?;
    let handled = Failure::system("signals cannot be handled");
    let mut signals = Signals::new().map_err(&handled)?;
    let user_signals = UserSignals::new().map_err(&handled)?;
    let patience = Patience::new(args.wait.map(Into::into));
    guard::adopt_orphans().map_err(Failure::system("orphans cannot be adopted"))?;
    let client = args.election.client()?.session_timeout(args.session_timeout.0).start()?;
    tokio::spawn(connection::report(client.connection_updates(), args.session_timeout.0));
    tokio::select! {
        checked = connection::check_chroot(&client, &args.election.servers) => checked?,
        signal = signals.next() => return Ok(Exit::Signal(signal.as_raw())),
        failure = patience.over() => return Err(failure),
    }
    let nomination = client.election(&path).data(id.clone()).nominate()?;
    let nominee = Nominee::new(nomination, recorder);
    let mut run = Run { args, id, client, nominee, signals, user_signals, patience, left: None };
    let outcome = run.until_over().await;
    run.leave().await;
    outcome
}

fn host_and_process() -> String {
    let uname = rustix::system::uname();
    format!("{}-{}", uname.nodename().to_string_lossy(), std::process::id())
}

struct Run {
    args: RunArgs,
    id: String,
    client: Client,
    nominee: Nominee,
    signals: Signals,
    user_signals: UserSignals,
    patience: Patience,
    /// What of COMMAND cannot be stopped.
    left: Option<GuardedCommand>,
}

impl Run {
    async fn until_over(&mut self) -> Result<Exit, Failure> {
        loop {
            let pace = Pace::of(self.session_timeout());
            match self.nominee.look() {
                Standing::Ended(reason) => return Err(self.failure(reason).await),
                Standing::Leading { until } if !pace.kill_at(until).is_past() => {
                    match self.lead(pace, until).await? {
                        Over::Done(exit) => return Ok(Exit::Command(exit)),
                        Over::InDoubt if self.args.once => return Ok(Exit::LeadLost),
                        Over::InDoubt => self.patience = Patience::new(self.patience.bound),
                        Over::OutOfReach => return Err(Failure::OutOfReach),
                    }
                }
                standing => {
                    if let Some(signal) = self.wait(standing, pace).await? {
                        return Ok(Exit::Signal(signal.as_raw()));
                    }
                }
            }
        }
    }

    /// Waits for something to change; a signal, or the bound on waiting, ends the wait for good.
    async fn wait(&mut self, standing: Standing, pace: Pace) -> Result<Option<Signal>, Failure> {
        let is_a_matter_of_time = standing != Standing::Waiting;
        tokio::select! {
            () = self.nominee.changed() => Ok(None),
            signal = self.signals.next() => Ok(Some(signal)),
            signal = self.user_signals.next() => {
                console::note(format_args!(
                    "there is no COMMAND to pass signal {} on to",
                    signal.as_raw()
                ));
                Ok(None)
            }
            failure = self.patience.over() => Err(failure),
            () = sleep_until(pace.next_look()), if is_a_matter_of_time => Ok(None),
        }
    }

    /// Why the nomination ended, as far as that can be found out.
    async fn failure(&self, reason: EndReason) -> Failure {
        let path = &self.args.election.election;
        let diagnosis = diagnosis::diagnose(&self.client, path, &reason);
        match timeout(LEAVE_BOUND, diagnosis).await {
            Ok(Some(failure)) => failure,
            Ok(None) | Err(_) => Failure::Nomination(reason),
        }
    }

    async fn lead(&mut self, pace: Pace, until: Instant) -> Result<Over, Failure> {
        let Some(leadership) = self.nominee.leadership() else {
            return Ok(Over::InDoubt);
        };
        let task = Task {
            command: &self.args.command,
            grace: *self.args.grace,
            environment: self.environment(leadership),
            privileges: if self.args.allow_new_privileges {
                Privileges::MayGrow
            } else {
                Privileges::Fixed
            },
            input: if self.args.stdin { Input::Own } else { Input::Empty },
        };
        let mut lead = Lead::start(&mut self.nominee, &task, pace, until)?;
        let over = lead.until_over(&mut self.signals, &mut self.user_signals).await;
        if over == Over::OutOfReach {
            let (command, pids) = lead.into_remainder();
            console::warn(format_args!("processes {pids:?} of COMMAND work on without the lead"));
            self.left = Some(command);
        }
        Ok(over)
    }

    fn environment(&self, leadership: &Leadership) -> [(&'static str, String); 4] {
        [
            ("ZKELECT_TOKEN", leadership.token().get().to_string()),
            ("ZKELECT_ID", self.id.clone()),
            ("ZKELECT_ELECTION", self.args.election.election.clone()),
            ("ZKELECT_CANDIDATE", leadership.candidate().to_string()),
        ]
    }

    /// As the server granted it, where that is known.
    fn session_timeout(&self) -> Duration {
        match self.client.connection_updates().latest() {
            ConnectionState::Connected { timeout, .. } => timeout,
            _ => self.args.session_timeout.0,
        }
    }

    /// Resigns or withdraws and closes the session; another signal cuts that short.
    async fn leave(self) {
        let Self { client, nominee, mut signals, args, left: remainder, .. } = self;
        let leaving = async {
            nominee.leave(LEAVE_BOUND).await == Departure::Confirmed
                && matches!(timeout(LEAVE_BOUND, client.close()).await, Ok(Ok(())))
        };
        let left = tokio::select! {
            left = leaving => left,
            _ = signals.next() => false,
        };
        if !left {
            console::warn(format_args!(
                "no server confirmed the departure: others see this candidate until its session \
                 times out (asked for: {})",
                args.session_timeout
            ));
        }
        if let Some(mut command) = remainder {
            console::note("waits for the end of what is left of COMMAND; a signal ends that");
            tokio::select! {
                () = command.gone() => {}
                _ = signals.next() => console::warn("ends, and leaves them behind"),
            }
        }
    }
}

/// How long to wait to be elected.
#[derive(Clone, Copy)]
struct Patience {
    bound: Option<Duration>,
    until: Option<Instant>,
}

impl Patience {
    /// Begins to wait.
    fn new(bound: Option<Duration>) -> Self {
        Self { bound, until: bound.and_then(|bound| Instant::now().checked_add(bound)) }
    }

    /// Waits until the wait is over.
    ///
    /// Cancel safe.
    async fn over(self) -> Failure {
        match (self.bound, self.until) {
            (Some(bound), Some(until)) => {
                sleep_until(until).await;
                Failure::NotElected(bound)
            }
            _ => pending().await,
        }
    }
}
