//! Questions to a source of servers.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::sync::Arc;

use tokio::time::timeout;
use zk_session::ServerAddress;

use crate::source::ServerSource;

/// The time that a source may take. After it, the source is asked again in the next round.
const PATIENCE: Duration = Duration::from_secs(10);

/// A source, and its question without an answer yet.
pub(super) struct ServerLookup {
    source: Option<Arc<dyn ServerSource>>,
    asked: Option<Asked>,
}

type Asked = Pin<Box<dyn Future<Output = io::Result<Vec<ServerAddress>>> + Send>>;

impl ServerLookup {
    /// Makes a lookup; without a source it asks nothing.
    pub(super) const fn new(source: Option<Arc<dyn ServerSource>>) -> Self {
        Self { source, asked: None }
    }

    /// Asks, unless a question is open.
    pub(super) fn ask(&mut self) {
        if let (Some(source), None) = (&self.source, &self.asked) {
            let source = Arc::clone(source);
            self.asked = Some(Box::pin(async move {
                let answer = timeout(PATIENCE, source.servers()).await;
                answer.unwrap_or_else(|_| Err(io::Error::other("no answer")))
            }));
        }
    }

    /// Returns the answer, once.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Vec<ServerAddress>>> {
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
