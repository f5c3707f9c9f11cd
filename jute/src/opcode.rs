//! The operations of the client protocol; see docs/protocol.md#operations.

use crate::record::numbers;

numbers! {
    /// An operation of the client protocol.
    pub struct OpCode;
    /// A notification; not a request.
    NOTIFICATION = 0, "notification";
    /// Creates a znode.
    CREATE = 1, "create";
    /// Deletes a znode.
    DELETE = 2, "delete";
    /// Reads a znode's [`Stat`](crate::records::Stat), also to find out whether it exists.
    EXISTS = 3, "exists";
    /// Reads a znode's data.
    GET_DATA = 4, "getData";
    /// Replaces a znode's data.
    SET_DATA = 5, "setData";
    /// Reads a znode's access list.
    GET_ACL = 6, "getACL";
    /// Replaces a znode's access list.
    SET_ACL = 7, "setACL";
    /// Lists children.
    GET_CHILDREN = 8, "getChildren";
    /// Waits until the server has caught up with ZooKeeper's leader.
    SYNC = 9, "sync";
    /// Keeps the session alive.
    PING = 11, "ping";
    /// Lists children, with the parent's [`Stat`](crate::records::Stat).
    GET_CHILDREN2 = 12, "getChildren2";
    /// Compares a version; only inside a multi.
    CHECK = 13, "check";
    /// Executes several writes as one transaction.
    MULTI = 14, "multi";
    /// Creates a znode and returns its [`Stat`](crate::records::Stat).
    CREATE2 = 15, "create2";
    /// Changes the ensemble.
    RECONFIG = 16, "reconfig";
    /// Asks whether a watch is set.
    CHECK_WATCHES = 17, "checkWatches";
    /// Removes watches.
    REMOVE_WATCHES = 18, "removeWatches";
    /// Creates a container znode.
    CREATE_CONTAINER = 19, "createContainer";
    /// Deletes a container znode; only inside servers.
    DELETE_CONTAINER = 20, "deleteContainer";
    /// Creates a znode with a time to live.
    CREATE_TTL = 21, "createTTL";
    /// Executes several reads in one request.
    MULTI_READ = 22, "multiRead";
    /// Adds an identity to the connection.
    AUTH = 100, "auth";
    /// Sets watches again after a reconnect.
    SET_WATCHES = 101, "setWatches";
    /// One step of a SASL exchange.
    SASL = 102, "sasl";
    /// Lists the session's ephemeral znodes.
    GET_EPHEMERALS = 103, "getEphemerals";
    /// Counts all descendants.
    GET_ALL_CHILDREN_NUMBER = 104, "getAllChildrenNumber";
    /// Sets watches of all kinds again after a reconnect.
    SET_WATCHES2 = 105, "setWatches2";
    /// Adds a persistent watch.
    ADD_WATCH = 106, "addWatch";
    /// Lists the connection's identities.
    WHO_AM_I = 107, "whoAmI";
    /// Starts a session; only inside servers.
    CREATE_SESSION = -10, "createSession";
    /// Ends the session.
    CLOSE_SESSION = -11, "closeSession";
    /// An error in the results of a multi.
    ERROR = -1, "error";
}
