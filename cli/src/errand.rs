//! The common part of subcommands without a COMMAND: reach a server, ask it for something, end.

use core::future::Future;
use core::time::Duration;

use election_tokio::Client;
use tokio::time::timeout;

use crate::args::{NodeArgs, ServersArgs};
use crate::connection;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::signals::{Signal, Signals};

/// How long the end of a session that holds nothing may take.
const LEAVE_BOUND: Duration = Duration::from_secs(5);

/// The timeout to ask for, for sessions that hold nothing.
const SESSION_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to look for a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    Within(Duration),
    /// Without an end, or up to a bound; reports obstacles meanwhile.
    Patient {
        bound: Option<Duration>,
    },
}

impl From<&NodeArgs> for Reach {
    fn from(node: &NodeArgs) -> Self {
        Self::Within(*node.timeout)
    }
}

/// A connected client, and the signals that end `zkelect`.
pub(crate) struct Errand {
    client: Client,
    signals: Signals,
}

/// The outcome of a wait.
pub(crate) enum Done<T> {
    Output(T),
    /// A signal came first.
    Told(Signal),
}

impl Errand {
    /// Reaches a server with a session that holds nothing.
    pub(crate) async fn begin(servers: &ServersArgs, reach: Reach) -> Result<Done<Self>, Failure> {
        Self::begin_with(servers, reach, SESSION_TIMEOUT).await
    }

    /// Reaches a server.
    pub(crate) async fn begin_with(
        servers: &ServersArgs,
        reach: Reach,
        session_timeout: Duration,
    ) -> Result<Done<Self>, Failure> {
        let mut signals = Signals::new().map_err(Failure::system("signals cannot be handled"))?;
        let builder = servers.client()?.session_timeout(session_timeout);
        let connected = async {
            let bound = match reach {
                Reach::Within(bound) => {
                    return connection::connect(builder, &servers.servers, bound).await;
                }
                Reach::Patient { bound } => bound,
            };
            let client = builder.start()?;
            tokio::spawn(connection::report(&client, session_timeout));
            let checked = connection::check_chroot(&client, &servers.servers);
            match bound {
                Some(bound) => within(bound, checked).await?,
                None => checked.await?,
            }
            Ok(client)
        };
        tokio::select! {
            client = connected => Ok(Done::Output(Self { client: client?, signals })),
            signal = signals.next() => Ok(Done::Told(signal)),
        }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Waits for something, or for a signal that ends `zkelect`.
    ///
    /// Cancel safe if `work` is.
    pub(crate) async fn or_told<T>(&mut self, work: impl Future<Output = T>) -> Done<T> {
        tokio::select! {
            output = work => Done::Output(output),
            signal = self.signals.next() => Done::Told(signal),
        }
    }

    /// Ends the session.
    pub(crate) async fn end(self) {
        // It holds nothing, so it may time out.
        let _ = timeout(LEAVE_BOUND, self.client.close()).await;
    }
}

/// Reaches a server, asks it for one thing, and ends the session.
pub(crate) async fn errand(
    servers: &ServersArgs,
    reach: Reach,
    work: impl AsyncFnOnce(&Client) -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let mut errand = match Errand::begin(servers, reach).await? {
        Done::Output(errand) => errand,
        Done::Told(signal) => return Ok(Exit::Signal(signal.as_raw())),
    };
    let client = errand.client.clone();
    let outcome = match errand.or_told(work(&client)).await {
        Done::Output(outcome) => outcome,
        Done::Told(signal) => Ok(Exit::Signal(signal.as_raw())),
    };
    errand.end().await;
    outcome
}

/// Waits for the answer to a request that changes nothing, up to a bound.
pub(crate) async fn within<T, E: Into<Failure>>(
    bound: Duration,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T, Failure> {
    match timeout(bound, answer).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(Failure::NoAnswer(bound)),
    }
}

/// Waits for the answer to a request, up to a bound. Without an answer, the request `what` may have
/// been executed.
pub(crate) async fn within_or_in_doubt<T, E: Into<Failure>>(
    bound: Duration,
    what: &'static str,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T, Failure> {
    match timeout(bound, answer).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(Failure::InDoubt { bound, what }),
    }
}
