//! Requests that most tests need.

use zk_jute::records::{
    Acl, CreateMode, CreateRequest, CreateTtlRequest, DeleteRequest, ExistsRequest,
    GetChildrenRequest, GetDataRequest, Permissions, SetDataRequest, Stat, TtlMode,
};
use zk_jute::{Decode, ErrorCode, Vector, Version};

use crate::world::{Client, World};

/// No client here is bob, unless it says so.
pub(crate) const BOB: Acl<'_> =
    Acl { permissions: Permissions::ALL, scheme: "digest", id: "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=" };

pub(crate) const fn create(path: &str) -> CreateRequest<'_> {
    create_as(path, CreateMode::PERSISTENT)
}

pub(crate) const fn create_as(path: &str, mode: CreateMode) -> CreateRequest<'_> {
    CreateRequest { path, data: Some(b""), acl: Vector::OPEN, mode }
}

pub(crate) const fn create_ttl(path: &str, ttl: i64) -> CreateTtlRequest<'_> {
    let mode = TtlMode::PERSISTENT;
    CreateTtlRequest { path, data: Some(b""), acl: Vector::OPEN, mode, ttl }
}

pub(crate) const fn delete(path: &str) -> DeleteRequest<'_> {
    DeleteRequest { path, version: Version::ANY }
}

pub(crate) const fn set_data<'a>(path: &'a str, data: &'a [u8]) -> SetDataRequest<'a> {
    SetDataRequest { path, data: Some(data), version: Version::ANY }
}

pub(crate) const fn exists(path: &str, watch: bool) -> ExistsRequest<'_> {
    ExistsRequest { path, watch }
}

pub(crate) const fn get_data(path: &str, watch: bool) -> GetDataRequest<'_> {
    GetDataRequest { path, watch }
}

pub(crate) const fn get_children(path: &str, watch: bool) -> GetChildrenRequest<'_> {
    GetChildrenRequest { path, watch }
}

impl Client {
    /// Creates a znode; tells its path.
    pub(crate) fn make(&mut self, world: &mut World, request: &CreateRequest<'_>) -> String {
        let (header, body) = self.request(world, request);
        assert_eq!(header.error, ErrorCode::OK, "{request:?}");
        <&str>::decode_exact(&body).expect("a path").to_owned()
    }

    pub(crate) fn stat(&mut self, world: &mut World, path: &str) -> Stat {
        let (header, body) = self.request(world, &exists(path, false));
        assert_eq!(header.error, ErrorCode::OK, "{path}");
        Stat::decode_exact(&body).expect("a stat")
    }
}
