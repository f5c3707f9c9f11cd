//! Watches: events, persistent watches, and setting watches again; see docs/protocol.md#watches.

use crate::code::ErrorCode;
use crate::id::Zxid;
use crate::opcode::OpCode;
use crate::record::{numbers, record};
use crate::request::Request;
use crate::vector::Vector;

numbers! {
    /// The kind of a watch event: the change to the znode.
    pub struct EventType;
    /// A client's own event: the state of the session changed.
    NONE = -1, "None";
    /// It was created.
    NODE_CREATED = 1, "NodeCreated";
    /// It was deleted.
    NODE_DELETED = 2, "NodeDeleted";
    /// Its data was written.
    NODE_DATA_CHANGED = 3, "NodeDataChanged";
    /// A child was created or deleted.
    NODE_CHILDREN_CHANGED = 4, "NodeChildrenChanged";
    /// A client's own event.
    DATA_WATCH_REMOVED = 5, "DataWatchRemoved";
    /// A client's own event.
    CHILD_WATCH_REMOVED = 6, "ChildWatchRemoved";
    /// A client's own event.
    PERSISTENT_WATCH_REMOVED = 7, "PersistentWatchRemoved";
}

numbers! {
    /// The session's state in a watch event. On the wire it is always
    /// [`KeeperState::SYNC_CONNECTED`].
    pub struct KeeperState;
    /// Not known.
    UNKNOWN = -1, "Unknown";
    /// No connection.
    DISCONNECTED = 0, "Disconnected";
    /// Not used.
    NO_SYNC_CONNECTED = 1, "NoSyncConnected";
    /// Connected.
    SYNC_CONNECTED = 3, "SyncConnected";
    /// The credentials were refused.
    AUTH_FAILED = 4, "AuthFailed";
    /// Connected to a read-only server.
    CONNECTED_READ_ONLY = 5, "ConnectedReadOnly";
    /// Authenticated by SASL.
    SASL_AUTHENTICATED = 6, "SaslAuthenticated";
    /// Closed by the client.
    CLOSED = 7, "Closed";
    /// The session has expired.
    EXPIRED = -112, "Expired";
}

numbers! {
    /// The mode of a persistent watch: the changes that it reports.
    pub struct AddWatchMode;
    /// All changes of the znode and of its list of children.
    PERSISTENT = 0, "Persistent";
    /// All changes of the znode and of its descendants, but no changes of lists of children.
    PERSISTENT_RECURSIVE = 1, "PersistentRecursive";
}

numbers! {
    /// Selects watches on a path.
    pub struct WatcherType;
    /// The one-shot watch on the list of children.
    CHILDREN = 1, "Children";
    /// The one-shot watch left by `getData` or `exists`.
    DATA = 2, "Data";
    /// All watches of all kinds.
    ANY = 3, "Any";
    /// The persistent watch (since 3.9.0).
    PERSISTENT = 4, "Persistent";
    /// The persistent recursive watch (since 3.9.0).
    PERSISTENT_RECURSIVE = 5, "PersistentRecursive";
}

record! {
    /// Sets a watch that stays (since 3.6.0); the znode need not exist.
    pub struct AddWatchRequest<'a> {
        /// The znode.
        pub path: &'a str,
        /// The changes that it reports.
        pub mode: AddWatchMode,
    }

    /// The reply to an `addWatch`.
    pub struct AddWatchResponse {
        /// The outcome, as in the header.
        pub error: ErrorCode,
    }

    /// Asks whether such a watch is set (since 3.5.0).
    pub struct CheckWatchesRequest<'a> {
        /// The znode.
        pub path: &'a str,
        /// The watches that are meant.
        pub kind: WatcherType,
    }

    /// Removes the connection's watches on a path (since 3.5.0).
    pub struct RemoveWatchesRequest<'a> {
        /// The znode.
        pub path: &'a str,
        /// The watches that are meant.
        pub kind: WatcherType,
    }

    /// The body of a notification.
    pub struct WatcherEvent<'a> {
        /// The kind of the event.
        pub kind: EventType,
        /// Always [`KeeperState::SYNC_CONNECTED`] on the wire.
        pub state: KeeperState,
        /// The znode; for [`EventType::NODE_CHILDREN_CHANGED`], the parent.
        pub path: &'a str,
    }

    /// Sets one-shot watches again after a reconnect (docs/protocol.md#setting-watches-again).
    /// Servers refuse null lists.
    pub struct SetWatches<'a> {
        /// The last transaction that the client has seen. The server reports later changes at once.
        pub relative_zxid: Zxid,
        /// Watches left by `getData`, and by `exists` on an existing znode.
        pub data: Vector<'a, &'a str>,
        /// Watches left by `exists` on a missing znode.
        pub exist: Vector<'a, &'a str>,
        /// Watches left by listing children.
        pub child: Vector<'a, &'a str>,
    }

    /// Sets watches of all kinds again after a reconnect (since 3.6.0;
    /// docs/protocol.md#setting-watches-again).
    pub struct SetWatches2<'a> {
        /// The last transaction that the client has seen. The server reports later changes at once,
        /// but not to persistent watches.
        pub relative_zxid: Zxid,
        /// Watches left by `getData`, and by `exists` on an existing znode.
        pub data: Vector<'a, &'a str>,
        /// Watches left by `exists` on a missing znode.
        pub exist: Vector<'a, &'a str>,
        /// Watches left by listing children.
        pub child: Vector<'a, &'a str>,
        /// Persistent watches.
        pub persistent: Vector<'a, &'a str>,
        /// Persistent recursive watches.
        pub persistent_recursive: Vector<'a, &'a str>,
    }
}

impl Request for AddWatchRequest<'_> {
    const OPCODE: OpCode = OpCode::ADD_WATCH;
    type Response<'r> = AddWatchResponse;
}

impl Request for CheckWatchesRequest<'_> {
    const OPCODE: OpCode = OpCode::CHECK_WATCHES;
    type Response<'r> = ();
}

impl Request for RemoveWatchesRequest<'_> {
    const OPCODE: OpCode = OpCode::REMOVE_WATCHES;
    type Response<'r> = ();
}

impl Request for SetWatches<'_> {
    const OPCODE: OpCode = OpCode::SET_WATCHES;
    type Response<'r> = ();
}

impl Request for SetWatches2<'_> {
    const OPCODE: OpCode = OpCode::SET_WATCHES2;
    type Response<'r> = ();
}
