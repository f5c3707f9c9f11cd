//! A contender: its session, its signals, the bound on its wait, and its COMMAND.

use core::future::{Future, pending};
use core::pin::pin;
use core::time::Duration;

use election_tokio::{Client, ClientBuilder, ConnectionState};
use rustix::process::Signal;
use tokio::time::{Instant, sleep_until, timeout};

use crate::args::{ServersArgs, SessionTimeout};
use crate::console;
use crate::failure::Failure;
use crate::guard::HeldSession;
use crate::signals::{Signals, UserSignals};
use crate::supervision::{GuardedCommand, Held, Over, Pace, Privileges, Supervision, Task};
use crate::{connection, guard};

/// How long the release and the end of the session may take.
pub(crate) const LEAVE_BOUND: Duration = Duration::from_secs(5);

pub(crate) struct Contender {
    client: Client,
    servers: ServersArgs,
    signals: Signals,
    user_signals: UserSignals,
    patience: Patience,
    /// The timeout that was asked for.
    session_timeout: SessionTimeout,
    /// The part of COMMAND that cannot be stopped.
    remainder: Option<GuardedCommand>,
}

/// The outcome of a wait.
pub(crate) enum Waited<T> {
    /// The awaited value.
    Until(T),
    /// A signal that ends `zkelect`.
    Told(Signal),
    /// The wait has reached its bound.
    OutOfTime(Duration),
}

/// The departure of a contender: confirmed by a server, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    Confirmed,
    Unconfirmed,
}

impl Contender {
    /// Begins to connect and to wait, up to the bound.
    pub(crate) fn new(
        client: ClientBuilder,
        servers: &ServersArgs,
        session_timeout: SessionTimeout,
        wait: Option<Duration>,
    ) -> Result<Self, Failure> {
        guard::check_means()?;
        let handled = Failure::system("signals cannot be handled");
        let signals = Signals::new().map_err(&handled)?;
        let user_signals = UserSignals::new().map_err(&handled)?;
        let patience = Patience::new(wait);
        guard::adopt_orphans().map_err(Failure::system("orphans cannot be adopted"))?;
        let client = client.session_timeout(session_timeout.0).start()?;
        tokio::spawn(connection::report(&client, session_timeout.0));
        let servers = servers.clone();
        Ok(Self {
            client,
            servers,
            signals,
            user_signals,
            patience,
            session_timeout,
            remainder: None,
        })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the times that follow from the session timeout as the server granted it, if that is
    /// known.
    pub(crate) fn pace(&self) -> Pace {
        Pace::of(match self.client.connection_state() {
            ConnectionState::Connected { timeout, .. } => timeout,
            _ => self.session_timeout.0,
        })
    }

    /// Waits for something while no COMMAND runs. Returns a signal that would be COMMAND's.
    ///
    /// Cancel safe if `change` is.
    pub(crate) async fn wait<T>(&mut self, change: impl Future<Output = T>) -> Waited<T> {
        let mut change = pin!(change);
        loop {
            tokio::select! {
                changed = &mut change => return Waited::Until(changed),
                signal = self.signals.next() => return Waited::Told(signal),
                bound = self.patience.over() => return Waited::OutOfTime(bound),
                signal = self.user_signals.next() => console::note(format_args!(
                    "there is no COMMAND to pass signal {} on to",
                    signal.as_raw()
                )),
            }
        }
    }

    /// Begins the wait anew, with the same bound.
    pub(crate) fn wait_anew(&mut self) {
        self.patience = Patience::new(self.patience.bound);
    }

    /// Removes the bound from the wait.
    pub(crate) fn wait_without_end(&mut self) {
        self.patience = Patience::new(None);
    }

    /// Runs COMMAND for as long as something is held, by what is known now.
    pub(crate) async fn supervise(
        &mut self,
        held: &mut impl Held,
        task: &Task<'_>,
        until: Instant,
    ) -> Result<Over, Failure> {
        let mut supervision = Supervision::start(held, task, self.pace(), until)?;
        // Of a COMMAND that may become another user, no process can show that it is gone.
        if task.privileges == Privileges::Fixed
            && let Ok(ticket) = self.client.ticket()
        {
            supervision.close_with_this_process(HeldSession::new(&ticket, &self.servers));
        }
        let over = supervision.until_over(&mut self.signals, &mut self.user_signals).await;
        if over == Over::OutOfReach {
            let (command, pids) = supervision.into_remainder();
            console::warn(format_args!(
                "processes {pids:?} of COMMAND work on, and nothing is held"
            ));
            self.remainder = Some(command);
        }
        Ok(over)
    }

    /// Releases by `leaving`, and closes the session; another signal cuts that short.
    pub(crate) async fn leave(self, leaving: impl Future<Output = Departure>) {
        let Self { client, mut signals, session_timeout, remainder, .. } = self;
        let leaving = async {
            leaving.await == Departure::Confirmed
                && matches!(timeout(LEAVE_BOUND, client.close()).await, Ok(Ok(())))
        };
        let left = tokio::select! {
            left = leaving => left,
            _ = signals.next() => false,
        };
        if !left {
            console::warn(format_args!(
                "no server confirmed the departure: others see this contender until its session \
                 times out (asked for: {session_timeout})"
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

/// How long to wait.
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

    /// Waits until the wait is over, and returns how long it was.
    ///
    /// Cancel safe.
    async fn over(self) -> Duration {
        match (self.bound, self.until) {
            (Some(bound), Some(until)) => {
                sleep_until(until).await;
                bound
            }
            _ => pending().await,
        }
    }
}
