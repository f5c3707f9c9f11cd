//! The records of the client protocol (protocol sections 2 to 7), one file a family.

mod acl;
mod auth;
mod children;
mod connect;
mod create;
mod data;
mod multi;
mod stat;
mod watch;

pub use acl::{Acl, Permissions};
pub use auth::{AuthPacket, Credential};
pub use children::{
    GetChildren2Request, GetChildren2Response, GetChildrenRequest, GetChildrenResponse,
};
pub use connect::{CloseSession, ConnectRequest, ConnectResponse, PASSWORD_LEN, Ping};
pub use create::{
    Create2Request, Create2Response, CreateContainerRequest, CreateMode, CreateRequest,
    CreateResponse,
};
pub use data::{
    CheckVersionRequest, DeleteRequest, ExistsRequest, ExistsResponse, GetDataRequest,
    GetDataResponse, SetDataRequest, SetDataResponse, SyncRequest, SyncResponse,
};
pub use multi::{
    MultiEntry, MultiIter, MultiList, MultiOp, MultiRequest, MultiResponse, MultiResult,
};
pub use stat::Stat;
pub use watch::{EventType, KeeperState, SetWatches, SetWatches2, WatcherEvent};
