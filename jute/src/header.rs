//! Headers of requests and replies, once the session is established (docs/protocol.md#headers).

use crate::code::ErrorCode;
use crate::id::{Xid, Zxid};
use crate::opcode::OpCode;
use crate::record::record;

record! {
    /// The header of a request.
    pub struct RequestHeader {
        /// The number that the reply repeats.
        pub xid: Xid,
        /// The operation.
        pub opcode: OpCode,
    }

    /// The header of a reply or a notification.
    pub struct ReplyHeader {
        /// The request's number, or a reserved one.
        pub xid: Xid,
        /// The last transaction that the server has applied; for a write, its transaction.
        pub zxid: Zxid,
        /// The outcome. A body follows only if this is [`ErrorCode::OK`].
        pub error: ErrorCode,
    }
}
