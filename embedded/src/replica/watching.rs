//! The requests that set, check and remove watches (docs/protocol.md#watches).

use zk_jute::records::{
    AddWatchMode, AddWatchRequest, AddWatchResponse, CheckWatchesRequest, EventType,
    RemoveWatchesRequest, SetWatches, SetWatches2,
};
use zk_jute::{ErrorCode, Vector, Xid, Zxid};

use super::reads::{Reads, decode, refused};

/// The events that `setWatches` sends for missed changes belong to no transaction.
const NO_TRANSACTION: Zxid = Zxid::new(-1);

/// Refuses a null list. It is checked in its turn: the lists before it have been handled.
fn present<'a>(paths: Vector<'a, &'a str>) -> Result<Vector<'a, &'a str>, ErrorCode> {
    if paths.is_null() { Err(ErrorCode::MARSHALLING_ERROR) } else { Ok(paths) }
}

impl Reads<'_> {
    pub(super) fn set_watches(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let request: SetWatches<'_> = decode(body)?;
        let one_shot = [request.data, request.exist, request.child];
        self.set_one_shot(request.relative_zxid, one_shot)?;
        self.reply(xid, &());
        Ok(())
    }

    pub(super) fn set_watches2(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let request: SetWatches2<'_> = decode(body)?;
        let one_shot = [request.data, request.exist, request.child];
        self.set_one_shot(request.relative_zxid, one_shot)?;
        for path in present(request.persistent)? {
            self.watches.watch_persistently(self.id, path).map_err(refused)?;
        }
        for path in present(request.persistent_recursive)? {
            self.watches.watch_recursively(self.id, path).map_err(refused)?;
        }
        self.reply(xid, &());
        Ok(())
    }

    /// Reports at once what has changed since the client's zxid, and watches the rest.
    fn set_one_shot(
        &mut self,
        seen: Zxid,
        [data, exist, child]: [Vector<'_, &str>; 3],
    ) -> Result<(), ErrorCode> {
        for path in present(data)? {
            match self.database.znode(path).map(|znode| znode.stat().mzxid) {
                None => self.catch_up(EventType::NODE_DELETED, path),
                Some(mzxid) if mzxid > seen => self.catch_up(EventType::NODE_DATA_CHANGED, path),
                Some(_) => self.watches.watch_data(self.id, path).map_err(refused)?,
            }
        }
        for path in present(exist)? {
            match self.database.znode(path) {
                Some(_) => self.catch_up(EventType::NODE_CREATED, path),
                None => self.watches.watch_data(self.id, path).map_err(refused)?,
            }
        }
        for path in present(child)? {
            match self.database.znode(path).map(|znode| znode.stat().pzxid) {
                None => self.catch_up(EventType::NODE_DELETED, path),
                Some(pzxid) if pzxid > seen => {
                    self.catch_up(EventType::NODE_CHILDREN_CHANGED, path);
                }
                Some(_) => self.watches.watch_children(self.id, path).map_err(refused)?,
            }
        }
        Ok(())
    }

    fn catch_up(&mut self, kind: EventType, path: &str) {
        self.connection.send_event(NO_TRANSACTION, kind, path);
    }

    pub(super) fn add_watch(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let request: AddWatchRequest<'_> = decode(body)?;
        let added = match request.mode {
            AddWatchMode::PERSISTENT => self.watches.watch_persistently(self.id, request.path),
            AddWatchMode::PERSISTENT_RECURSIVE => {
                self.watches.watch_recursively(self.id, request.path)
            }
            _ => return Err(ErrorCode::MARSHALLING_ERROR),
        };
        added.map_err(refused)?;
        let error = ErrorCode::OK;
        self.reply(xid, &AddWatchResponse { error });
        Ok(())
    }

    pub(super) fn check_watches(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let request: CheckWatchesRequest<'_> = decode(body)?;
        let found = self.watches.contains(self.id, request.path, request.kind);
        self.tell_whether_found(xid, found.map_err(|_| ErrorCode::MARSHALLING_ERROR)?)
    }

    pub(super) fn remove_watches(&mut self, xid: Xid, body: &[u8]) -> Result<(), ErrorCode> {
        let request: RemoveWatchesRequest<'_> = decode(body)?;
        let found = self.watches.remove(self.id, request.path, request.kind);
        self.tell_whether_found(xid, found.map_err(|_| ErrorCode::MARSHALLING_ERROR)?)
    }

    fn tell_whether_found(&mut self, xid: Xid, found: bool) -> Result<(), ErrorCode> {
        if !found {
            return Err(ErrorCode::NO_WATCHER);
        }
        self.reply(xid, &());
        Ok(())
    }
}
