//! The written forms of configuration and events: they stay.

use core::fmt;

use election_tokio::election::{
    CandidateName, Cause, ElectionNode, EndReason, LostReason, NodeKind, NominationError, OnLoss,
    Role, Status,
};
use election_tokio::format::Format;
use election_tokio::lease::{HeartbeatPace, LeaseGrade, LeaseMargin};
use election_tokio::session::{
    Limits, OnExpiry, ReadOnlyServers, SessionEnd, SilentServers, WhileDisconnected,
};
use election_tokio::{ErrorCode, NomineeId, SessionId, Token, ZnodePath, Zxid};
use serde::Serialize;
use serde::de::DeserializeOwned;
use zk_test_kit::failure::TestResult;

/// It is written like this, and read again as what it was.
fn is_written<T>(value: &T, json: &str) -> TestResult
where
    T: Serialize + DeserializeOwned + PartialEq + fmt::Debug,
{
    assert_eq!(serde_json::to_string(value)?, json);
    assert_eq!(&serde_json::from_str::<T>(json)?, value);
    Ok(())
}

fn is_refused<T: DeserializeOwned + fmt::Debug>(json: &str) {
    let read = serde_json::from_str::<T>(json);
    assert!(read.is_err(), "{json}: {read:?}");
}

const UUID: &str = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
const CANDIDATE: &str = "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-latch-0000000007";

#[test]
fn ids_tokens_and_names_keep_their_form() -> TestResult {
    is_written(&Token::new(0x1_0000_0002), "4294967298")?;
    for json in ["\"4294967298\"", "\"0x100000002\""] {
        assert_eq!(serde_json::from_str::<Token>(json)?, Token::new(0x1_0000_0002));
    }
    is_written(&SessionId::new(0x0100_002a_5b7c_0001), "\"0x0100002a5b7c0001\"")?;
    is_written(&SessionId::new(-1), "\"0xffffffffffffffff\"")?;
    is_written(&Zxid::new(0x1_0000_0002), "\"0x100000002\"")?;
    is_written(&ErrorCode::NO_AUTH, "-102")?;
    is_written(&UUID.parse::<NomineeId>()?, &format!("\"{UUID}\""))?;
    is_written(&CandidateName::parse(CANDIDATE)?, &format!("\"{CANDIDATE}\""))?;
    is_written(&"/app/leader".parse::<ZnodePath>()?, "\"/app/leader\"")?;
    for refused in ["\"0x\"", "\"twelve\"", "9223372036854775808", "1.5", "null"] {
        is_refused::<Token>(refused);
    }
    for refused in ["\"0x+1\"", "\"1\"", "\"0x10000000000000000\"", "1"] {
        is_refused::<SessionId>(refused);
    }
    for refused in ["\"latch-\"", "\"a/b-latch-0000000007\"", "\"latch-2147483647\""] {
        is_refused::<CandidateName>(refused);
    }
    is_refused::<ZnodePath>("\"app\"");
    Ok(())
}

