//! Bytes that wait for the transport.

use bytes::BytesMut;
use zeroize::Zeroize;
use zk_jute::{OpCode, RequestHeader, Xid, put_frame};

/// Frames in the order of sending, with a lane for pings that overtakes the others, so that no
/// amount of queued requests starves them. They do not overtake an identity: a server that demands
/// one refuses whatever comes before it.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    urgent: BytesMut,
    ordinary: BytesMut,
    content: Content,
}

/// Whether `ordinary` holds what is to be wiped. Not everything is: it would cost as much as
/// sending it.
#[derive(Debug, Default, PartialEq, Eq)]
enum Content {
    #[default]
    Public,
    Confidential,
}

impl Outbox {
    /// The lane in which frames keep their order.
    pub(crate) fn ordinary(&mut self) -> &mut BytesMut {
        &mut self.ordinary
    }

    /// The same lane, for a frame with a password, credential or token.
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

    /// Bytes that wait.
    pub(crate) fn len(&self) -> usize {
        self.urgent.len() + self.ordinary.len()
    }

    /// Moves everything to the end of `output`, which is not wiped; the two change buffers where
    /// that saves a copy.
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

    /// Gives back buffers that are empty.
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
