//! The records of the client protocol, one file for each family.

mod acl;
mod auth;
mod children;
mod connect;
mod create;
mod data;
mod multi;
mod multi_read;
mod reconfig;
mod stat;
mod watch;

pub use acl::{Acl, GetAclRequest, GetAclResponse, Permissions, SetAclRequest, SetAclResponse};
pub use auth::{
    AuthPacket, ClientInfo, Credential, GetSaslRequest, SetSaslResponse, WhoAmI, WhoAmIResponse,
};
pub use children::{
    GetAllChildrenNumberRequest, GetAllChildrenNumberResponse, GetChildren2Request,
    GetChildren2Response, GetChildrenRequest, GetChildrenResponse, GetEphemeralsRequest,
    GetEphemeralsResponse,
};
pub use connect::{CloseSession, ConnectRequest, ConnectResponse, PASSWORD_LEN, Ping};
pub use create::{
    Create2Request, Create2Response, CreateContainerRequest, CreateMode, CreateRequest,
    CreateResponse, CreateTtlRequest, TtlMode,
};
pub use data::{
    CheckVersionRequest, DeleteRequest, ExistsRequest, ExistsResponse, GetDataRequest,
    GetDataResponse, SetDataRequest, SetDataResponse, SyncRequest, SyncResponse,
};
pub use multi::{
    MultiEntry, MultiIter, MultiList, MultiOp, MultiRequest, MultiResponse, MultiResult,
};
pub use multi_read::{MultiReadOp, MultiReadRequest, MultiReadResponse, MultiReadResult};
pub use reconfig::ReconfigRequest;
pub use stat::Stat;
pub use watch::{
    AddWatchMode, AddWatchRequest, AddWatchResponse, CheckWatchesRequest, EventType, KeeperState,
    RemoveWatchesRequest, SetWatches, SetWatches2, WatcherEvent, WatcherType,
};
