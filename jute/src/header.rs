//! What stands before every body once the session is established.

use crate::code::ErrorCode;
use crate::id::{Xid, Zxid};
use crate::opcode::OpCode;
use crate::record::record;

record! {
    /// Stands before the body of a request.
    pub struct RequestHeader {
        /// By which the reply will name the request.
        pub xid: Xid,
        /// The operation.
        pub opcode: OpCode,
    }

    /// Stands before the body of a reply or a notification.
    pub struct ReplyHeader {
        /// The request's number, or a reserved one.
        pub xid: Xid,
        /// What the server had applied.
        pub zxid: Zxid,
        /// The outcome; a body is to be read only when this is [`ErrorCode::OK`].
        pub error: ErrorCode,
    }
}
