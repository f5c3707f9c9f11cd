//! Requests that waited too long (`zookeeper.throttled_op_wait_time`, since 3.7.0).

use zk_embedded::Throttling;
use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::raw::{RawClient, RawError, RawReply};
use zk_test_kit::server::{Backlog, ServerKind, Settings};
use zk_test_kit::zookeeper::ServerVersion;

use crate::server_recordings::requests::{OPEN, SESSION, THROTTLED, create, path, read};

on_both_servers! {
    #[test]
    a_throttled_request_is_answered_and_not_done;
}

const BURST: u32 = 40;
const BURSTS: u32 = 50;

fn a_throttled_request_is_answered_and_not_done(server: ServerKind) -> TestResult {
    let settings = Settings { backlog: Backlog::Throttled, ..Settings::default() };
    let server = server.start_with(&settings)?;
    if server.release()? < ServerVersion::new(3, 7, 0) {
        return Ok(());
    }
    let mut client = RawClient::connect(server.addr(), SESSION)?;
    let mut throttled = Vec::new();
    for burst in 0..BURSTS {
        server.set_throttling(Throttling::On);
        throttled = overload(&mut client, burst)?;
        if !throttled.is_empty() {
            break;
        }
    }
    assert!(!throttled.is_empty(), "nothing was throttled in {BURSTS} bursts");
    // Never throttled, also among other requests that are.
    let xids = [
        client.send_request(Opcode::SYNC, &path("/"))?,
        client.send_request(Opcode::EXISTS, &read("/", 0))?,
        client.send_request(Opcode::CLOSE_SESSION, &[])?,
    ];
    let replies = xids.map(|_| client.next_reply());
    for (reply, xid) in replies.into_iter().zip(xids) {
        let reply = reply?;
        assert_eq!(reply.xid, xid);
        if Some(&xid) == xids.last() {
            assert_eq!((reply.code, &*reply.body), (0, &[][..]), "the end of the session");
        }
    }
    server.set_throttling(Throttling::Off);
    let mut other = RawClient::connect(server.addr(), SESSION)?;
    for path in throttled {
        assert!(!exists(&mut other, &path)?, "{path} was not done");
    }
    Ok(())
}

/// Sends many requests at once, with a ping in between; gives the paths of the creates that were
/// throttled.
fn overload(client: &mut RawClient, burst: u32) -> Result<Vec<String>, RawError> {
    let paths: Vec<String> = (0..BURST).map(|number| format!("/{burst}-{number}")).collect();
    for path in &paths {
        client.send_request(Opcode::CREATE, &create(path, OPEN))?;
    }
    let replies: Result<Vec<RawReply>, RawError> =
        paths.iter().map(|_| client.next_reply()).collect();
    client.ping()?;
    let mut throttled = Vec::new();
    let mut last_zxid = 0;
    for (path, reply) in paths.into_iter().zip(replies?) {
        assert!(reply.zxid >= last_zxid, "{reply:?} after {last_zxid}");
        last_zxid = reply.zxid;
        match reply.code {
            0 => {}
            THROTTLED => {
                assert_eq!(reply.body, b"", "a header alone");
                throttled.push(path);
            }
            code => panic!("{path}: {code}"),
        }
    }
    Ok(throttled)
}

/// Whether the znode exists; also a look may be throttled.
fn exists(client: &mut RawClient, path: &str) -> Result<bool, RawError> {
    loop {
        match client.exists(path) {
            Err(RawError::Refused { code: THROTTLED, .. }) => {}
            answer => return answer,
        }
    }
}
