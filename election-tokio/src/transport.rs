//! Transports: byte streams to servers.

use core::fmt;
use core::future::Future;
use core::net::SocketAddr;
use core::num::NonZeroU32;
use core::pin::Pin;
use core::time::Duration;
use std::io;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::timeout;
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

/// Plain TCP, without delay of small writes. It tries the addresses of a name, beginning with a random
/// one: the next one as soon as one has failed, or has been silent for 250 ms. It takes the first
/// connection, so an address that swallows everything costs an attempt 250 ms.
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
            let stream = connect_any(addresses).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Transport>)
        })
    }
}

/// The time after which a silent address is no longer waited for alone (RFC 8305, section 5).
const ALONE: Duration = Duration::from_millis(250);

/// Connects to one of `addresses`: to the first that answers. Dropped, it ends all its attempts.
async fn connect_any(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    let mut attempts = JoinSet::new();
    let mut addresses = addresses.into_iter();
    loop {
        let ended = if let Some(address) = addresses.next() {
            attempts.spawn(TcpStream::connect(address));
            timeout(ALONE, attempts.join_next()).await.ok().flatten()
        } else if attempts.is_empty() {
            return Err(failure);
        } else {
            attempts.join_next().await
        };
        match ended {
            Some(Ok(Ok(stream))) => return Ok(stream),
            Some(Ok(Err(error))) => failure = error,
            Some(Err(error)) => failure = error.into(),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::io;

    use tokio::net::{TcpListener, TcpSocket, TcpStream};
    use tokio::time::timeout;

    use super::connect_any;

    /// A listener that answers no further connection: its queue is full.
    async fn silent() -> io::Result<(TcpListener, Vec<TcpStream>)> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(([127, 0, 0, 1], 0).into())?;
        let listener = socket.listen(1)?;
        let address = listener.local_addr()?;
        let mut queued = Vec::new();
        while let Ok(stream) =
            timeout(Duration::from_millis(500), TcpStream::connect(address)).await
        {
            queued.push(stream?);
        }
        Ok((listener, queued))
    }

    #[tokio::test]
    async fn an_address_that_is_silent_does_not_keep_from_the_next_one() -> io::Result<()> {
        let (silent, _queued) = silent().await?;
        let live = TcpListener::bind("127.0.0.1:0").await?;
        let addresses = vec![silent.local_addr()?, live.local_addr()?];
        // The system gives up a silent address after two minutes.
        let connecting = timeout(Duration::from_secs(60), connect_any(addresses));
        assert_eq!(connecting.await??.peer_addr()?, live.local_addr()?);
        Ok(())
    }

    #[tokio::test]
    async fn the_last_failure_is_told_if_no_address_answers() -> io::Result<()> {
        let gone = TcpListener::bind("127.0.0.1:0").await?.local_addr()?;
        let refused = connect_any(vec![gone, gone]).await.map_err(|error| error.kind());
        assert_eq!(refused.err(), Some(io::ErrorKind::ConnectionRefused));
        let nowhere = connect_any(Vec::new()).await.map_err(|error| error.kind());
        assert_eq!(nowhere.err(), Some(io::ErrorKind::NotFound));
        Ok(())
    }
}
