//! Reading, writing and deleting single znodes.

use crate::id::Version;
use crate::opcode::OpCode;
use crate::record::{Request, record};
use crate::records::Stat;

record! {
    /// Deletes a znode without children.
    pub struct DeleteRequest<'a> {
        /// The znode.
        pub path: &'a str,
        /// The data version that it has to have, or [`Version::ANY`].
        pub version: Version,
    }

    /// Asks for a znode's metadata. The watch is set even if the znode does not exist.
    pub struct ExistsRequest<'a> {
        /// The znode.
        pub path: &'a str,
        /// Whether to leave a watch.
        pub watch: bool,
    }

    /// The reply to an `exists` for a znode that does.
    pub struct ExistsResponse {
        /// The znode's metadata.
        pub stat: Stat,
    }

    /// Reads a znode. The watch is set only if the znode exists.
    pub struct GetDataRequest<'a> {
        /// The znode.
        pub path: &'a str,
        /// Whether to leave a watch.
        pub watch: bool,
    }

    /// The reply to a `getData`.
    pub struct GetDataResponse<'a> {
        /// The data; a znode created with null data has null data.
        pub data: Option<&'a [u8]>,
        /// The znode's metadata.
        pub stat: Stat,
    }

    /// Replaces a znode's data.
    pub struct SetDataRequest<'a> {
        /// The znode.
        pub path: &'a str,
        /// The new data.
        pub data: Option<&'a [u8]>,
        /// The data version that it has to have, or [`Version::ANY`].
        pub version: Version,
    }

    /// The reply to a `setData`.
    pub struct SetDataResponse {
        /// The znode's metadata after the write.
        pub stat: Stat,
    }

    /// Inside a multi: lets it fail unless the znode exists and has this version. On its own it
    /// would make some servers answer nothing at all, so it is no [`Request`].
    pub struct CheckVersionRequest<'a> {
        /// The znode.
        pub path: &'a str,
        /// The data version that it has to have, or [`Version::ANY`] for mere existence.
        pub version: Version,
    }

    /// Waits until the server has applied what its leader had committed.
    pub struct SyncRequest<'a> {
        /// Echoed; neither checked nor looked up by servers. Servers echo a null path too; here it
        /// is refused.
        pub path: &'a str,
    }

    /// The reply to a `sync`.
    pub struct SyncResponse<'a> {
        /// The path of the request.
        pub path: &'a str,
    }
}

macro_rules! request {
    ($($name:ident = $opcode:ident -> $response:ty;)*) => {$(
        impl Request for $name<'_> {
            const OPCODE: OpCode = OpCode::$opcode;
            type Response<'r> = $response;
        }
    )*};
}

request! {
    DeleteRequest = DELETE -> ();
    ExistsRequest = EXISTS -> ExistsResponse;
    GetDataRequest = GET_DATA -> GetDataResponse<'r>;
    SetDataRequest = SET_DATA -> SetDataResponse;
    SyncRequest = SYNC -> SyncResponse<'r>;
}
