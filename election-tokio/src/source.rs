//! Sources of the list of servers.
//!
//! When the client asks one: [which servers](https://github.com/zk-election/zk-election/blob/main/docs/client.md#which-servers).
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use election_tokio::{source::ServerFile, Client};
//!
//! let servers = ServerFile::new("/etc/zookeeper-servers");
//! let client = Client::builder_from(servers, "/app").connect().await?;
//! # Ok(())
//! # }
//! ```

mod file;
#[cfg(feature = "dns-srv")]
mod srv;

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use std::io;

pub use crate::client::NoServers;
pub use file::ServerFile;
#[cfg(feature = "dns-srv")]
pub use srv::SrvRecords;
pub use zk_session::{ConnectString, ConnectStringError, ServerAddress};

/// The future of [`ServerSource::servers`].
pub type Locating<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<ServerAddress>>> + Send + 'a>>;

/// Tells a client the present servers.
///
/// The client asks when it starts, when its connection is lost, and each time that it has tried all
/// servers in vain. Meanwhile it goes on trying those of the last list. A source with expensive
/// answers should keep them: for example, DNS records for their time to live.
///
/// A source may fail, answer nothing, or take longer than ten seconds. The client then keeps the
/// last list, and [`ConnectFailure`](crate::ConnectFailure) has the reason.
///
/// This crate has these sources: [`ServerFile`], `SrvRecords` (with the feature `dns-srv`), a
/// closure by [`source_fn`], and a [`ConnectString`].
pub trait ServerSource: fmt::Debug + Send + Sync + 'static {
    /// Lists the servers, in any order. The client resolves names anew for each attempt, so list
    /// names if there are any.
    ///
    /// A client that ends drops the future.
    fn servers(&self) -> Locating<'_>;
}

/// Returns always the same servers. It ignores the chroot, which is the client's.
impl ServerSource for ConnectString {
    fn servers(&self) -> Locating<'_> {
        let servers = Self::servers(self).cloned().collect();
        Box::pin(core::future::ready(Ok(servers)))
    }
}

/// Returns a source that calls a function.
///
/// ```
/// use election_tokio::{source::{ServerAddress, source_fn}, Client};
///
/// # async fn registered_servers() -> std::io::Result<Vec<ServerAddress>> { Ok(Vec::new()) }
/// let builder = Client::builder_from(source_fn(|| registered_servers()), "/app");
/// ```
pub fn source_fn<F, A>(ask: F) -> SourceFn<F>
where
    F: Fn() -> A + Send + Sync + 'static,
    A: Future<Output = io::Result<Vec<ServerAddress>>> + Send + 'static,
{
    SourceFn { ask }
}

/// The source of [`source_fn`].
pub struct SourceFn<F> {
    ask: F,
}

impl<F, A> ServerSource for SourceFn<F>
where
    F: Fn() -> A + Send + Sync + 'static,
    A: Future<Output = io::Result<Vec<ServerAddress>>> + Send + 'static,
{
    fn servers(&self) -> Locating<'_> {
        Box::pin((self.ask)())
    }
}

impl<F> fmt::Debug for SourceFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceFn").finish_non_exhaustive()
    }
}
