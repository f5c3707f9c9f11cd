//! `zkelect run`: stands for election, and runs COMMAND while it leads.

mod command;
mod lead;
mod standing;

use core::time::Duration;

use election_tokio::{Client, ConnectionState, Leadership};
use rustix::process::Signal;
use tokio::time::{sleep_until, timeout};

use crate::args::RunArgs;
use crate::console;
use crate::event::Recorder;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::signals::Signals;
use crate::{connection, guard};
use command::Task;
use lead::{Lead, Over, Pace};
use standing::{Departure, Nominee, Standing};

/// How long a resignation and the end of the session may take.
const LEAVE_BOUND: Duration = Duration::from_secs(5);

/// Stands until COMMAND has ended by itself, or a signal ends it.
pub(crate) async fn run(mut args: RunArgs) -> Result<Exit, Failure> {
    let id = args.id.clone().unwrap_or_else(host_and_process);
    let path = args.election.election.clone();
    connection::check_path(&path)?;
    let recorder = Recorder::open(args.events.take(), &path, &id)?;
    let mut signals = Signals::new().map_err(Failure::system("signals cannot be handled"))?;
    guard::adopt_orphans().map_err(Failure::system("orphans cannot be adopted"))?;
    let client = args.election.client()?.session_timeout(args.session_timeout.0).start()?;
    tokio::spawn(connection::report(client.connection_updates(), args.session_timeout.0));
    tokio::select! {
        checked = connection::check_chroot(&client, &args.election.servers) => checked?,
        signal = signals.next() => return Ok(Exit::Signal(signal.as_raw())),
    }
    let nomination = client.election(&path).data(id.clone()).nominate()?;
    let mut run = Run { args, id, client, nominee: Nominee::new(nomination, recorder), signals };
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
}

impl Run {
    async fn until_over(&mut self) -> Result<Exit, Failure> {
        loop {
            let pace = Pace::of(self.session_timeout());
            match self.nominee.look() {
                Standing::Ended(reason) => return Err(Failure::Nomination(reason)),
                Standing::Leading { until } if !pace.kill_at(until).is_past() => {
                    match self.lead(pace, until).await? {
                        Over::Done(exit) => return Ok(Exit::Command(exit)),
                        Over::InDoubt if self.args.once => return Ok(Exit::LeadLost),
                        Over::InDoubt => {}
                    }
                }
                standing => {
                    if let Some(signal) = self.wait(standing, pace).await {
                        return Ok(Exit::Signal(signal.as_raw()));
                    }
                }
            }
        }
    }

    /// Waits for something to change; a signal ends the wait for good.
    async fn wait(&mut self, standing: Standing, pace: Pace) -> Option<Signal> {
        let is_a_matter_of_time = standing != Standing::Waiting;
        tokio::select! {
            () = self.nominee.changed() => None,
            signal = self.signals.next() => Some(signal),
            () = sleep_until(pace.next_look()), if is_a_matter_of_time => None,
        }
    }

    async fn lead(&mut self, pace: Pace, until: tokio::time::Instant) -> Result<Over, Failure> {
        let Some(leadership) = self.nominee.leadership() else {
            return Ok(Over::InDoubt);
        };
        let task = Task {
            command: &self.args.command,
            grace: *self.args.grace,
            environment: self.environment(leadership),
        };
        let mut lead = Lead::start(&mut self.nominee, &task, pace, until)?;
        Ok(lead.until_over(&mut self.signals).await)
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
        let Self { client, nominee, mut signals, args, .. } = self;
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
    }
}
