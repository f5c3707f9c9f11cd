//! Changes of an ensemble's members.

use crate::id::Zxid;
use crate::opcode::OpCode;
use crate::record::record;
use crate::records::GetDataResponse;
use crate::request::Request;

record! {
    /// Changes the members of an ensemble (since 3.5.0): either `joining` and `leaving`, or
    /// `new_members` alone.
    pub struct ReconfigRequest<'a> {
        /// Members to add or change, as `server.N=…` separated by commas.
        pub joining_servers: Option<&'a str>,
        /// Numbers of members to remove, separated by commas.
        pub leaving_servers: Option<&'a str>,
        /// All members, as `server.N=…` separated by commas.
        pub new_members: Option<&'a str>,
        /// The version of the configuration to replace; −1 for any.
        pub current_config: Zxid,
    }
}

impl Request for ReconfigRequest<'_> {
    const OPCODE: OpCode = OpCode::RECONFIG;
    type Response<'r> = GetDataResponse<'r>;
}
