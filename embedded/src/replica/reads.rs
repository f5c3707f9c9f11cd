//! Requests that do not change the database.

use alloc::string::String;
use alloc::vec::Vec;

use zk_jute::records::{
    ClientInfo, ExistsRequest, ExistsResponse, GetAclRequest, GetAclResponse,
    GetAllChildrenNumberRequest, GetAllChildrenNumberResponse, GetChildren2Request,
    GetChildren2Response, GetChildrenRequest, GetChildrenResponse, GetDataRequest, GetDataResponse,
    GetEphemeralsRequest, GetEphemeralsResponse, MultiReadOp, MultiReadRequest, MultiReadResponse,
    MultiReadResult, Permissions, WhoAmIResponse,
};
use zk_jute::{Decode, Encode, ErrorCode, OpCode, RequestHeader, SessionId, Vector, Xid};

use super::connection::Connection;
use crate::access::{Identities, Identity};
use crate::database::Database;
use crate::transport::ConnectionId;
use crate::tree::Znode;
use crate::watches::{Watches, WatchesFull};

/// The state that a read may use, and the connection that it answers.
pub(super) struct Reads<'a> {
    pub(super) database: &'a Database,
    pub(super) watches: &'a mut Watches,
    pub(super) session: SessionId,
    pub(super) identities: Identities,
    pub(super) max_reply: usize,
    pub(super) id: ConnectionId,
    pub(super) connection: &'a mut Connection,
}

/// An operation that this server does not have.
#[derive(Debug)]
pub(super) struct UnknownOperation;

pub(super) fn decode<'a, T: Decode<'a>>(body: &'a [u8]) -> Result<T, ErrorCode> {
    T::decode_prefix(body).map_err(|_| ErrorCode::MARSHALLING_ERROR)
}

impl<'a> Reads<'a> {
    /// Returns whether [`Reads::answer`] knows the operation.
    pub(super) const fn knows(opcode: OpCode) -> bool {
        matches!(
            opcode,
            OpCode::PING
                | OpCode::EXISTS
                | OpCode::GET_DATA
                | OpCode::GET_CHILDREN
                | OpCode::GET_CHILDREN2
                | OpCode::GET_ACL
                | OpCode::GET_EPHEMERALS
                | OpCode::GET_ALL_CHILDREN_NUMBER
                | OpCode::MULTI_READ
                | OpCode::SET_WATCHES
                | OpCode::SET_WATCHES2
                | OpCode::ADD_WATCH
                | OpCode::CHECK_WATCHES
                | OpCode::REMOVE_WATCHES
                | OpCode::WHO_AM_I
                | OpCode::SYNC
        )
    }

    pub(super) fn answer(
        mut self,
        header: RequestHeader,
        body: &[u8],
    ) -> Result<(), UnknownOperation> {
        let xid = header.xid;
        let outcome = match header.opcode {
            OpCode::PING => {
                self.reply(Xid::PING, &());
                Ok(())
            }
            OpCode::EXISTS => self.exists(xid, body),
            OpCode::GET_DATA => self.get_data(xid, body),
            OpCode::GET_CHILDREN => self.get_children(xid, body),
            OpCode::GET_CHILDREN2 => self.get_children2(xid, body),
            OpCode::GET_ACL => self.get_acl(xid, body),
            OpCode::GET_EPHEMERALS => self.get_ephemerals(xid, body),
            OpCode::GET_ALL_CHILDREN_NUMBER => self.get_all_children_number(xid, body),
            OpCode::MULTI_READ => self.multi_read(xid, body),
            OpCode::SET_WATCHES => self.set_watches(xid, body),
            OpCode::SET_WATCHES2 => self.set_watches2(xid, body),
            OpCode::ADD_WATCH => self.add_watch(xid, body),
            OpCode::CHECK_WATCHES => self.check_watches(xid, body),
            OpCode::REMOVE_WATCHES => self.remove_watches(xid, body),
            OpCode::SYNC => self.sync(xid, body),
            OpCode::WHO_AM_I => {
                self.who_am_i(xid);
                Ok(())
            }
            _ => return Err(UnknownOperation),
        };
        if let Err(error) = outcome {
            let zxid = self.database.last_zxid();
            self.connection.refuse(xid, zxid, error);
        }
        Ok(())
    }

    pub(super) fn reply(&mut self, xid: Xid, body: &impl Encode) {
        let zxid = self.database.last_zxid();
        self.connection.reply(xid, zxid, body);
    }

    /// Refuses a reply that is too long. The length is an estimate, without the header.
    fn fits(&self, length: usize) -> Result<(), ErrorCode> {
        if length <= self.max_reply { Ok(()) } else { Err(ErrorCode::MARSHALLING_ERROR) }
    }

    /// Answers a `sync` of one of the leader's own clients. It is a read like others: it waits for
    /// the writes of its connection, and for no others. The path may be null.
    fn sync(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let path: Option<&str> = decode(body)?;
        self.reply(xid, &path);
        Ok(())
    }

    /// Leaves the watch whether or not the znode exists.
    fn exists(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let ExistsRequest { path, watch } = decode(body)?;
        if path.contains('\0') {
            return Err(ErrorCode::BAD_ARGUMENTS);
        }
        let stat = match self.readable(path) {
            Ok(znode) => Ok(znode.stat()),
            Err(ErrorCode::NO_NODE) => Err(ErrorCode::NO_NODE),
            Err(error) => return Err(error),
        };
        if watch {
            self.watches.watch_data(self.id, path).map_err(refused)?;
        }
        let stat = stat?;
        self.reply(xid, &ExistsResponse { stat });
        Ok(())
    }