#[test]
fn options_keep_their_form() -> TestResult {
    is_written(&LeaseGrade::Contact, "\"contact\"")?;
    is_written(&LeaseGrade::Sync, "\"sync\"")?;
    is_written(&LeaseGrade::Quorum, "\"quorum\"")?;
    is_written(&LeaseMargin::percent(10), "10")?;
    is_refused::<LeaseMargin>("91");
    is_written(&HeartbeatPace::Sixths, "\"sixths\"")?;
    is_written(&OnLoss::StandUntilElected, "\"stand_until_elected\"")?;
    is_written(&ElectionNode::MustExist, "\"must_exist\"")?;
    is_written(&ElectionNode::Create(NodeKind::Container), r#"{"create":"container"}"#)?;
    is_written(&WhileDisconnected::Queue, "\"queue\"")?;
    is_written(&ReadOnlyServers::Accept, "\"accept\"")?;
    is_written(&SilentServers::Endure, "\"endure\"")?;
    is_written(&OnExpiry::Close, "\"close\"")?;
    let limits: Limits = serde_json::from_str(r#"{"max_in_flight":7}"#)?;
    assert_eq!(limits, Limits { max_in_flight: 7, ..Limits::default() });
    is_refused::<Limits>(r#"{"max_in_fligth":7}"#);
    is_written(
        &Limits { max_frame: 1, max_in_flight: 2, max_queued_bytes: 3 },
        r#"{"max_frame":1,"max_in_flight":2,"max_queued_bytes":3}"#,
    )
}

#[test]
fn formats_are_written_by_their_names() -> TestResult {
    is_written(&Format::curator_latch(), "\"curator_latch\"")?;
    is_written(&Format::curator_lock(), "\"curator_lock\"")?;
    is_written(&Format::curator_semaphore(), "\"curator_semaphore\"")?;
    is_written(&Format::curator_read_write(), "\"curator_read_write\"")?;
    is_written(&Format::kazoo(), "\"kazoo\"")?;
    is_written(&Format::go_zookeeper(), "\"go_zookeeper\"")?;
    is_written(&Format::leader_election_support(), "\"leader_election_support\"")?;
    is_written(&Format::go_leaderelection(), "\"go_leaderelection\"")?;
    is_written(&Format::zk_election(), "\"zk_election\"")?;
    is_written(&Format::zookeeper_write_lock(), "\"zookeeper_write_lock\"")?;
    let dashed: Format = serde_json::from_str("\"curator-latch\"")?;
    assert_eq!(dashed, Format::curator_latch());
    is_refused::<Format>("\"curator\"");
    Ok(())
}

fn status(role: Role) -> Status {
    let mut status = Status::new();
    status.role = role;
    status
}

#[test]
fn statuses_keep_their_form() -> TestResult {
    let role = |role: Role, json: &str| {
        let json = format!(r#"{{"role":{json},"candidate":null,"session":null}}"#);
        is_written(&status(role), &json)
    };
    role(Role::Connecting, "\"connecting\"")?;
    role(Role::Standing, "\"standing\"")?;
    role(Role::Leaving, "\"leaving\"")?;
    let token = Token::new(7);
    role(Role::Leading { token }, r#"{"leading":{"token":7}}"#)?;
    role(Role::Suspended { token, valid_until: None }, r#"{"suspended":{"token":7}}"#)?;
    let name = CandidateName::parse(CANDIDATE)?;
    role(
        Role::Following { predecessor: name.clone(), previous: None, leader: name.clone() },
        &format!(
            r#"{{"following":{{"predecessor":"{CANDIDATE}","previous":null,"leader":"{CANDIDATE}"}}}}"#
        ),
    )?;
    let outlook = election_tokio::lease::LeaseOutlook::AwaitsProof;
    role(Role::AwaitingLease { outlook }, r#"{"awaiting_lease":{"outlook":"awaits_proof"}}"#)?;
    let mut leading = status(Role::Leading { token });
    (leading.candidate, leading.session) = (Some(name), Some(SessionId::new(1)));
    is_written(
        &leading,
        &format!(
            r#"{{"role":{{"leading":{{"token":7}}}},"candidate":"{CANDIDATE}","session":"0x0000000000000001"}}"#
        ),
    )
}

#[test]
fn reasons_keep_their_form() -> TestResult {
    use election_tokio::election::Departure;
    use election_tokio::session::Expiry;
    is_written(&EndReason::Resigned(Departure::Deleted), r#"{"resigned":"deleted"}"#)?;
    is_written(&EndReason::Withdrawn(Departure::NeverCreated), r#"{"withdrawn":"never_created"}"#)?;
    is_written(&EndReason::Lost(LostReason::Evicted), r#"{"lost":"evicted"}"#)?;
    is_written(
        &EndReason::Failed(NominationError::Rejected(-102)),
        r#"{"failed":{"rejected":-102}}"#,
    )?;
    is_written(&LostReason::SteppedDown, "\"stepped_down\"")?;
    is_written(&Cause::LeaseLapsed, "\"lease_lapsed\"")?;
    let replaced = SessionEnd::Expired(Expiry::Replaced(SessionId::new(2)));
    is_written(
        &LostReason::ClientClosed(replaced),
        r#"{"client_closed":{"expired":{"replaced":"0x0000000000000002"}}}"#,
    )?;
    is_written(&SessionEnd::AuthFailed(ErrorCode::AUTH_FAILED), r#"{"auth_failed":-115}"#)?;
    is_written(&SessionEnd::Closed, "\"closed\"")
}
