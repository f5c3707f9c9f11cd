//! The settings of a client.

use core::num::NonZeroUsize;
use core::time::Duration;
use std::sync::Arc;

use zk_session::lease::{HeartbeatPace, LeaseGrade, LeaseMargin};
use zk_session::sasl::Sasl;
use zk_session::{
    Backoff, Config, ConnectString, Limits, ReadOnlyServers, Secret, SessionEnd, SessionTicket,
    SilentServers, SubmitError, WhileDisconnected,
};

use super::{Client, ConnectError, Handle};
use crate::acl::Acls;
use crate::clock::{Clock, OwnClock};
use crate::driver::{Dialer, Driver};
use crate::error::SharedError;
use crate::hub::{Servers, Shared};
use crate::ids::Ids;
use crate::path::Chroot;
use crate::sasl::SaslMechanism;
use crate::source::ServerSource;
use crate::state::ConnectionState;
#[cfg(feature = "tls")]
use crate::tls::{TlsConnector, TlsOptions};
use crate::transport::{Connector, TcpConnector};
use crate::updates::{NoMoreUpdates, Updates};
use election_session::{Identity, IfGone, KeepReady, OnExpiry, Resumption, Settings};

/// The largest reply that a client reads by default. Servers do not limit what they send: a list of
/// many children may be larger than the frames that they accept.
const DEFAULT_MAX_REPLY: usize = 64 * 1024 * 1024;

/// Sets a client up and [connects](ClientBuilder::connect) it; made by [`Client::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ClientBuilder {
    servers: ServersAt,
    connect_timeout: Option<Duration>,
    missing_chroot: MissingChroot,
    session: Config,
    identities: Vec<Identity>,
    on_expiry: OnExpiry,
    resumption: Option<Resumption>,
    max_reply: usize,
    seed: Option<u64>,
    id_seed: Option<u64>,
    look_interval: Option<Duration>,
    keep_ready: KeepReady,
    clock: Option<OwnClock>,
    connector: Arc<dyn Connector>,
    #[cfg(feature = "tls")]
    tls: Option<TlsOptions>,
    sasl: Option<Arc<dyn SaslMechanism>>,
}

/// How to find the servers.
#[derive(Clone, Debug)]
enum ServersAt {
    ConnectString(String),
    Source { source: Arc<dyn ServerSource>, chroot: String },
}

/// The action on connecting if the chroot does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MissingChroot {
    StaysMissing,
    IsCreated,
}

impl Client {
    /// Starts to describe a client of these servers: `host[:port][,host[:port]…][/chroot]`.
    pub fn builder(servers: &str) -> ClientBuilder {
        ClientBuilder::new(servers)
    }

    /// Starts to describe a client of the servers that `source` names. The client lives below
    /// `chroot`; `/` is the whole tree.
    pub fn builder_from(source: impl ServerSource, chroot: &str) -> ClientBuilder {
        ClientBuilder::from_source(source, chroot)
    }
}

impl ClientBuilder {
    pub(super) fn new(servers: &str) -> Self {
        Self::with(ServersAt::ConnectString(servers.to_owned()))
    }

    pub(super) fn from_source(source: impl ServerSource, chroot: &str) -> Self {
        Self::with(ServersAt::Source { source: Arc::new(source), chroot: chroot.to_owned() })
    }

    fn with(servers: ServersAt) -> Self {
        Self {
            servers,
            connect_timeout: None,
            missing_chroot: MissingChroot::StaysMissing,
            session: Config::new(NonZeroUsize::MIN),
            identities: Vec::new(),
            on_expiry: OnExpiry::Renew,
            resumption: None,
            max_reply: DEFAULT_MAX_REPLY,
            seed: None,
            id_seed: None,
            look_interval: None,
            keep_ready: KeepReady::default(),
            clock: None,
            connector: Arc::new(TcpConnector),
            #[cfg(feature = "tls")]
            tls: None,
            sasl: None,
        }
    }

    /// Makes the client and waits for its first session.
    ///
    /// Cancel safe: dropping the future drops the client, which closes its session if a server has
    /// granted or resumed it by then.
    ///
    /// # Errors
    ///
    /// [`ConnectError`]; if no server granted a session in time, with the last attempt.
    pub async fn connect(self) -> Result<Client, ConnectError> {
        let after = self.connect_timeout.unwrap_or(self.session.session_timeout);
        let (resumes, missing_chroot) = (self.resumption.is_some(), self.missing_chroot);
        let client = self.start()?;
        let mut connection = client.connection_updates();
        let ready = async {
            loop {
                connected(&mut connection).await.map_err(|end| match end {
                    SessionEnd::Expired(expiry) if resumes => ConnectError::SessionGone(expiry),
                    end => ConnectError::Ended(end),
                })?;
                if missing_chroot == MissingChroot::StaysMissing {
                    return Ok(());
                }
                match client.create_chroot(&Acls::open()).await {
                    Err(error) if error.is_connection_loss() || error.is_not_connected() => {}
                    outcome => return outcome.map_err(ConnectError::ChrootNotCreated),
                }
            }
        };
        if let Ok(outcome) = tokio::time::timeout(after, ready).await {
            return outcome.map(|()| client);
        }
        let last_failure = match connection.latest() {
            ConnectionState::Connecting { last_failure, .. } => last_failure,
            _ => None,
        };
        Err(ConnectError::NoServer { after, last_failure })
    }

