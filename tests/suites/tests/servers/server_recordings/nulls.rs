//! Access lists with nulls in them: kazoo's `CREATOR_ALL_ACL` is one.

use zk_test_kit::failure::TestResult;
use zk_test_kit::on_both_servers;
use zk_test_kit::opcode::Opcode;
use zk_test_kit::raw::{RawClient, RawError};
use zk_test_kit::server::ServerKind;
use zk_test_kit::zookeeper::ServerVersion;

use crate::server_recordings::requests::{Entry, OPEN, SESSION, create_for, digest, path};

on_both_servers! {
    #[test]
    a_null_id_matters_where_a_server_looks_at_it,
    auth_stands_for_the_identity_whatever_its_id;
}

const INVALID_ACL: i32 = -114;
const MARSHALLING_ERROR: i32 = -5;

const AUTH: Entry<'_> = (OPEN, Some("auth"), None);

/// Returns the code and the transaction number of the answer.
fn tried(client: &mut RawClient, at: &str, list: &[Entry<'_>]) -> Result<(i32, i64), RawError> {
    client.send_request(Opcode::CREATE, &create_for(at, list))?;
    let reply = client.next_reply()?;
    Ok((reply.code, reply.zxid))
}

/// Each takes a transaction: the request could be read.
fn a_null_id_matters_where_a_server_looks_at_it(server: ServerKind) -> TestResult {
    let server = server.start()?;
    if server.release()? < ServerVersion::new(3, 5, 0) {
        return Ok(());
    }
    let mut client = RawClient::connect(server.addr(), SESSION)?;
    let open = (OPEN, Some("world"), Some("anyone"));
    let cases: [(&[Entry<'_>], i32); 11] = [
        (&[open], 0),
        (&[AUTH], INVALID_ACL),
        (&[(OPEN, None, Some("x"))], INVALID_ACL),
        (&[(OPEN, None, None)], INVALID_ACL),
        (&[(OPEN, Some("sasl"), None)], INVALID_ACL),
        (&[(OPEN, Some("world"), None)], MARSHALLING_ERROR),
        (&[(OPEN, Some("digest"), None)], MARSHALLING_ERROR),
        (&[(OPEN, Some("ip"), None)], MARSHALLING_ERROR),
        // Of two entries the later one is compared with the earlier one, part by part.
        (&[AUTH, AUTH], MARSHALLING_ERROR),
        (&[open, (OPEN, None, None)], MARSHALLING_ERROR),
        (&[open, (1, None, None)], INVALID_ACL),
    ];
    let mut last = None;
    for (number, (list, expected)) in cases.into_iter().enumerate() {
        let (code, zxid) = tried(&mut client, &format!("/n{number}"), list)?;
        assert_eq!(code, expected, "{list:?}");
        assert!(last.is_none_or(|last| zxid == last + 1), "{list:?}");
        last = Some(zxid);
    }
    Ok(())
}

fn auth_stands_for_the_identity_whatever_its_id(server: ServerKind) -> TestResult {
    let server = server.start()?;
    if server.release()? < ServerVersion::new(3, 5, 0) {
        return Ok(());
    }
    let mut client = RawClient::connect(server.addr(), SESSION)?;
    client.request(Opcode::AUTH, &digest("bob:secret"))?;
    let with_id = (OPEN, Some("auth"), Some(""));
    let lists: [(&[Entry<'_>], i32); 4] = [
        (&[AUTH], 0),
        (&[AUTH, (1, Some("auth"), None)], 0),
        (&[AUTH, with_id], 0),
        (&[with_id, AUTH], MARSHALLING_ERROR),
    ];
    for (number, (list, expected)) in lists.into_iter().enumerate() {
        let (code, _) = tried(&mut client, &format!("/n{number}"), list)?;
        assert_eq!(code, expected, "{list:?}");
    }
    let stored = client.request(Opcode::GET_ACL, &path("/n0"))?;
    let expected = [
        &1_i32.to_be_bytes()[..],
        &OPEN.to_be_bytes(),
        &path("digest"),
        &path("bob:fyVmFCwVbTJYrznoSu1koqYEYF0="),
    ];
    assert!(stored.starts_with(&expected.concat()), "{stored:?}");
    Ok(())
}
