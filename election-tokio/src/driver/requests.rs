//! Sends the requests of callers, and does nothing else.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;

use futures_sink::Sink as _;

use super::alarm::Alarm;
use super::inputs::Inputs;
use crate::clock::Reading;
use crate::codec::{FrameCodec, Framing, Outgoing};
use crate::hub::Shared;

/// The result of an attempt to send requests, and to do nothing else.
pub(super) enum Sending {
    Done {
        /// The number of bytes.
        sent: usize,
        /// Whether the bytes took more memory than an idle client needs.
        is_large: bool,
        flushed: io::Result<()>,
    },
    /// There is other work, so nothing was sent.
    NotAlone,
}

/// Sends the requests that callers have submitted, if nothing else has changed since the driver last
/// looked at everything. Requests need nothing but to be sent, if the alarm goes off before a silence after them would
/// be too long.
pub(super) fn send(
    shared: &Shared,
    framing: &mut Framing,
    looked_at: Reading,
    alarm: &Alarm,
    inputs: &Inputs,
) -> Sending {
    let cx = &mut Context::from_waker(inputs.waker());
    if shared.clock.has_slept_since(looked_at) {
        return Sending::NotAlone;
    }
    match Pin::new(&mut *framing).poll_ready(cx) {
        Poll::Pending => return Sending::NotAlone,
        Poll::Ready(Ok(())) => {}
        Poll::Ready(Err(error)) => {
            return Sending::Done { sent: 0, is_large: false, flushed: Err(error) };
        }
    }
    let mut sent = 0;
    let mut hub = shared.lock();
    if hub.has_changed() {
        return Sending::NotAlone;
    }
    let bound = hub.host.bound_on_silence();
    if bound.is_some_and(|bound| !alarm.is_due_by(looked_at.time() + bound)) {
        return Sending::NotAlone;
    }
    let outgoing = Outgoing { host: &mut hub.host, sent: &mut sent };
    let encoded = Pin::new(&mut *framing).start_send(outgoing);
    hub.driver_sleeps(inputs.driver());
    drop(hub);
    let is_large = FrameCodec::is_large(framing);
    let flushed = match encoded.map(|()| Pin::new(framing).poll_flush(cx)) {
        Ok(Poll::Ready(flushed)) => flushed,
        // The transport wakes the driver when it can go on.
        Ok(Poll::Pending) => Ok(()),
        Err(error) => Err(error),
    };
    Sending::Done { sent, is_large, flushed }
}
