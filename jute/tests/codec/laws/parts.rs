//! Arbitrary fields, and the records' views of them.

use core::cell::OnceCell;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use zk_jute::records::{
    Acl, CheckVersionRequest, ClientInfo, Create2Response, CreateMode, CreateRequest,
    CreateResponse, CreateTtlRequest, DeleteRequest, GetChildrenRequest, GetChildrenResponse,
    GetDataRequest, GetDataResponse, MultiOp, MultiReadOp, MultiReadRequest, MultiReadResponse,
    MultiReadResult, MultiRequest, MultiResponse, MultiResult, Permissions, SetDataRequest,
    SetDataResponse, Stat, TtlMode,
};
use zk_jute::{Decode, ErrorCode, SessionId, Vector, Version, Zxid};

/// The material for the fields of any record.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) path: String,
    pub(crate) data: Option<Vec<u8>>,
    pub(crate) lists: [Option<Vec<String>>; 5],
    pub(crate) acl: Option<Vec<(i32, String, String)>>,
    pub(crate) ints: [i32; 5],
    pub(crate) longs: [i64; 6],
    pub(crate) flag: bool,
    pub(crate) last: Option<bool>,
    /// Which operations a multi has.
    pub(crate) kinds: Vec<u8>,
    /// The damage to the encoding: at which byte (modulo its length), and the new value of that
    /// byte.
    pub(crate) damage: Vec<(usize, u8)>,
}

pub(crate) fn parts() -> impl Strategy<Value = Parts> {
    let texts = || option::weighted(0.8, vec(any::<String>(), 0..4));
    let acl = (any::<i32>(), any::<String>(), any::<String>());
    (
        (any::<String>(), option::of(vec(any::<u8>(), 0..40))),
        [texts(), texts(), texts(), texts(), texts()],
        option::weighted(0.8, vec(acl, 0..4)),
        (any::<[i32; 5]>(), any::<[i64; 6]>()),
        (any::<bool>(), any::<Option<bool>>(), vec(0..7_u8, 0..6)),
        // Small and extreme bytes make wrong lengths more often than random ones do.
        vec((any::<usize>(), prop_oneof![0..9_u8, 0x7e..=0x80_u8, Just(0xff)]), 0..6),
    )
        .prop_map(|((path, data), lists, acl, (ints, longs), rest, damage)| {
            let (flag, last, kinds) = rest;
            Parts { path, data, lists, acl, ints, longs, flag, last, kinds, damage }
        })
}

/// The borrowed forms that a record needs.
pub(crate) struct Views<'a> {
    pub(crate) parts: &'a Parts,
    texts: [Option<Vec<&'a str>>; 5],
    acl: Option<Vec<Acl<'a>>>,
    identities: Option<Vec<ClientInfo<'a>>>,
    ops: OnceCell<Vec<MultiOp<'a>>>,
    results: OnceCell<Vec<MultiResult<'a>>>,
    read_ops: OnceCell<Vec<MultiReadOp<'a>>>,
    read_results: OnceCell<Vec<MultiReadResult<'a>>>,
}

