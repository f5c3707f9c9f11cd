//! The transport of a driver, and what comes from it.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;

use zk_jute::Frames;

use super::frames::poll_frames;
use crate::codec::Framing;
use crate::transport::Transport;

type Opening = Pin<Box<dyn Future<Output = io::Result<Box<dyn Transport>>> + Send>>;

pub(super) enum DriverLink {
    Down,
    Opening(Opening),
    Up(Box<Framing>),
}

/// The arrivals from the transport, or the outcome of the attempt to open it.
pub(super) enum Arrived {
    Nothing,
    Transport(io::Result<Box<dyn Transport>>),
    /// Frames were read, or none. `Ready` if the transport has ended, with or without an error.
    Frames(Poll<Option<io::Error>>),
}

impl DriverLink {
    /// Asks the transport, and puts what it has read into `frames`.
    pub(super) fn poll(&mut self, frames: &mut Vec<Frames>, cx: &mut Context<'_>) -> Arrived {
        match self {
            Self::Down => Arrived::Nothing,
            Self::Opening(opening) => match opening.as_mut().poll(cx) {
                Poll::Pending => Arrived::Nothing,
                Poll::Ready(opened) => Arrived::Transport(opened),
            },
            Self::Up(framing) => Arrived::Frames(poll_frames(framing, frames, cx)),
        }
    }
}
