//! What ties a request to its opcode and its reply.

use crate::opcode::OpCode;
use crate::record::{Decode, Encode};

/// The body of a request, tied to its opcode and to the body of its reply.
pub trait Request: Encode {
    /// Which operation this is the body of.
    const OPCODE: OpCode;
    /// The body of the reply when its error code is 0.
    type Response<'a>: Decode<'a>;
}
