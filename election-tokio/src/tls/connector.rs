//! TLS over the transports of another connector.

use core::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_rustls::rustls::ClientConfig;
use tracing::warn;
use zk_session::ServerAddress;

use super::config::Loader;
use super::error::TlsError;
use super::explain::Circumstances;
use super::options::TlsOptions;
use super::transport::TlsTransport;
use crate::telemetry::CONNECTION;
use crate::transport::{Connecting, Connector, Transport};

/// Opens transports by another connector, and makes the handshake of TLS on them.
pub(crate) struct TlsConnector {
    below: Arc<dyn Connector>,
    loader: Arc<Loader>,
    /// The last configuration that was made of the files.
    config: Mutex<Arc<ClientConfig>>,
}

/// The configuration for the next connection.
struct Current {
    config: Arc<ClientConfig>,
    outdated: Option<TlsError>,
}

impl TlsConnector {
    /// Reads all files. Blocks while it does.
    ///
    /// # Errors
    ///
    /// [`TlsError`] for options with which no connection could be made.
    pub(crate) fn new(below: Arc<dyn Connector>, options: TlsOptions) -> Result<Self, TlsError> {
        let loader = Loader::new(options)?;
        let config = Mutex::new(Arc::new(loader.load()?));
        Ok(Self { below, loader: Arc::new(loader), config })
    }

    /// Reads the files again, if there are any. If that fails it uses the last good ones, so the
    /// service goes on while an operator exchanges the files.
    async fn current(&self) -> Current {
        if !self.loader.reads_files() {
            return Current { config: Arc::clone(&self.config()), outdated: None };
        }
        let loader = Arc::clone(&self.loader);
        // It is cancelled only with the runtime.
        match tokio::task::spawn_blocking(move || loader.load()).await {
            Ok(Ok(config)) => {
                let config = Arc::new(config);
                *self.config() = Arc::clone(&config);
                Current { config, outdated: None }
            }
            Ok(Err(error)) => {
                warn!(target: CONNECTION, %error, "TLS files cannot be used: what was read before stays in use");
                Current { config: Arc::clone(&self.config()), outdated: Some(error) }
            }
            Err(_) => Current { config: Arc::clone(&self.config()), outdated: None },
        }
    }

    fn config(&self) -> MutexGuard<'_, Arc<ClientConfig>> {
        self.config.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn open(&self, server: &ServerAddress) -> io::Result<Box<dyn Transport>> {
        let name = self
            .loader
            .server_name(&server.host)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let transport = self.below.connect(server).await?;
        let Current { config, outdated } = self.current().await;
        let circumstances = Circumstances { identity: self.loader.identity(), outdated };
        match tokio_rustls::TlsConnector::from(config).connect(name, transport).await {
            Ok(stream) => Ok(Box::new(TlsTransport::new(stream, circumstances))),
            Err(error) => Err(circumstances.explain_handshake(error)),
        }
    }
}

impl Connector for TlsConnector {
    fn connect<'a>(&'a self, server: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(self.open(server))
    }
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsConnector")
            .field("below", &self.below)
            .field("loader", &self.loader)
            .finish_non_exhaustive()
    }
}
