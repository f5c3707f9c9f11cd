//! Reading, writing and deleting one znode.

use crate::id::Version;
use crate::opcode::OpCode;
use crate::record::record;
use crate::records::Stat;
use crate::request::Request;

record! {
    /// Deletes a znode without children.
    pub struct DeleteRequest<'a> {
        /// The znode.
        pub path: &'a str,
        /// The data version that it must have, or [`Version::ANY`].
        pub version: Version,
    }

    /// Asks for a znode's metadata. The watch is set even if the znode does not exist.
    pub struct ExistsRequest<'a> {
        /// The znode.
        pub path: &'a str,
        /// Whether to leave a watch.
        pub watch: bool,
    }

    /// The reply to an `exists` if the znode exists.
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
        /// The data version that it must have, or [`Version::ANY`].
        pub version: Version,
    }

    /// The reply to a `setData`.
    pub struct SetDataResponse {
        /// The znode's metadata after the write.
        pub stat: Stat,
    }

    /// Makes a multi fail unless the znode exists and has this version. It is no [`Request`]: some
    /// servers do not answer it outside a multi.
    pub struct CheckVersionRequest<'a> {
        /// The znode.
        pub path: &'a str,
        /// The data version that it must have, or [`Version::ANY`] if it only has to exist.
        pub version: Version,
    }

    /// Waits until the server has applied everything that ZooKeeper's leader had committed.
    pub struct SyncRequest<'a> {
        /// The server repeats it, and neither checks it nor looks it up. Servers repeat a null path
        /// too; this type has none.
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
