//! Listing children.

use crate::opcode::OpCode;
use crate::record::record;
use crate::records::Stat;
use crate::request::Request;
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

    /// Counts a znode's descendants (since 3.6.0).
    pub struct GetAllChildrenNumberRequest<'a> {
        /// The znode. It does not count itself.
        pub path: &'a str,
    }

    /// The reply to a `getAllChildrenNumber`.
    pub struct GetAllChildrenNumberResponse {
        /// Number of children, their children, and so on.
        pub total_number: i32,
    }

    /// Lists the session's own ephemeral znodes (since 3.6.0).
    pub struct GetEphemeralsRequest<'a> {
        /// The prefix of the paths, as a string: `/a` also matches `/ab`. Null, empty and `/` match
        /// all.
        pub prefix_path: Option<&'a str>,
    }

    /// The reply to a `getEphemerals`.
    pub struct GetEphemeralsResponse<'a> {
        /// Full paths, in no order.
        pub ephemerals: Vector<'a, &'a str>,
    }
}

impl Request for GetAllChildrenNumberRequest<'_> {
    const OPCODE: OpCode = OpCode::GET_ALL_CHILDREN_NUMBER;
    type Response<'r> = GetAllChildrenNumberResponse;
}

impl Request for GetEphemeralsRequest<'_> {
    const OPCODE: OpCode = OpCode::GET_EPHEMERALS;
    type Response<'r> = GetEphemeralsResponse<'r>;
}

impl Request for GetChildrenRequest<'_> {
    const OPCODE: OpCode = OpCode::GET_CHILDREN;
    type Response<'r> = GetChildrenResponse<'r>;
}

impl Request for GetChildren2Request<'_> {
    const OPCODE: OpCode = OpCode::GET_CHILDREN2;
    type Response<'r> = GetChildren2Response<'r>;
}
