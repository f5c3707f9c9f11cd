//! The one task of a client: moves bytes between the transport and the session, and time.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker, ready};
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_core::Stream;
use futures_sink::Sink;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::codec::Framed;
use zk_session::{ServerAddress, ServerIndex};

use crate::codec::{FrameCodec, Outgoing};
use crate::hub::Shared;
use crate::telemetry::metrics;
use crate::transport::{Connector, Transport};

/// Frames handed to the session under one lock.
const BATCH: usize = 512;
/// Bytes to read at once, and to have waiting for the socket before the session is asked for more.
const BUFFER: usize = 64 * 1024;

pub(crate) struct Driver {
    shared: Arc<Shared>,
    connector: Arc<dyn Connector>,
    servers: Vec<ServerAddress>,
    max_reply: usize,
    link: Link,
    timer: Pin<Box<Sleep>>,
    frames: Vec<Bytes>,
    wakers: Vec<Waker>,
}

type Opening = Pin<Box<dyn Future<Output = io::Result<Box<dyn Transport>>> + Send>>;
type Framing = Framed<Box<dyn Transport>, FrameCodec>;

enum Link {
    Down,
    Opening(Opening),
    Up(Box<Framing>),
}

/// Whether a part of the driver did something, after which all have to be asked again. The outputs
/// are asked last each time, so what only they answer to is none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    None,
    Some,
    Ended,
}

