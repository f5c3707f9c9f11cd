//! Bytes that wait for the transport.

use bytes::BytesMut;
use zeroize::Zeroize;
use zk_jute::{OpCode, RequestHeader, Xid, put_frame};

/// Frames in the order of sending, with a lane in which pings overtake the others, so that no
/// amount of queued requests starves them. Pings do not overtake an identity: a server that demands
/// one refuses any earlier frame.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    urgent: BytesMut,
    ordinary: BytesMut,
    content: Content,
}

/// The kind of bytes in `ordinary`: those that have to be wiped, or others. Wiping all of them would cost as much as
/// sending them.
#[derive(Debug, Default, PartialEq, Eq)]
enum Content {
    #[default]
    Public,
    Confidential,
}

impl Outbox {
    /// Returns the lane in which frames keep their order.
    pub(crate) fn ordinary(&mut self) -> &mut BytesMut {
        &mut self.ordinary
    }

    /// Returns the same lane, for a frame with a password, credential or token.
    pub(crate) fn confidential(&mut self) -> &mut BytesMut {
        self.content = Content::Confidential;
        &mut self.ordinary
    }

    pub(crate) fn push_ping(&mut self) {
        let header = RequestHeader { xid: Xid::PING, opcode: OpCode::PING };
        let lane = match self.content {
            Content::Public => &mut self.urgent,
            Content::Confidential => &mut self.ordinary,
        };
        let pushed = put_frame(lane, usize::MAX, &header, &());
        debug_assert!(pushed.is_ok(), "no limit was given");
    }

    /// Returns the number of waiting bytes.
    pub(crate) fn len(&self) -> usize {
        self.urgent.len() + self.ordinary.len()
    }

    /// Moves all bytes to the end of `output`, which is not wiped. The two swap buffers where that
    /// saves a copy.
    pub(crate) fn drain_into(&mut self, output: &mut BytesMut) {
        if output.is_empty() && self.urgent.is_empty() {
            core::mem::swap(output, &mut self.ordinary);
            self.content = Content::Public;
            return;
        }
        output.extend_from_slice(&self.urgent);
        output.extend_from_slice(&self.ordinary);
        self.clear();
    }

    /// Frees buffers that are empty.
    pub(crate) fn shrink_to_fit(&mut self) {
        if self.len() == 0 {
            self.clear();
            (self.urgent, self.ordinary) = (BytesMut::new(), BytesMut::new());
        }
    }

    pub(crate) fn clear(&mut self) {
        if self.content == Content::Confidential {
            self.ordinary.as_mut().zeroize();
            self.content = Content::Public;
        }
        self.urgent.clear();
        self.ordinary.clear();
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.clear();
    }
}
