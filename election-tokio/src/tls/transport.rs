//! A connection under TLS that explains its failures.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

use super::explain::Circumstances;
use crate::transport::Transport;

/// A transport after the handshake of TLS.
pub(super) struct TlsTransport {
    stream: TlsStream<Box<dyn Transport>>,
    circumstances: Circumstances,
    stage: HandshakeStage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HandshakeStage {
    /// The server may still refuse the client's certificate.
    Unanswered,
    Answered,
}

impl TlsTransport {
    pub(super) fn new(stream: TlsStream<Box<dyn Transport>>, circumstances: Circumstances) -> Self {
        Self { stream, circumstances, stage: HandshakeStage::Unanswered }
    }

    fn stream(&mut self) -> Pin<&mut TlsStream<Box<dyn Transport>>> {
        Pin::new(&mut self.stream)
    }

    fn explain(&self, error: io::Error) -> io::Error {
        match self.stage {
            HandshakeStage::Unanswered => self.circumstances.explain_before_answer(error),
            HandshakeStage::Answered => self.circumstances.explain_later(error),
        }
    }

    /// Explains an error of writing. A server that has closed the connection may have said why
    /// before.
    fn explain_write(&mut self, cx: &mut Context<'_>, error: io::Error) -> io::Error {
        let mut byte = [0];
        let said = self.stream().poll_read(cx, &mut ReadBuf::new(&mut byte));
        match said {
            Poll::Ready(Err(said)) => self.explain(said),
            Poll::Ready(Ok(())) | Poll::Pending => self.explain(error),
        }
    }
}

impl AsyncRead for TlsTransport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(self.stream().poll_read(cx, buffer));
        let received = buffer.filled().len() > before;
        Poll::Ready(match (read, self.stage) {
            (Ok(()), _) if received => {
                self.stage = HandshakeStage::Answered;
                Ok(())
            }
            (Ok(()), HandshakeStage::Unanswered) => {
                Err(self.explain(io::Error::from(io::ErrorKind::UnexpectedEof)))
            }
            (Ok(()), HandshakeStage::Answered) => Ok(()),
            // This is an end without the farewell of TLS, as from a server that was killed. Frames
            // have lengths, so a truncated one cannot pass for a whole one.
            (Err(error), HandshakeStage::Answered)
                if error.kind() == io::ErrorKind::UnexpectedEof =>
            {
                Ok(())
            }
            (Err(error), _) => Err(self.explain(error)),
        })
    }
}

impl AsyncWrite for TlsTransport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(self.stream().poll_write(cx, bytes));
        Poll::Ready(written.map_err(|error| self.explain_write(cx, error)))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = ready!(self.stream().poll_flush(cx));
        Poll::Ready(flushed.map_err(|error| self.explain_write(cx, error)))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }
}
