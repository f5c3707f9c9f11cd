//! Watches.

use zk_jute::records::{
    AddWatchMode, AddWatchRequest, AddWatchResponse, CheckWatchesRequest, EventType, KeeperState,
    RemoveWatchesRequest, SetWatches, SetWatches2, WatcherEvent, WatcherType,
};
use zk_jute::{ErrorCode, OpCode, Vector, Zxid};

use super::{Case, failed, reply, request};

const fn event(kind: EventType, path: &str) -> WatcherEvent<'_> {
    let state = KeeperState::SYNC_CONNECTED;
    WatcherEvent { kind, state, path }
}

const REMOVE_ANY: RemoveWatchesRequest<'_> =
    RemoveWatchesRequest { path: "/demo", kind: WatcherType::ANY };

pub(crate) const CASES: &[Case] = &[
    ("node-deleted.notification", |f| {
        f.is(reply(-1, 4), event(EventType::NODE_DELETED, "/demo"));
    }),
    ("node-deleted-by-set-watches.notification", |f| {
        f.is(reply(-1, -1), event(EventType::NODE_DELETED, "/gone"));
    }),
    ("node-created.notification", |f| {
        f.is(reply(-1, 10), event(EventType::NODE_CREATED, "/ttl/a"));
    }),
    ("node-data-changed.notification", |f| {
        f.is(reply(-1, 5), event(EventType::NODE_DATA_CHANGED, "/demo"));
    }),
    ("set-watches.request", |f| {
        let body = SetWatches {
            relative_zxid: Zxid::new(1),
            data: Vector::new(&["/demo", "/gone"]),
            exist: Vector::new(&["/demo", "/nope"]),
            child: Vector::new(&["/demo"]),
        };
        f.is(request(-8, OpCode::SET_WATCHES), body);
    }),
    ("set-watches.reply", |f| f.is(reply(-8, 13), ())),
    ("set-watches-by-java.request", |f| {
        let body = SetWatches {
            relative_zxid: Zxid::new(0x55),
            data: Vector::new(&["/cr"]),
            exist: Vector::new(&["/cr/nope"]),
            child: Vector::new(&["/cr"]),
        };
        f.is(request(4, OpCode::SET_WATCHES), body);
    }),
    ("set-watches2.request", |f| {
        let body = SetWatches2 {
            relative_zxid: Zxid::new(4),
            data: Vector::new(&["/ttl"]),
            exist: Vector::new(&["/none"]),
            child: Vector::new(&["/ttl"]),
            persistent: Vector::new(&["/p"]),
            persistent_recursive: Vector::new(&["/r"]),
        };
        f.is(request(-8, OpCode::SET_WATCHES2), body);
    }),
    ("add-watch.request", |f| {
        let (path, mode) = ("/demo", AddWatchMode::PERSISTENT);
        f.is(request(22, OpCode::ADD_WATCH), AddWatchRequest { path, mode });
    }),
    ("add-watch.reply", |f| {
        let error = ErrorCode::OK;
        f.is(reply(22, 12), AddWatchResponse { error });
    }),
    ("check-watches.request", |f| {
        let (path, kind) = ("/demo", WatcherType::ANY);
        f.is(request(24, OpCode::CHECK_WATCHES), CheckWatchesRequest { path, kind });
    }),
    ("check-watches.reply", |f| f.is(reply(24, 12), ())),
    ("remove-watches.request", |f| {
        f.is(request(25, OpCode::REMOVE_WATCHES), REMOVE_ANY);
    }),
    ("remove-watches.reply", |f| f.is(reply(25, 12), ())),
    ("remove-watches-again.request", |f| {
        f.is(request(26, OpCode::REMOVE_WATCHES), REMOVE_ANY);
    }),
    ("remove-watches-again.reply", |f| {
        f.is(failed(26, 12, ErrorCode::NO_WATCHER), ());
    }),
    ("remove-watches-recursive.request", |f| {
        let (path, kind) = ("/ttl", WatcherType::PERSISTENT_RECURSIVE);
        f.is(request(12, OpCode::REMOVE_WATCHES), RemoveWatchesRequest { path, kind });
    }),
    ("remove-watches-recursive.reply", |f| {
        f.is(reply(12, 10), ());
    }),
];
