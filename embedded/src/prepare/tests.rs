//! Cases that requests cannot reach in the time of a test.

use alloc::string::ToString;
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;

use zk_jute::Zxid;

use super::*;
use crate::time::Timestamp;
use crate::txn::Diverged;

const SESSION: SessionId = SessionId::new(7);

fn at(zxid: i64) -> Moment {
    Moment { zxid: Zxid::new(zxid), time: Timestamp::default() }
}

fn with_session() -> Database {
    let mut database = Database::new();
    let body = TxnBody::CreateSession { timeout: Duration::from_secs(1) };
    database.apply(&Txn { at: at(1), session: SESSION, body }).expect("the first transaction");
    database
}

fn request(session: SessionId, write: Write) -> WriteRequest {
    let identities = Identities::of_peer(IpAddr::V4(Ipv4Addr::LOCALHOST));
    WriteRequest { session, identities, write }
}

fn create(path: &str, naming: Naming) -> Write {
    Write::Single(Operation::Create(Create {
        path: path.to_string(),
        data: None,
        access: Ok(AccessList::open()),
        naming,
        lifetime: Ok(RequestedLifetime::Persistent),
    }))
}

fn change(database: &Database, request: &WriteRequest, zxid: i64) -> Txn {
    prepare(database, request, ExtendedTypes::Disabled, at(zxid))
}

/// Since 3.6 the counter sticks (ZOOKEEPER-3249), so the next create with the same prefix finds the
/// last one's znode.
#[test]
fn sequences_run_out_at_their_last_number() {
    let mut database = with_session();
    database.tree_mut().set_children_created("/", i32::MAX);
    let sequential = request(SESSION, create("/n-", Naming::Sequential));
    let first = change(&database, &sequential, 2);
    database.apply(&first).expect("just prepared");
    assert!(database.znode("/n-2147483647").is_some());
    let second = change(&database, &sequential, 3);
    let exists = whole_request(ErrorCode::NODE_EXISTS);
    assert_eq!(second.body, TxnBody::Reject(exists));
    let plain = change(&database, &request(SESSION, create("/plain", Naming::Plain)), 4);
    database.apply(&plain).expect("just prepared");
    let cversion = database.znode("/").map(|root| root.stat().cversion);
    assert_eq!(cversion, Some(Version::new(-2 - 3)));
}

#[test]
fn a_session_that_is_over_changes_nothing() {
    let database = with_session();
    let check = Operation::Check { path: "/".to_string(), version: Version::ANY };
    let writes = [
        create("/a", Naming::Plain),
        Write::CloseSession,
        Write::Single(check.clone()),
        Write::Single(Operation::Delete { path: "nopath".to_string(), version: Version::ANY }),
    ];
    for write in writes {
        let txn = change(&database, &request(SessionId::new(8), write), 2);
        let expired = whole_request(ErrorCode::SESSION_EXPIRED);
        assert_eq!(txn.body, TxnBody::Reject(expired));
    }
    let txn = change(&database, &request(SessionId::new(8), Write::Multi(vec![check])), 2);
    let in_the_body =
        Rejection { operation: 0, error: ErrorCode::SESSION_EXPIRED, extent: Extent::Operation };
    assert_eq!(txn.body, TxnBody::Reject(in_the_body));
    // The mode of a create comes before the session.
    let Write::Single(Operation::Create(mut unknown)) = create("/a", Naming::Plain) else {
        panic!("a create");
    };
    unknown.lifetime = Err(LifetimeError::UnknownMode);
    let unknown = Write::Single(Operation::Create(unknown));
    let txn = change(&database, &request(SessionId::new(8), unknown), 2);
    assert_eq!(txn.body, TxnBody::Reject(whole_request(ErrorCode::BAD_ARGUMENTS)));
}

/// No client can ask for this, but the log could carry it.
#[test]
fn an_access_list_holds_for_what_follows_in_a_multi() {
    let database = with_session();
    let set_acl = |version| Operation::SetAcl {
        path: "/".to_string(),
        access: Ok(AccessList::read_only()),
        version: Version::new(version),
    };
    let first_error = |operations| {
        let txn = change(&database, &request(SESSION, Write::Multi(operations)), 2);
        match txn.body {
            TxnBody::Reject(rejection) => (rejection.operation, rejection.error),
            other => panic!("not refused: {other:?}"),
        }
    };
    let check = Operation::Check { path: "/".to_string(), version: Version::new(1) };
    let admin_again = vec![set_acl(0), set_acl(0)];
    assert_eq!(first_error(admin_again), (1, ErrorCode::NO_AUTH));
    assert_eq!(first_error(vec![check]), (0, ErrorCode::BAD_VERSION));
    let open = |version| Operation::SetAcl {
        path: "/".to_string(),
        access: Ok(AccessList::open()),
        version: Version::new(version),
    };
    assert_eq!(first_error(vec![open(0), open(0)]), (1, ErrorCode::BAD_VERSION));
}

#[test]
fn transactions_are_applied_in_their_order_only() {
    let mut database = with_session();
    let created = change(&database, &request(SESSION, create("/a", Naming::Plain)), 5);
    assert_eq!(database.apply(&created), Ok(()));
    assert_eq!(database.apply(&created), Err(Diverged));
    let late = Txn { at: at(4), session: SESSION, body: TxnBody::CloseSession };
    assert_eq!(database.apply(&late), Err(Diverged));
    assert_eq!(database.last_zxid(), Zxid::new(5));
}
