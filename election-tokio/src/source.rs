//! Where a client learns which servers there are.

mod file;
#[cfg(feature = "dns-srv")]
mod srv;

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use std::io;

pub use file::ServerFile;
#[cfg(feature = "dns-srv")]
pub use srv::SrvRecords;
pub use zk_session::{ConnectString, ConnectStringError, ServerAddress};

/// What [`ServerSource::servers`] returns.
pub type Locating<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<ServerAddress>>> + Send + 'a>>;

/// Knows which servers there are, at the moment.
///
/// A client asks when it begins, and again whenever it begins a round of attempts: once its
/// connection is lost, and then each time that all servers were tried in vain. Attempts do not wait
/// for the answer while an earlier list is known. What an answer costs is the source's to bound: one
/// that rests on records with a time to live keeps them for that time.
///
/// A source that fails, answers nothing, or takes longer than ten seconds, does no harm: the last
/// list stays, and [`ConnectFailure`](crate::ConnectFailure) tells of it.
///
/// Sources here: [`ServerFile`], `SrvRecords` (with the feature `dns-srv`), a closure by
/// [`source_fn`], and a [`ConnectString`].
pub trait ServerSource: fmt::Debug + Send + Sync + 'static {
    /// The servers, in any order. Names in it are resolved for each attempt anew, so a source lists
    /// names where there are names.
    ///
    /// The client drops the future when it is over before the answer.
    fn servers(&self) -> Locating<'_>;
}

/// Always the same servers. The chroot is not looked at: it is the client's, not the servers'.
impl ServerSource for ConnectString {
    fn servers(&self) -> Locating<'_> {
        let servers = Self::servers(self).cloned().collect();
        Box::pin(core::future::ready(Ok(servers)))
    }
}

/// A source that asks a function.
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

/// What [`source_fn`] returns.
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