    fn get_data(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let GetDataRequest { path, watch } = decode(body)?;
        let response = data_of(self.readable(path)?);
        self.fits(response.encoded_len())?;
        if watch {
            self.watches.watch_data(self.id, path).map_err(refused)?;
        }
        self.reply(xid, &response);
        Ok(())
    }

    fn get_children(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let GetChildrenRequest { path, watch } = decode(body)?;
        let children: Vec<&str> = self.readable(path)?.children().collect();
        let response = GetChildrenResponse { children: Vector::new(&children) };
        self.fits(response.encoded_len())?;
        if watch {
            self.watches.watch_children(self.id, path).map_err(refused)?;
        }
        self.reply(xid, &response);
        Ok(())
    }

    fn get_children2(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let GetChildren2Request { path, watch } = decode(body)?;
        let znode = self.readable(path)?;
        let (children, stat): (Vec<&str>, _) = (znode.children().collect(), znode.stat());
        let response = GetChildren2Response { children: Vector::new(&children), stat };
        self.fits(response.encoded_len())?;
        if watch {
            self.watches.watch_children(self.id, path).map_err(refused)?;
        }
        self.reply(xid, &response);
        Ok(())
    }

    fn get_acl(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let GetAclRequest { path } = decode(body)?;
        let znode = self.permitted(path, Permissions::READ | Permissions::ADMIN)?;
        let access = if znode.access().grants(Permissions::ADMIN, &self.identities) {
            znode.access().clone()
        } else {
            znode.access().redacted()
        };
        let (entries, stat): (Vec<_>, _) = (access.entries().collect(), znode.stat());
        let acl = Vector::new(&entries);
        self.reply(xid, &GetAclResponse { acl, stat });
        Ok(())
    }

    /// Asks for no permission: the znodes belong to the session.
    fn get_ephemerals(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let GetEphemeralsRequest { prefix_path } = decode(body)?;
        let prefix = prefix_path.unwrap_or_default();
        let own = self.database.ephemerals_of(self.session);
        let ephemerals: Vec<&str> = own.filter(|path| path.starts_with(prefix)).collect();
        let response = GetEphemeralsResponse { ephemerals: Vector::new(&ephemerals) };
        self.fits(response.encoded_len())?;
        self.reply(xid, &response);
        Ok(())
    }

    fn get_all_children_number(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let GetAllChildrenNumberRequest { path } = decode(body)?;
        self.readable(path)?;
        // Servers also count the root if the path is empty, its other name.
        let root = usize::from(path.is_empty());
        let count = self.database.tree().count_below(path) + root;
        let total_number = i32::try_from(count).unwrap_or(i32::MAX);
        self.reply(xid, &GetAllChildrenNumberResponse { total_number });
        Ok(())
    }

    /// Executes each read by itself; it succeeds or fails alone, and leaves no watch.
    fn multi_read(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let reads: MultiReadRequest<'_> = decode(body)?;
        // The lists of names have to outlive the results that point to them.
        let mut answers = Vec::new();
        // A small request can ask for the same large znode again and again.
        let mut length = 0;
        for read in reads {
            let answer = match read {
                MultiReadOp::GetData(read) => self.readable(read.path).map(MultiReadAnswer::Data),
                MultiReadOp::GetChildren(read) => self
                    .readable(read.path)
                    .map(|znode| MultiReadAnswer::Children(znode.children().collect())),
                _ => return Err(ErrorCode::MARSHALLING_ERROR),
            };
            length += result_of(&answer).encoded_len();
            self.fits(length)?;
            answers.push(answer);
        }
        let results: Vec<MultiReadResult<'_>> = answers.iter().map(result_of).collect();
        let zxid = self.database.last_zxid();
        self.connection.reply(xid, zxid, &MultiReadResponse::new(&results));
        Ok(())
    }

    fn who_am_i(&mut self, xid: Xid) {
        let shown: Vec<(&str, String)> = self.identities.iter().map(Identity::shown).collect();
        let client_info: Vec<ClientInfo<'_>> =
            shown.iter().map(|(auth_scheme, user)| ClientInfo { auth_scheme, user }).collect();
        let client_info = Vector::new(&client_info);
        self.reply(xid, &WhoAmIResponse { client_info });
    }

    fn readable(&self, path: &str) -> Result<&'a Znode, ErrorCode> {
        self.permitted(path, Permissions::READ)
    }

    fn permitted(&self, path: &str, any_of: Permissions) -> Result<&'a Znode, ErrorCode> {
        let znode = self.database.znode(path).ok_or(ErrorCode::NO_NODE)?;
        if znode.access().grants(any_of, &self.identities) {
            Ok(znode)
        } else {
            Err(ErrorCode::NO_AUTH)
        }
    }
}

/// Returns the code for a client with one watch too many.
pub(super) fn refused(_: WatchesFull) -> ErrorCode {
    ErrorCode::QUOTA_EXCEEDED
}

enum MultiReadAnswer<'a> {
    Data(&'a Znode),
    Children(Vec<&'a str>),
}

fn result_of<'a>(answer: &'a Result<MultiReadAnswer<'a>, ErrorCode>) -> MultiReadResult<'a> {
    match answer {
        Ok(MultiReadAnswer::Data(znode)) => MultiReadResult::GetData(data_of(znode)),
        Ok(MultiReadAnswer::Children(names)) => {
            let children = Vector::new(names);
            MultiReadResult::GetChildren(GetChildrenResponse { children })
        }
        Err(error) => MultiReadResult::Error(*error),
    }
}

fn data_of(znode: &Znode) -> GetDataResponse<'_> {
    GetDataResponse { data: znode.data(), stat: znode.stat() }
}
