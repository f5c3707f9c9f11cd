//! Calls of callers and drivers that come before they have taken the host's events out.

use core::num::NonZeroUsize;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use election_core::election::Nominee;
use election_session::{
    Chroot, Event, IfGone, RecipeEnd, RecipeHost, RecipeKey, Resumption, Settings, Site,
};
use zk_jute::records::{ConnectResponse, GetDataRequest};
use zk_jute::{Encode as _, ErrorCode, ReplyHeader, SessionId, Xid, Zxid};
use zk_session::{Config, Instant, ServerIndex, SessionEnd, TransportCommand};

use crate::lab::{millis, nominee};

type Host = RecipeHost<Nominee, u32, u32>;

const TWO: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1);

fn at(time: u64) -> Instant {
    Instant::since_origin(millis(time))
}

fn settings() -> Settings {
    Settings::new(Config::new(TWO), 7)
}

fn stand(host: &mut Host, now: Instant) -> RecipeKey {
    host.stand(
        now,
        nominee(7),
        Arc::new(Site::new(&"/election".parse().expect("it is a path"), &Chroot::default())),
    )
}

fn events(host: &mut Host, now: Instant) -> Vec<Event<Nominee, u32, u32>> {
    core::iter::from_fn(|| host.poll_event(now)).collect()
}

fn answer(response: ConnectResponse<'_>) -> Bytes {
    let mut frame = BytesMut::new();
    response.encode(&mut frame);
    frame.freeze()
}

fn granted() -> Bytes {
    answer(ConnectResponse {
        protocol_version: 0,
        timeout: 4000,
        session_id: SessionId::new(42),
        password: Some(&[7; 16]),
        read_only: Some(false),
    })
}

/// Opens the transport that the host asks for, and hands in the answer to the handshake.
fn shake_hands(host: &mut Host, now: Instant, answer: Bytes) {
    host.handle_timeout(now);
    assert!(matches!(host.poll_transport(), Some(TransportCommand::Connect(_))));
    host.handle_opened(now);
    host.poll_transmit(&mut BytesMut::new());
    host.handle_frame(now, answer);
}

/// Makes a host that has had a session, and is connecting.
fn connecting(settings: Settings) -> (Host, Instant) {
    let mut host = Host::new(settings, at(0)).expect("it has no identities");
    shake_hands(&mut host, at(1), granted());
    events(&mut host, at(1));
    host.handle_closed(at(2));
    assert_eq!(host.poll_transport(), Some(TransportCommand::Disconnect));
    events(&mut host, at(2));
    let next = host.poll_timeout().expect("it waits");
    (host, next)
}

#[test]
fn a_recipe_that_stands_as_a_session_expires_stands_in_the_next_one() {
    let (mut host, now) = connecting(settings());
    shake_hands(&mut host, now, answer(ConnectResponse::REFUSED));
    assert_eq!(host.ended(), None, "another session follows");
    let key = stand(&mut host, now);
    let told = events(&mut host, now);
    assert!(told.iter().any(|event| matches!(event, Event::Renewed { .. })), "{told:?}");
    assert!(!told.iter().any(|event| matches!(event, Event::Over { .. })), "{told:?}");
    assert!(host.recipe(key).is_some());
}

#[test]
fn what_is_closed_as_its_session_is_found_gone_begins_no_other() {
    let (mut former, now) = connecting(settings());
    let ticket = former.detach(now).unwrap();
    for end in [Host::close, Host::abandon] {
        let mut settings = settings();
        let resumption = Resumption { ticket: ticket.clone(), if_gone: IfGone::StartAnew };
        settings.resumption = Some(Box::new(resumption));
        let mut host = Host::new(settings, now).unwrap();
        let key = stand(&mut host, now);
        shake_hands(&mut host, now, answer(ConnectResponse::REFUSED));
        end(&mut host, now);
        let told = events(&mut host, now);
        let is_over = |event: &Event<_, _, _>| {
            matches!(
                event,
                Event::Over { key: over, end: RecipeEnd::HostEnded(SessionEnd::Expired(_)), .. }
                    if *over == key
            )
        };
        assert!(told.iter().any(is_over), "{told:?}");
        assert!(matches!(told.last(), Some(Event::Ended { .. })), "{told:?}");
        assert_eq!(host.poll_timeout(), None);
    }
}

#[test]
fn a_recipe_that_is_over_is_given_no_more_time() {
    let mut host = Host::new(settings(), at(0)).unwrap();
    host.close(at(0));
    let key = stand(&mut host, at(0));
    host.set_deadline(key, Some(at(5)));
    assert_eq!(events(&mut host, at(0)).len(), 2, "its end, and the host's");
    assert_eq!(host.poll_timeout(), None, "nothing is waited for");
}

/// Places of one list mean other servers in the next one, or none.
#[test]
fn no_server_is_named_of_a_list_that_does_not_count_any_more() {
    for seed in 0..20 {
        let mut host = Host::new(Settings::new(Config::new(TWO), seed), at(0)).unwrap();
        host.handle_timeout(at(0));
        // The driver has not asked for the transport yet.
        host.handle_closed(at(1));
        host.handle_servers(at(1), NonZeroUsize::MIN);
        let first = TransportCommand::Connect(ServerIndex(0));
        assert_eq!(host.poll_transport(), Some(first), "seed {seed}");
        assert_eq!(host.poll_transport(), None);
    }
}

/// An answer that a driver takes at once comes after what the host has to tell and to do.
#[test]
fn an_answer_that_is_taken_at_once_overtakes_nothing() {
    let mut host = Host::new(settings(), at(0)).expect("it has no identities");
    shake_hands(&mut host, at(1), granted());
    events(&mut host, at(1));
    for tag in 1..=3 {
        let request = GetDataRequest { path: "/a", watch: false };
        host.submit(at(2), tag, &request).expect("accepted");
    }
    let take = |host: &mut Host, xid| {
        let mut frame = BytesMut::new();
        let header = ReplyHeader { xid: Xid::new(xid), zxid: Zxid::new(7), error: ErrorCode::OK };
        header.encode(&mut frame);
        host.handle_frame_picking(at(3), frame.freeze()).map(|(tag, _)| tag)
    };
    assert_eq!(take(&mut host, 1), Some(1));
    host.handle_timeout(at(3));
    assert_eq!(take(&mut host, 2), None, "the host has recipes to tell of the time");
    let told = events(&mut host, at(3));
    assert!(matches!(told.as_slice(), [Event::Completed { tag: 2, outcome: Ok(_) }]), "{told:?}");
    assert_eq!(take(&mut host, 3), Some(3));
}
