//! Transports: byte streams to servers.

use core::fmt;
use core::future::Future;
use core::net::SocketAddr;
use core::num::NonZeroU32;
use core::pin::Pin;
use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use zk_session::ServerAddress;

/// A byte stream to a server.
pub trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// The future of [`Connector::connect`].
pub type Connecting<'a> = Pin<Box<dyn Future<Output = io::Result<Box<dyn Transport>>> + Send + 'a>>;

/// Opens transports. The client drops the future when the session gives the attempt up.
pub trait Connector: fmt::Debug + Send + Sync + 'static {
    /// Opens a transport to `server`. Resolve names anew each time, since a server may have moved.
    fn connect<'a>(&'a self, server: &'a ServerAddress) -> Connecting<'a>;
}

/// Plain TCP, without delay of small writes. It tries all addresses of a name, and begins with a
/// random one. So if one address swallows everything, it may use up one attempt, but not every
/// attempt.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpConnector;

impl Connector for TcpConnector {
    fn connect<'a>(&'a self, server: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            let found = lookup_host((server.host.as_str(), server.port)).await?;
            let mut addresses: Vec<SocketAddr> = found.collect();
            if let Some(count) = NonZeroU32::new(u32::try_from(addresses.len()).unwrap_or(1)) {
                let first = getrandom::u32().unwrap_or(0) % count;
                addresses.rotate_left(first.try_into().unwrap_or(0));
            }
            let stream = TcpStream::connect(&*addresses).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Transport>)
        })
    }
}
