//! Asks a server whether it takes writes, on a transport of its own.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use zk_session::{ProbeAnswer, ServerAddress, ServerIndex};

use crate::transport::Connector;

/// The four-letter word; it has no length before it (docs/protocol.md#frames).
const WORD: &[u8] = b"isro";
/// A length above that of the answers that count; the rest of an answer makes no difference.
const LONGEST_ANSWER: u64 = 64;

/// The present question, if there is one.
#[derive(Default)]
pub(super) struct Probe {
    asked: Option<Asked>,
}

type Asked = Pin<Box<dyn Future<Output = (ServerIndex, ProbeAnswer)> + Send>>;

impl Probe {
    /// Asks, in place of an earlier question. The session bounds the time.
    pub(super) fn ask(
        &mut self,
        connector: Arc<dyn Connector>,
        index: ServerIndex,
        server: ServerAddress,
    ) {
        self.asked = Some(Box::pin(async move {
            let answer = ask(&*connector, &server).await.unwrap_or(ProbeAnswer::Other);
            (index, answer)
        }));
    }

    /// Drops the question, because the session does not need the answer any more.
    pub(super) fn forget(&mut self) {
        self.asked = None;
    }

    /// Returns the answer, once.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<(ServerIndex, ProbeAnswer)> {
        let Some(asked) = &mut self.asked else {
            return Poll::Pending;
        };
        let answer = asked.as_mut().poll(cx);
        if answer.is_ready() {
            self.asked = None;
        }
        answer
    }
}

async fn ask(connector: &dyn Connector, server: &ServerAddress) -> io::Result<ProbeAnswer> {
    let mut transport = connector.connect(server).await?;
    transport.write_all(WORD).await?;
    transport.flush().await?;
    let mut answer = Vec::new();
    transport.take(LONGEST_ANSWER).read_to_end(&mut answer).await?;
    Ok(ProbeAnswer::from_bytes(&answer))
}
