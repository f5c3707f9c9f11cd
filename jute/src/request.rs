//! Ties requests to their opcodes and replies.

use crate::opcode::OpCode;
use crate::record::{Decode, Encode};

/// The body of a request, tied to its opcode and to the body of its reply.
pub trait Request: Encode {
    /// The operation of this body.
    const OPCODE: OpCode;
    /// The body of the reply when its error code is 0.
    type Response<'a>: Decode<'a>;
}
