//! Error codes of replies; see docs/protocol.md#errors.

use crate::record::numbers;

numbers! {
    /// The outcome of a request.
    pub struct ErrorCode;
    /// The request succeeded.
    OK = 0, "Ok";
    /// Marks a range of codes.
    SYSTEM_ERROR = -1, "SystemError";
    /// In a multi: not tried, because an earlier operation failed.
    RUNTIME_INCONSISTENCY = -2, "RuntimeInconsistency";
    /// Not used on the wire.
    DATA_INCONSISTENCY = -3, "DataInconsistency";
    /// The connection was lost; the request may or may not have been executed.
    CONNECTION_LOSS = -4, "ConnectionLoss";
    /// The server could not read the request.
    MARSHALLING_ERROR = -5, "MarshallingError";
    /// The server does not know the operation, or has it switched off.
    UNIMPLEMENTED = -6, "Unimplemented";
    /// A client's own code.
    OPERATION_TIMEOUT = -7, "OperationTimeout";
    /// An invalid path, flag, or time to live.
    BAD_ARGUMENTS = -8, "BadArguments";
    /// A code of the C client.
    INVALID_STATE = -9, "InvalidState";
    /// A code inside servers.
    UNKNOWN_SESSION = -12, "UnknownSession";
    /// A reconfig without a quorum of the new members.
    NEW_CONFIG_NO_QUORUM = -13, "NewConfigNoQuorum";
    /// Another reconfig is going on.
    RECONFIG_IN_PROGRESS = -14, "ReconfigInProgress";
    /// A code of the C client.
    SSL_CONNECTION_ERROR = -15, "SslConnectionError";
    /// Marks a range of codes.
    API_ERROR = -100, "ApiError";
    /// The znode, or the parent of the one to create, does not exist.
    NO_NODE = -101, "NoNode";
    /// The access list denies it.
    NO_AUTH = -102, "NoAuth";
    /// The znode has another version.
    BAD_VERSION = -103, "BadVersion";
    /// An ephemeral znode cannot have children.
    NO_CHILDREN_FOR_EPHEMERALS = -108, "NoChildrenForEphemerals";
    /// The znode exists already.
    NODE_EXISTS = -110, "NodeExists";
    /// The znode has children.
    NOT_EMPTY = -111, "NotEmpty";
    /// The session has ended.
    SESSION_EXPIRED = -112, "SessionExpired";
    /// A client's own code.
    INVALID_CALLBACK = -113, "InvalidCallback";
    /// The access list is empty or malformed.
    INVALID_ACL = -114, "InvalidAcl";
    /// The credentials were refused.
    AUTH_FAILED = -115, "AuthFailed";
    /// A code of the C client.
    CLOSING = -116, "Closing";
    /// A code of the C client.
    NOTHING = -117, "Nothing";
    /// The session has moved to another connection.
    SESSION_MOVED = -118, "SessionMoved";
    /// The server is read-only.
    NOT_READ_ONLY = -119, "NotReadOnly";
    /// A local session cannot own ephemeral znodes.
    EPHEMERAL_ON_LOCAL_SESSION = -120, "EphemeralOnLocalSession";
    /// No such watch is set.
    NO_WATCHER = -121, "NoWatcher";
    /// A client's own code.
    REQUEST_TIMEOUT = -122, "RequestTimeout";
    /// The server has reconfig switched off.
    RECONFIG_DISABLED = -123, "ReconfigDisabled";
    /// The server demands authentication.
    SESSION_CLOSED_REQUIRE_SASL_AUTH = -124, "SessionClosedRequireSaslAuth";
    /// A quota is used up.
    QUOTA_EXCEEDED = -125, "QuotaExceeded";
    /// The server is overloaded; the request was not executed.
    THROTTLED_OP = -127, "ThrottledOp";
}