    /// Makes the client without waiting. It connects in the background;
    /// [`Client::connection_updates`] shows the progress.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] if the connect string, the margin with this grade, an identity, or the
    /// options of TLS cannot be used; [`ConnectError::NoRuntime`] outside of a tokio runtime.
    ///
    /// # Panics
    ///
    /// In a tokio runtime that was built without its drivers for IO and time.
    pub fn start(self) -> Result<Client, ConnectError> {
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| ConnectError::NoRuntime)?;
        let (known, source, chroot) = match self.servers {
            ServersAt::ConnectString(text) => {
                let servers: ConnectString = text.parse()?;
                (servers.servers().cloned().collect(), None, servers.chroot().to_owned())
            }
            ServersAt::Source { source, chroot } => (Vec::new(), Some(source), chroot),
        };
        let chroot = Chroot::new(&chroot).map_err(ConnectError::Chroot)?;
        let (margin, grade) = (self.session.margin, self.session.grade);
        if !margin.suits(grade) {
            return Err(ConnectError::Margin { margin, grade });
        }
        let connector = self.connector;
        #[cfg(feature = "tls")]
        let connector: Arc<dyn Connector> = match self.tls {
            Some(options) => Arc::new(TlsConnector::new(connector, options)?),
            None => connector,
        };
        let seed = self.seed.map_or_else(getrandom::u64, Ok);
        let seed = seed.map_err(|error| ConnectError::Randomness(SharedError::new(error)))?;
        let mut session = self.session;
        session.sasl = if self.sasl.is_some() { Sasl::Required } else { Sasl::Off };
        let mut settings = Settings::new(session, seed);
        settings.identities = self.identities;
        settings.on_expiry = self.on_expiry;
        settings.look_interval = self.look_interval;
        settings.keep_ready = self.keep_ready;
        settings.resumption = self.resumption.map(Box::new);
        let clock = Clock::start(self.clock);
        let fixed = (clock, Ids::new(self.id_seed));
        let shared = Shared::new(settings, Servers::new(known), chroot, self.max_reply, fixed);
        let shared = Arc::new(shared.map_err(unpresentable)?);
        let dialer = Dialer { connector, sasl: self.sasl };
        // In a box: the memory of a task comes in steps of 128 bytes, and one of them would be
        // nearly empty.
        runtime.spawn(Box::pin(Driver::new(Arc::clone(&shared), source, dialer)));
        Ok(Client { handle: Arc::new(Handle { shared }) })
    }
}

/// Settings.
impl ClientBuilder {
    /// Sets the session timeout to ask for (default: 10 s). The server brings it into its bounds;
    /// [`ConnectionState::Connected`] has the granted timeout.
    ///
    /// When a leader dies, the next one leads once the session has timed out. A longer timeout
    /// survives longer pauses and slower links.
    pub fn session_timeout(mut self, timeout: Duration) -> Self {
        self.session.session_timeout = timeout;
        self
    }

    /// Sets how long [`ClientBuilder::connect`] waits for a first session (default: the session timeout).
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// Creates the chroot and its ancestors if they do not exist: as persistent znodes, with an
    /// access list that allows everything to every client. [`ClientBuilder::connect`] does it
    /// before it returns; after [`ClientBuilder::start`], or for another access list, call
    /// [`Client::create_chroot`].
    ///
    /// Without it, operations on a missing chroot fail with
    /// [`ErrorKind::NoChroot`](crate::ErrorKind::NoChroot), because the path may be mistyped.
    pub fn create_chroot(mut self) -> Self {
        self.missing_chroot = MissingChroot::IsCreated;
        self
    }