impl Driver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        connector: Arc<dyn Connector>,
        servers: Vec<ServerAddress>,
        max_reply: usize,
    ) -> Self {
        Self {
            shared,
            connector,
            servers,
            max_reply,
            link: Link::Down,
            timer: Box::pin(sleep_until(Instant::now())),
            frames: Vec::new(),
            wakers: Vec::new(),
        }
    }

    fn poll_clock(&mut self, cx: &mut Context<'_>) -> Progress {
        if self.timer.as_mut().poll(cx).is_pending() && Instant::now() < self.timer.deadline() {
            return Progress::None;
        }
        let next = self.shared.drive(&mut self.wakers, |hub, now| {
            hub.session.handle_timeout(now);
            hub.session.poll_timeout()
        });
        let Some(next) = next else {
            return Progress::None;
        };
        self.timer.as_mut().reset(self.shared.clock.to_tokio(next));
        Progress::Some
    }

    fn poll_link(&mut self, cx: &mut Context<'_>) -> Progress {
        match &mut self.link {
            Link::Down => Progress::None,
            Link::Opening(opening) => match opening.as_mut().poll(cx) {
                Poll::Pending => Progress::None,
                Poll::Ready(Ok(transport)) => {
                    let codec = FrameCodec::new(self.max_reply);
                    let mut framing = Framed::with_capacity(transport, codec, BUFFER);
                    framing.set_backpressure_boundary(BUFFER);
                    self.link = Link::Up(Box::new(framing));
                    self.shared.drive(&mut self.wakers, |hub, now| hub.session.handle_opened(now));
                    Progress::Some
                }
                Poll::Ready(Err(error)) => self.link_failed(Some(error)),
            },
            Link::Up(framing) => {
                let end = poll_frames(framing, &mut self.frames, cx);
                // The transport wakes the driver for more, unless it was not asked to the end.
                let progress =
                    if self.frames.len() < BATCH { Progress::None } else { Progress::Some };
                if !self.frames.is_empty() {
                    metrics::received(&self.frames);
                    let frames = &mut self.frames;
                    self.shared.drive(&mut self.wakers, |hub, now| {
                        frames.drain(..).for_each(|frame| hub.session.handle_frame(now, frame));
                    });
                }
                match end {
                    Poll::Pending => progress,
                    Poll::Ready(error) => self.link_failed(error),
                }
            }
        }
    }

    /// Takes what the session wants done, and sends what it has. From here on whoever submits
    /// something wakes the driver.
    fn poll_outputs(&mut self, cx: &mut Context<'_>) -> Progress {
        let mut ready = match &mut self.link {
            Link::Up(framing) => match sink(framing).poll_ready(cx) {
                Poll::Pending => None,
                Poll::Ready(Ok(())) => Some(framing),
                Poll::Ready(Err(error)) => return self.link_failed(Some(error)),
            },
            Link::Down | Link::Opening(_) => None,
        };
        let (transport, next, ended, sent) = self.shared.drive(&mut self.wakers, |hub, _| {
            let sent = match &mut ready {
                Some(framing) => sink(framing).start_send(Outgoing(&mut hub.session)),
                None => Ok(()),
            };
            hub.driver_sleeps(cx.waker());
            (hub.poll_transport(), hub.session.poll_timeout(), hub.ended(), sent)
        });
        let flushed = match (sent, ready) {
            (Ok(()), Some(framing)) => sink(framing).poll_flush(cx),
            (Ok(()), None) => Poll::Pending,
            (Err(error), _) => Poll::Ready(Err(error)),
        };
        if ended.is_some() {
            return Progress::Ended;
        }
        let brought_forward = self.bring_timer_forward(next);
        match (transport, flushed) {
            (Some(zk_session::Transport::Connect(server)), _) => self.open(server),
            (Some(zk_session::Transport::Disconnect), _) => {
                self.link = Link::Down;
                Progress::Some
            }
            (None, Poll::Ready(Err(error))) => self.link_failed(Some(error)),
            (None, Poll::Ready(Ok(())) | Poll::Pending) => brought_forward,
        }
    }

    /// A timer that was changed has to be polled again.
    fn bring_timer_forward(&mut self, next: Option<zk_session::Instant>) -> Progress {
        let next = next.map(|next| self.shared.clock.to_tokio(next));
        match next {
            Some(next) if next < self.timer.deadline() => {
                self.timer.as_mut().reset(next);
                Progress::Some
            }
            Some(_) | None => Progress::None,
        }
    }

    fn open(&mut self, server: ServerIndex) -> Progress {
        let Some(server) = self.servers.get(server.0).cloned() else {
            return self.link_failed(None);
        };
        let connector = Arc::clone(&self.connector);
        self.link = Link::Opening(Box::pin(async move { connector.connect(&server).await }));
        Progress::Some
    }

    fn link_failed(&mut self, error: Option<io::Error>) -> Progress {
        self.link = Link::Down;
        self.shared.drive(&mut self.wakers, |hub, now| {
            hub.transport_error = error.map(|error| error.to_string());
            hub.session.handle_closed(now);
        });
        Progress::Some
    }
}

/// Collects frames until the transport has no more for now, or a batch is full. `Ready`: the
/// transport ended, with or without an error.
fn poll_frames(
    framing: &mut Framing,
    frames: &mut Vec<Bytes>,
    cx: &mut Context<'_>,
) -> Poll<Option<io::Error>> {
    while frames.len() < BATCH {
        match ready!(Pin::new(&mut *framing).poll_next(cx)) {
            Some(Ok(frame)) => frames.push(frame),
            Some(Err(error)) => return Poll::Ready(Some(error)),
            None => return Poll::Ready(None),
        }
    }
    Poll::Pending
}

fn sink(framing: &mut Framing) -> Pin<&mut Framing> {
    Pin::new(framing)
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let span = self.shared.span.clone();
        let _entered = span.enter();
        loop {
            // What has come in first: after a pause it may show that the connection is alive. That the
            // lease has lapsed meanwhile is noticed all the same, before it is taken in.
            let inputs = [self.poll_link(cx), self.poll_clock(cx)];
            match self.poll_outputs(cx) {
                Progress::Ended => return Poll::Ready(()),
                Progress::None if inputs == [Progress::None; 2] => return Poll::Pending,
                Progress::None | Progress::Some => {}
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.driver_is_gone();
    }
}
