//! How a client is made.

use core::num::NonZeroUsize;
use core::time::Duration;
use std::sync::Arc;

use zk_session::{
    Backoff, Config, ConnectString, Grade, Limits, Margin, Sasl, Secret, WhileDisconnected,
};

use super::{Client, ConnectError, ConnectionState, Handle};
use crate::driver::{Driver, Way};
use crate::hub::{Identity, OnExpiry, Settings, Shared};
use crate::path::Chroot;
use crate::sasl::SaslMechanism;
#[cfg(feature = "tls")]
use crate::tls::{TlsConnector, TlsOptions};
use crate::transport::{Connector, TcpConnector};

/// The largest reply that a client reads unless told otherwise. Servers put no limit on what they
/// send: a list of many children may be larger than what they accept themselves.
const DEFAULT_MAX_REPLY: usize = 64 * 1024 * 1024;

/// Describes a client; see [`Client::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ClientBuilder {
    servers: String,
    connect_timeout: Option<Duration>,
    session: Config,
    identities: Vec<Identity>,
    on_expiry: OnExpiry,
    max_reply: usize,
    connector: Arc<dyn Connector>,
    #[cfg(feature = "tls")]
    tls: Option<TlsOptions>,
    sasl: Option<Arc<dyn SaslMechanism>>,
}

impl ClientBuilder {
    pub(super) fn new(servers: &str) -> Self {
        Self {
            servers: servers.to_owned(),
            connect_timeout: None,
            session: Config::new(NonZeroUsize::MIN),
            identities: Vec::new(),
            on_expiry: OnExpiry::Renew,
            max_reply: DEFAULT_MAX_REPLY,
            connector: Arc::new(TcpConnector),
            #[cfg(feature = "tls")]
            tls: None,
            sasl: None,
        }
    }

    /// The session timeout to ask for (default: 10 s). The server decides within its bounds; what
    /// it granted is in [`ConnectionState::Connected`].
    pub fn session_timeout(mut self, timeout: Duration) -> Self {
        self.session.session_timeout = timeout;
        self
    }

    /// How long [`ClientBuilder::connect`] waits for a first session (default: the session
    /// timeout).
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// How long to wait between attempts to connect.
    pub fn backoff(mut self, backoff: Backoff) -> Self {
        self.session.backoff = backoff;
        self
    }

    /// What becomes of operations while there is no connection (default: they fail at once).
    pub fn while_disconnected(mut self, behaviour: WhileDisconnected) -> Self {
        self.session.while_disconnected = behaviour;
        self
    }

    /// Bounds on requests in flight and on their size.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.session.limits = limits;
        self
    }

    /// The largest reply to read, in bytes (default: 64 MiB). A larger one costs the connection.
    pub fn max_reply(mut self, bytes: usize) -> Self {
        self.max_reply = bytes;
        self
    }

    /// What the lease of a leadership rests on (default: [`Grade::Quorum`]): a stronger grade holds
    /// under more failures of the ensemble, and costs two requests in place of each ping of a
    /// leader and of those near to leading: who had at most four candidates ahead when they last
    /// looked.
    ///
    /// Who is promoted without having been near, in a session older than its first lease, takes a
    /// third of the session timeout to prove one: so much later it is reported elected. With
    /// [`Grade::Contact`] it is reported at once.
    pub fn lease_grade(mut self, grade: Grade) -> Self {
        self.session.grade = grade;
        self
    }

    /// How much earlier than the session timeout a lease ends (default: a tenth), to allow for
    /// clocks that run at different rates. At most a fifth, but for [`Grade::Contact`].
    pub fn lease_margin(mut self, margin: Margin) -> Self {
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

    /// Proves by SASL who the client is, on every connection before anything else. Where a server
    /// refuses, or takes no part in SASL, the client ends: it never goes on without an identity.
    ///
    /// With the feature `sasl-digest-md5`: `DigestMd5::new("bob", Secret::new(password))`.
    pub fn sasl(mut self, mechanism: impl SaslMechanism) -> Self {
        self.sasl = Some(Arc::new(mechanism));
        self
    }

    /// Ends the client when its session expires, instead of making a new session.
    pub fn close_on_expiry(mut self) -> Self {
        self.on_expiry = OnExpiry::Close;
        self
    }

    /// Opens transports in another way than by plain TCP.
    pub fn connector(mut self, connector: impl Connector) -> Self {
        self.connector = Arc::new(connector);
        self
    }

    /// Encrypts every connection with TLS, over whatever the [`ClientBuilder::connector`] opens.
    /// The servers' ports have to be those for TLS (`secureClientPort`).
    ///
    /// [`ClientBuilder::start`] and [`ClientBuilder::connect`] then read files, and block while
    /// they do. What is wrong with them is [`ConnectError::Tls`].
    #[cfg(feature = "tls")]
    pub fn tls(mut self, options: TlsOptions) -> Self {
        self.tls = Some(options);
        self
    }

    /// Makes the client and waits for its first session.
    ///
    /// Cancel safe: dropping the future drops the client.
    ///
    /// # Errors
    ///
    /// [`ConnectError`], with the last attempt if no server granted a session in time.
    pub async fn connect(self) -> Result<Client, ConnectError> {
        let after = self.connect_timeout.unwrap_or(self.session.session_timeout);
        let client = self.start()?;
        let mut connection = client.connection();
        let connected = connection.until(|state| {
            matches!(state, ConnectionState::Connected { .. } | ConnectionState::Closed { .. })
        });
        match tokio::time::timeout(after, connected).await {
            Ok(Some(ConnectionState::Closed { end })) => return Err(ConnectError::Ended(end)),
            Ok(Some(_)) => return Ok(client),
            Ok(None) | Err(_) => {}
        }
        let last_failure = match connection.latest() {
            ConnectionState::Connecting { last_failure, .. } => last_failure,
            _ => None,
        };
        Err(ConnectError::NoServer { after, last_failure })
    }

    /// Makes the client without waiting: it connects in the background, and
    /// [`Client::connection`] shows how that goes. Has to be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] if the connect string, the margin with this grade, or the options of TLS
    /// cannot be used.
    pub fn start(self) -> Result<Client, ConnectError> {
        let servers: ConnectString = self.servers.parse()?;
        let chroot = Chroot::new(servers.chroot()).map_err(ConnectError::Chroot)?;
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
        let seed = getrandom::u64().map_err(|error| ConnectError::Randomness(error.to_string()))?;
        let addresses = servers.servers().cloned().collect();
        let mut session = self.session;
        session.servers = servers.server_count();
        session.sasl = if self.sasl.is_some() { Sasl::Required } else { Sasl::Off };
        let settings = Settings {
            servers,
            session,
            identities: self.identities,
            on_expiry: self.on_expiry,
            seed,
        };
        let shared = Arc::new(Shared::new(settings, chroot).map_err(ConnectError::Identity)?);
        let way = Way { connector, sasl: self.sasl, max_reply: self.max_reply };
        tokio::spawn(Driver::new(Arc::clone(&shared), addresses, way));
        Ok(Client { handle: Arc::new(Handle { shared }) })
    }
}