    /// Sets how long to wait between attempts to connect.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.session.backoff = backoff;
        self
    }

    /// Sets what happens to operations while there is no connection (default: they fail at once).
    pub fn while_disconnected(mut self, behaviour: WhileDisconnected) -> Self {
        self.session.while_disconnected = behaviour;
        self
    }

    /// Accepts a server that is cut off from its ensemble and answers only reads (default: no).
    ///
    /// On such a server [`ConnectionState::Connected`] says `read_only`, writes fail with
    /// [`ErrorKind::ReadOnlyServer`](crate::ErrorKind::ReadOnlyServer), and no nominee is elected.
    /// The client looks for a server that takes writes, and moves there with a new session: a
    /// read-only server's session can own nothing. Watches are kept.
    pub fn read_only_servers(mut self, servers: ReadOnlyServers) -> Self {
        self.session.read_only_servers = servers;
        self
    }

    /// Sets what the client does with a server from which nothing comes while something is in flight, if the client
    /// knows another one (default: [`SilentServers::Leave`]).
    ///
    /// A caller waits for a frozen server for a 15th of the session timeout, 250 ms at least, until its operation fails
    /// with [`ErrorKind::ConnectionLoss`](crate::ErrorKind::ConnectionLoss); a client at rest notices at its next ping
    /// or heartbeat, a third of the timeout later at most, and a leader keeps its lead. Servers that pause for longer,
    /// but for less than two thirds of the timeout, are left where [`SilentServers::Endure`] would wait:
    /// once or twice, as each departure doubles the bound for a minute.
    pub fn silent_servers(mut self, servers: SilentServers) -> Self {
        self.session.silent_servers = servers;
        self
    }

    /// Bounds the requests in flight, and their size.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.session.limits = limits;
        self
    }

    /// Bounds the replies, in bytes (default: 64 MiB). The client does not keep a larger one, and
    /// its operation fails with [`ErrorKind::ReplyTooLarge`](crate::ErrorKind::ReplyTooLarge).
    pub fn max_reply(mut self, bytes: usize) -> Self {
        self.max_reply = bytes;
        self
    }

    /// Sets the seed of what the client draws at random: the order of the servers and the lengths
    /// of waits (default: from the operating system). It is for tests that have to run the same way
    /// again. Clients with the same seed would all come back at the same moments.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the seed of the ids that nominations, locks and the other recipes get (default: from the
    /// operating system). It is for tests that have to run the same way again, names of znodes
    /// included.
    ///
    /// **No two clients of an ensemble may have the same one**, not even one after the other: each would
    /// take the znodes of the other for its own, and delete them.
    pub fn id_seed(mut self, seed: u64) -> Self {
        self.id_seed = Some(seed);
        self
    }

    /// Sets how often each nominee looks whether a server has kept an event from it (default: every
    /// ten session timeouts, but not more than once a minute). Each interval is drawn at random,
    /// between three and five quarters of it.
    ///
    /// Some servers (3.8.4, 3.9.2 and later, and Debian's 3.8.0) send no event when a znode is
    /// deleted that the watcher may not read, and remove the watch (ZOOKEEPER-4799). If its
    /// predecessor has such an access list, a follower would wait for ever. With looks it wakes
    /// after five quarters of this interval at the latest. They cost one list of the candidates for
    /// each election that nominees of this client follow in, and one read for each election that
    /// they lead.
    pub fn look_interval(mut self, interval: Duration) -> Self {
        self.look_interval = Some(interval);
        self
    }

    /// Sets the evidence for the lease of a leadership (default: [`LeaseGrade::Quorum`]).
    ///
    /// Only ZooKeeper's leader expires sessions, but a follower answers pings alone. So a ping
    /// proves nothing in an ensemble if its members may be cut off. A stronger grade holds under
    /// more failures of the ensemble. It costs two requests in place of each ping: `sync`s, and
    /// with `Quorum`, for a nominee that leads or is the next to lead, every other one is a commit.
    /// [`ClientBuilder::keep_ready`] sets when.
    ///
    /// On servers that are not Apache ZooKeeper ([`Client::server_family`]) only
    /// [`LeaseGrade::Advisory`] elects a leader, which then has to guard each write by its token or in a
    /// transaction: no lease holds there.
    pub fn lease_grade(mut self, grade: LeaseGrade) -> Self {
        self.session.grade = grade;
        self
    }

    /// Sets how often the client proves its lease (default: every third of the session timeout). At
    /// twice the pace and twice the requests, answers may take a 15th of the session timeout
    /// instead of a 30th.
    pub fn heartbeat_pace(mut self, pace: HeartbeatPace) -> Self {
        self.session.pace = pace;
        self
    }

    /// Sets when the client keeps its lease ready (default: [`KeepReady::OnceNeeded`]). With a
    /// ready lease, a nominee is reported elected one round trip after its promotion. A client that
    /// lets the lease lapse sends pings, and takes 5/12 of the session timeout to prove it
    /// again: a third for the evidence, a twelfth to see that the session is not being closed.
    ///
    /// By default that is the wait of the first nomination, or the first lock, of a client that has connected
    /// more than a minute ago (or ten session timeouts, if that is more), and of no other. With
    /// [`KeepReady::Always`] it does not wait either, at the price of two requests in place of each ping, every
    /// third of the session timeout, which ZooKeeper's leader answers.
    pub fn keep_ready(mut self, keep_ready: KeepReady) -> Self {
        self.keep_ready = keep_ready;
        self
    }

    /// Adds a clock that goes on while the machine stands still, as a hypervisor makes it stand (default:
    /// none). Without it a lease that is a second from its end is so after the pause, too, and two leaders
    /// may read that they are valid.
    ///
    /// `read` returns the time since a moment that stays the same. It never goes back, its rate is that of the
    /// machine's clocks within the [margin](Self::lease_margin), and it goes on through pauses: a paravirtual
    /// clock of the host, or a hardware clock. The time of day is none: it is set. The client reads it with
    /// each question for the lease, so it has to answer at once, and in each step of 20 ms that it is ahead the
    /// client's time goes ahead.
    pub fn clock(mut self, read: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        self.clock = Some(OwnClock::new(read));
        self
    }

    /// Sets how much earlier than the session timeout a lease ends (default: a tenth), because
    /// clocks run at different rates. At most a fifth, except with [`LeaseGrade::Contact`].
    pub fn lease_margin(mut self, margin: LeaseMargin) -> Self {
        self.session.margin = margin;
        self
    }

    /// Presents an identity on every connection; for the scheme `digest`, `user:password`. May be
    /// called several times.
    pub fn auth(mut self, scheme: &str, credential: &[u8]) -> Self {
        self.identities
            .push(Identity { scheme: scheme.to_owned(), credential: Secret::new(credential) });
        self
    }

    /// Authenticates the client by SASL, on every connection before anything else. If a server
    /// refuses, or takes no part in SASL, the client ends: it never goes on without an identity.
    ///
    /// With the feature `sasl-digest-md5`: `DigestMd5::new("bob", Secret::new(password))`.
    pub fn sasl(mut self, mechanism: impl SaslMechanism) -> Self {
        self.sasl = Some(Arc::new(mechanism));
        self
    }

    /// Sets what happens when the session expires (default: the client makes a new one). With
    /// [`OnExpiry::Close`] the client ends, and so do all nominations, locks and calls on it: for a
    /// service that does not want to reconnect for ever.
    pub fn on_expiry(mut self, on_expiry: OnExpiry) -> Self {
        self.on_expiry = on_expiry;
        self
    }

    /// Continues a session that [`Client::detach`] has given up, in this process or another one.
    /// Its ephemeral znodes are still there, and
    /// [`Election::take_over`](crate::election::Election::take_over) continues a nomination. `if_gone` says
    /// what happens if no server knows the session any more. The client asks for the timeout of the
    /// ticket, unless a later call of [`ClientBuilder::session_timeout`] sets another one.
    ///
    /// Use a ticket once. Using it, valid or not, disconnects the client that holds the session:
    /// two processes with one session end each other's connections in turn.
    pub fn resume(mut self, ticket: SessionTicket, if_gone: IfGone) -> Self {
        self.session.session_timeout = ticket.timeout();
        self.resumption = Some(Resumption { ticket, if_gone });
        self
    }

    /// Opens transports by `connector`, instead of plain TCP.
    pub fn connector(mut self, connector: impl Connector) -> Self {
        self.connector = Arc::new(connector);
        self
    }

    /// Encrypts every connection with TLS, over the transports of [`ClientBuilder::connector`]. The
    /// servers' ports have to be those for TLS (`secureClientPort`).
    ///
    /// [`ClientBuilder::start`] and [`ClientBuilder::connect`] then read files, and block
    /// meanwhile. Unusable files are [`ConnectError::Tls`].
    #[cfg(feature = "tls")]
    pub fn tls(mut self, options: TlsOptions) -> Self {
        self.tls = Some(options);
        self
    }
}

/// Waits for a session.
async fn connected(connection: &mut Updates<ConnectionState>) -> Result<(), SessionEnd> {
    let decided = |state: &ConnectionState| {
        matches!(state, ConnectionState::Connected { .. } | ConnectionState::Closed { .. })
    };
    match connection.wait_for(decided).await {
        Ok(ConnectionState::Closed { end }) => Err(end),
        Ok(_) => Ok(()),
        Err(NoMoreUpdates) => Err(SessionEnd::Abandoned),
    }
}

/// Converts a refusal of an identity: no other submission can fail before there is a connection.
fn unpresentable(error: SubmitError) -> ConnectError {
    match error {
        SubmitError::TooLarge { length, limit } | SubmitError::Suspected { length, limit } => {
            ConnectError::IdentityTooLarge { length, limit }
        }
        SubmitError::NotConnected
        | SubmitError::Full
        | SubmitError::Unsupported(_)
        | SubmitError::Closed => ConnectError::Ended(SessionEnd::Abandoned),
    }
}