fn vector<'a, T: Decode<'a>>(elements: Option<&'a Vec<T>>) -> Vector<'a, T> {
    elements.map_or(Vector::NULL, |elements| Vector::new(elements))
}

impl<'a> Views<'a> {
    pub(crate) fn new(parts: &'a Parts) -> Self {
        let texts = parts.lists.each_ref().map(|list| {
            let list = list.as_ref()?;
            Some(list.iter().map(String::as_str).collect())
        });
        let acl = parts.acl.as_ref().map(|acl| {
            let entry = |(bits, scheme, id): &'a (i32, String, String)| Acl {
                permissions: Permissions::new(*bits),
                scheme,
                id,
            };
            acl.iter().map(entry).collect()
        });
        let identities = parts.acl.as_ref().map(|acl| {
            let identity = |(_, auth_scheme, user): &'a (i32, String, String)| ClientInfo {
                auth_scheme,
                user,
            };
            acl.iter().map(identity).collect()
        });
        Self {
            parts,
            texts,
            acl,
            identities,
            ops: OnceCell::new(),
            results: OnceCell::new(),
            read_ops: OnceCell::new(),
            read_results: OnceCell::new(),
        }
    }

    pub(crate) fn path(&self) -> &'a str {
        &self.parts.path
    }

    pub(crate) fn data(&self) -> Option<&'a [u8]> {
        self.parts.data.as_deref()
    }

    pub(crate) fn list(&'a self, index: usize) -> Vector<'a, &'a str> {
        vector(self.texts[index].as_ref())
    }

    pub(crate) fn zxid(&self) -> Zxid {
        Zxid::new(self.parts.longs[0])
    }

    pub(crate) fn session_id(&self) -> SessionId {
        SessionId::new(self.parts.longs[1])
    }

    pub(crate) fn version(&self) -> Version {
        Version::new(self.parts.ints[0])
    }

    pub(crate) fn error(&self) -> ErrorCode {
        ErrorCode::new(self.parts.ints[1])
    }

    pub(crate) fn stat(&self) -> Stat {
        let [czxid, mzxid, ctime, mtime, owner, pzxid] = self.parts.longs;
        let [version, cversion, aversion, data_length, num_children] = self.parts.ints;
        Stat {
            czxid: Zxid::new(czxid),
            mzxid: Zxid::new(mzxid),
            ctime,
            mtime,
            version: Version::new(version),
            cversion: Version::new(cversion),
            aversion: Version::new(aversion),
            ephemeral_owner: SessionId::new(owner),
            data_length,
            num_children,
            pzxid: Zxid::new(pzxid),
        }
    }

    pub(crate) fn acl(&'a self) -> Vector<'a, Acl<'a>> {
        vector(self.acl.as_ref())
    }

    pub(crate) fn identities(&'a self) -> Vector<'a, ClientInfo<'a>> {
        vector(self.identities.as_ref())
    }

    pub(crate) fn create_ttl(&'a self) -> CreateTtlRequest<'a> {
        CreateTtlRequest {
            path: self.path(),
            data: self.data(),
            acl: self.acl(),
            mode: TtlMode::new(self.parts.ints[2]),
            ttl: self.parts.longs[2],
        }
    }

    pub(crate) fn create(&'a self) -> CreateRequest<'a> {
        CreateRequest {
            path: self.path(),
            data: self.data(),
            acl: self.acl(),
            mode: CreateMode::new(self.parts.ints[2]),
        }
    }

    pub(crate) fn delete(&self) -> DeleteRequest<'a> {
        DeleteRequest { path: self.path(), version: self.version() }
    }

    pub(crate) fn set_data(&self) -> SetDataRequest<'a> {
        SetDataRequest { path: self.path(), data: self.data(), version: self.version() }
    }

    pub(crate) fn check(&self) -> CheckVersionRequest<'a> {
        CheckVersionRequest { path: self.path(), version: self.version() }
    }

    pub(crate) fn ops(&'a self) -> MultiRequest<'a> {
        let op = |kind: &u8| match kind {
            0 => MultiOp::Create(self.create()),
            1 => MultiOp::Create2(self.create()),
            2 => MultiOp::CreateContainer(self.create()),
            3 => MultiOp::Delete(self.delete()),
            4 => MultiOp::SetData(self.set_data()),
            5 => MultiOp::CreateTtl(self.create_ttl()),
            _ => MultiOp::Check(self.check()),
        };
        let ops = || self.parts.kinds.iter().map(op).collect();
        MultiRequest::new(self.ops.get_or_init(ops))
    }

    pub(crate) fn results(&'a self) -> MultiResponse<'a> {
        let (path, stat) = (self.path(), self.stat());
        let result = |kind: &u8| match kind {
            0 => MultiResult::Create(CreateResponse { path }),
            1 => MultiResult::Create2(Create2Response { path, stat }),
            2 => MultiResult::Delete,
            3 => MultiResult::SetData(SetDataResponse { stat }),
            4 => MultiResult::Check,
            _ => MultiResult::Error(self.error()),
        };
        let results = || self.parts.kinds.iter().map(result).collect();
        MultiResponse::new(self.results.get_or_init(results))
    }

    pub(crate) fn reads(&'a self) -> MultiReadRequest<'a> {
        let (path, watch) = (self.path(), self.parts.flag);
        let op = |kind: &u8| match kind {
            0..3 => MultiReadOp::GetData(GetDataRequest { path, watch }),
            _ => MultiReadOp::GetChildren(GetChildrenRequest { path, watch }),
        };
        let ops = || self.parts.kinds.iter().map(op).collect();
        MultiReadRequest::new(self.read_ops.get_or_init(ops))
    }

    pub(crate) fn read_results(&'a self) -> MultiReadResponse<'a> {
        let (data, stat, children) = (self.data(), self.stat(), self.list(0));
        let result = |kind: &u8| match kind {
            0..2 => MultiReadResult::GetData(GetDataResponse { data, stat }),
            2..4 => MultiReadResult::GetChildren(GetChildrenResponse { children }),
            _ => MultiReadResult::Error(self.error()),
        };
        let results = || self.parts.kinds.iter().map(result).collect();
        MultiReadResponse::new(self.read_results.get_or_init(results))
    }
}
