//! How bytes get to a server.

use core::fmt;
use core::future::Future;
use core::pin::Pin;
use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use zk_session::ServerAddress;

/// A byte stream to a server.
pub trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// What [`Connector::connect`] returns.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = io::Result<Box<dyn Transport>>> + Send + 'a>>;

/// Opens transports. The client drops the future when the session gives the attempt up.
pub trait Connector: fmt::Debug + Send + Sync + 'static {
    /// Opens a transport to `server`. Names are to be resolved anew each time, since a server may
    /// have moved.
    fn connect<'a>(&'a self, server: &'a ServerAddress) -> Connecting<'a>;
}

/// Plain TCP, without delay of small writes. All addresses of a name are tried.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpConnector;

impl Connector for TcpConnector {
    fn connect<'a>(&'a self, server: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            let stream = TcpStream::connect((server.host.as_str(), server.port)).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Transport>)
        })
    }
}
