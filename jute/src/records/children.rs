//! Listing children.

use crate::opcode::OpCode;
use crate::record::{Request, record};
use crate::records::Stat;
use crate::vector::Vector;

record! {
    /// Lists the names of a znode's children.
    pub struct GetChildrenRequest<'a> {
        /// The parent.
        pub path: &'a str,
        /// Whether to leave a watch on the list.
        pub watch: bool,
    }

    /// The reply to a `getChildren`.
    pub struct GetChildrenResponse<'a> {
        /// Names, without the parent's path, in no order.
        pub children: Vector<'a, &'a str>,
    }

    /// Lists the names of a znode's children, with the parent's metadata.
    pub struct GetChildren2Request<'a> {
        /// The parent.
        pub path: &'a str,
        /// Whether to leave a watch on the list.
        pub watch: bool,
    }

    /// The reply to a `getChildren2`.
    pub struct GetChildren2Response<'a> {
        /// Names, without the parent's path, in no order.
        pub children: Vector<'a, &'a str>,
        /// The parent's metadata.
        pub stat: Stat,
    }
}

impl Request for GetChildrenRequest<'_> {
    const OPCODE: OpCode = OpCode::GET_CHILDREN;
    type Response<'r> = GetChildrenResponse<'r>;
}

impl Request for GetChildren2Request<'_> {
    const OPCODE: OpCode = OpCode::GET_CHILDREN2;
    type Response<'r> = GetChildren2Response<'r>;
}
