//! One server for all tests of a test binary, with a separate place for each test.

use core::net::SocketAddr;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::process;
use std::sync::OnceLock;

use super::error::StartError;
use super::options::Options;
use super::server::Server;
use crate::raw::{CreateMode, RawClient, RawError};

/// Returns the server that the tests of this process share; the first caller starts it.
///
/// Tests that pause, kill or reconfigure a server need one of their own.
///
/// # Errors
///
/// The same for each caller: a start that failed is not tried again.
pub fn shared() -> Result<&'static Server, &'static StartError> {
    static SHARED: OnceLock<Result<Server, StartError>> = OnceLock::new();
    SHARED.get_or_init(|| Options::new().start_server()).as_ref()
}

/// Returns a path that no other test uses: `/LABEL-PROCESS-NUMBER`. The znode is not created.
pub fn unique_path(label: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("/{label}-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Server {
    /// Creates an empty znode at a [`unique_path`] and gives that path, to be used as a chroot
    /// (append it to the connect string) or as the parent of whatever the test creates.
    pub fn fresh_chroot(&self, label: &str) -> Result<String, RawError> {
        fresh_chroot_at(self.addr(), label)
    }
}

/// Does as [`Server::fresh_chroot`], on a server of any kind.
pub(crate) fn fresh_chroot_at(server: SocketAddr, label: &str) -> Result<String, RawError> {
    let path = unique_path(label);
    let mut client = RawClient::connect(server, Duration::from_secs(10))?;
    client.create(&path, CreateMode::Persistent)?;
    client.close()?;
    Ok(path)
}
