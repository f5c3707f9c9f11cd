//! Bytes that wait for the transport.

use bytes::BytesMut;
use zk_jute::{OpCode, RequestHeader, Xid, put_frame};

/// Frames in the order of sending, with a lane for pings that overtakes the others, so that no
/// amount of queued requests starves them (C-53).
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    urgent: BytesMut,
    ordinary: BytesMut,
}

impl Outbox {
    /// The lane in which frames keep their order.
    pub(crate) fn ordinary(&mut self) -> &mut BytesMut {
        &mut self.ordinary
    }

    pub(crate) fn push_ping(&mut self) {
        let header = RequestHeader { xid: Xid::PING, opcode: OpCode::PING };
        let pushed = put_frame(&mut self.urgent, usize::MAX, &header, &());
        debug_assert!(pushed.is_ok(), "no limit was given");
    }

    /// Bytes that wait.
    pub(crate) fn len(&self) -> usize {
        self.urgent.len() + self.ordinary.len()
    }

    /// Moves everything to the end of `output`; the two change buffers where that saves a copy.
    pub(crate) fn drain_into(&mut self, output: &mut BytesMut) {
        if output.is_empty() && self.urgent.is_empty() {
            core::mem::swap(output, &mut self.ordinary);
            return;
        }
        output.extend_from_slice(&self.urgent);
        output.extend_from_slice(&self.ordinary);
        self.clear();
    }

    pub(crate) fn clear(&mut self) {
        self.urgent.clear();
        self.ordinary.clear();
    }
}
