//! Numbers with a meaning: the tables of the protocol, and what is not in them.

use zk_jute::records::{
    AddWatchMode, CreateMode, EventType, KeeperState, Permissions, TtlMode, WatcherType,
};
use zk_jute::{ErrorCode, OpCode, Xid};

/// Returns the named numbers in a range wider than the protocol's, in ascending order.
fn named(name: impl Fn(i32) -> Option<&'static str>) -> Vec<(i32, &'static str)> {
    (-200..200).filter_map(|number| Some((number, name(number)?))).collect()
}

#[test]
fn error_codes_are_those_of_the_protocol() {
    const TABLE: [(i32, &str); 36] = [
        (-127, "ThrottledOp"),
        (-125, "QuotaExceeded"),
        (-124, "SessionClosedRequireSaslAuth"),
        (-123, "ReconfigDisabled"),
        (-122, "RequestTimeout"),
        (-121, "NoWatcher"),
        (-120, "EphemeralOnLocalSession"),
        (-119, "NotReadOnly"),
        (-118, "SessionMoved"),
        (-117, "Nothing"),
        (-116, "Closing"),
        (-115, "AuthFailed"),
        (-114, "InvalidAcl"),
        (-113, "InvalidCallback"),
        (-112, "SessionExpired"),
        (-111, "NotEmpty"),
        (-110, "NodeExists"),
        (-108, "NoChildrenForEphemerals"),
        (-103, "BadVersion"),
        (-102, "NoAuth"),
        (-101, "NoNode"),
        (-100, "ApiError"),
        (-15, "SslConnectionError"),
        (-14, "ReconfigInProgress"),
        (-13, "NewConfigNoQuorum"),
        (-12, "UnknownSession"),
        (-9, "InvalidState"),
        (-8, "BadArguments"),
        (-7, "OperationTimeout"),
        (-6, "Unimplemented"),
        (-5, "MarshallingError"),
        (-4, "ConnectionLoss"),
        (-3, "DataInconsistency"),
        (-2, "RuntimeInconsistency"),
        (-1, "SystemError"),
        (0, "Ok"),
    ];
    let names = named(|number| ErrorCode::new(number).name());
    assert_eq!(names, TABLE);
}

#[test]
fn opcodes_are_those_of_the_protocol() {
    const TABLE: [(i32, &str); 33] = [
        (-11, "closeSession"),
        (-10, "createSession"),
        (-1, "error"),
        (0, "notification"),
        (1, "create"),
        (2, "delete"),
        (3, "exists"),
        (4, "getData"),
        (5, "setData"),
        (6, "getACL"),
        (7, "setACL"),
        (8, "getChildren"),
        (9, "sync"),
        (11, "ping"),
        (12, "getChildren2"),
        (13, "check"),
        (14, "multi"),
        (15, "create2"),
        (16, "reconfig"),
        (17, "checkWatches"),
        (18, "removeWatches"),
        (19, "createContainer"),
        (20, "deleteContainer"),
        (21, "createTTL"),
        (22, "multiRead"),
        (100, "auth"),
        (101, "setWatches"),
        (102, "sasl"),
        (103, "getEphemerals"),
        (104, "getAllChildrenNumber"),
        (105, "setWatches2"),
        (106, "addWatch"),
        (107, "whoAmI"),
    ];
    let names = named(|number| OpCode::new(number).name());
    assert_eq!(names, TABLE);
}

#[test]
fn numbers_of_watches_and_modes_are_those_of_the_protocol() {
    assert_eq!(
        named(|number| EventType::new(number).name()),
        [
            (-1, "None"),
            (1, "NodeCreated"),
            (2, "NodeDeleted"),
            (3, "NodeDataChanged"),
            (4, "NodeChildrenChanged"),
            (5, "DataWatchRemoved"),
            (6, "ChildWatchRemoved"),
            (7, "PersistentWatchRemoved"),
        ]
    );
    assert_eq!(
        named(|number| KeeperState::new(number).name()),
        [
            (-112, "Expired"),
            (-1, "Unknown"),
            (0, "Disconnected"),
            (1, "NoSyncConnected"),
            (3, "SyncConnected"),
            (4, "AuthFailed"),
            (5, "ConnectedReadOnly"),
            (6, "SaslAuthenticated"),
            (7, "Closed"),
        ]
    );
    assert_eq!(
        named(|number| CreateMode::new(number).name()),
        [
            (0, "Persistent"),
            (1, "Ephemeral"),
            (2, "PersistentSequential"),
            (3, "EphemeralSequential"),
            (4, "Container"),
        ]
    );
    assert_eq!(
        named(|number| TtlMode::new(number).name()),
        [(5, "PersistentWithTtl"), (6, "PersistentSequentialWithTtl")]
    );
    assert_eq!(
        named(|number| AddWatchMode::new(number).name()),
        [(0, "Persistent"), (1, "PersistentRecursive")]
    );
    assert_eq!(
        named(|number| WatcherType::new(number).name()),
        [(1, "Children"), (2, "Data"), (3, "Any"), (4, "Persistent"), (5, "PersistentRecursive"),]
    );
}

#[test]
fn unknown_numbers_are_kept_and_say_so() {
    let code = ErrorCode::new(-126);
    assert_eq!(code.get(), -126);
    assert_eq!(code.to_string(), "unknown (-126)");
    assert_eq!(format!("{code:?}"), "ErrorCode(-126)");
    assert_eq!(format!("{:?}", ErrorCode::NO_NODE), "NoNode(-101)");
    assert_eq!(OpCode::GET_DATA.to_string(), "getData");
}

#[test]
fn permissions_are_a_set_of_bits() {
    let set = Permissions::READ | Permissions::CREATE;
    assert_eq!(set.get(), 5);
    assert!(set.contains(Permissions::READ));
    assert!(!set.contains(Permissions::READ | Permissions::WRITE));
    assert_eq!(Permissions::ALL.to_string(), "cdrwa");
    assert_eq!(Permissions::NONE.to_string(), "");
    // Servers store bits that they do not know.
    assert_eq!(Permissions::new(255).get(), 255);
}

#[test]
fn xids_of_requests_are_positive() {
    assert_eq!(Xid::FIRST.next(), Xid::new(2));
    for reserved in [Xid::new(i32::MAX), Xid::new(i32::MIN), Xid::new(0)] {
        assert_eq!(reserved.next(), Xid::FIRST);
    }
    for reserved in [Xid::NOTIFICATION, Xid::PING, Xid::AUTH, Xid::SET_WATCHES] {
        assert_eq!(reserved.next(), Xid::FIRST);
    }
}
