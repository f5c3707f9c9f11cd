//! A server that answers every `getData` alike, and every `getChildren2`, in the transport itself: what remains is the client's
//! cost, and no socket's, no other task's.

#[expect(dead_code, reason = "of a responder in a process of its own")]
#[path = "../../../election-tokio/benches/client/responder.rs"]
mod responder;

use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::io;

use bytes::{Buf as _, BytesMut};
use election_tokio::source::ServerAddress;
use election_tokio::transport::{Connecting, Connector, Transport};
pub(crate) use responder::CHILDREN;
use responder::Conversation;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Opens connections to the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Canned;

impl Connector for Canned {
    fn connect<'a>(&'a self, _: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async { Ok(Box::<CannedTransport>::default() as Box<dyn Transport>) })
    }
}

#[derive(Debug, Default)]
struct CannedTransport {
    conversation: Conversation,
    scratch: Vec<u8>,
    answers: BytesMut,
    reader: Option<Waker>,
}

impl AsyncRead for CannedTransport {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.answers.is_empty() {
            self.reader = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let length = self.answers.len().min(buffer.remaining());
        buffer.put_slice(self.answers.get(..length).unwrap_or_default());
        self.answers.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for CannedTransport {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let Self { conversation, scratch, answers, reader } = &mut *self;
        scratch.clear();
        conversation.answer(bytes, scratch);
        answers.extend_from_slice(scratch);
        if let Some(reader) = reader.take() {
            reader.wake();
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
