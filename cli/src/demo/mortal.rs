//! A connection that can die without a word, as if the machine had lost its power.

use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll};
use std::io;
use std::sync::Arc;

use election_tokio::{
    source::ServerAddress,
    transport::{Connecting, Connector, TcpConnector, Transport},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Ends all connections of a [`MortalConnector`].
#[derive(Clone, Debug, Default)]
pub(super) struct Life(Arc<AtomicBool>);

impl Life {
    pub(super) fn end(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Connects by plain TCP. Once its [`Life`] has ended, its connections send and receive nothing,
/// not even a farewell.
#[derive(Clone, Debug)]
pub(super) struct MortalConnector {
    pub(super) life: Life,
}

impl Connector for MortalConnector {
    fn connect<'a>(&'a self, server: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            let transport = TcpConnector.connect(server).await?;
            Ok(Box::new(MortalTransport { transport, life: self.life.clone() })
                as Box<dyn Transport>)
        })
    }
}

struct MortalTransport {
    transport: Box<dyn Transport>,
    life: Life,
}

impl AsyncRead for MortalTransport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.life.is_over() {
            return Poll::Pending;
        }
        Pin::new(&mut self.transport).poll_read(cx, buffer)
    }
}

impl AsyncWrite for MortalTransport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.life.is_over() {
            return Poll::Ready(Ok(bytes.len()));
        }
        Pin::new(&mut self.transport).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.life.is_over() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.transport).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.life.is_over() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.transport).poll_shutdown(cx)
    }
}
