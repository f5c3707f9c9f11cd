//! The moments at which a nominee verifies its own znode, and watches it.

use super::*;

const THIRD: &str = "_c_33333333-3333-3333-3333-333333333333-latch-0000000002";

impl Script {
    /// Makes a script with a created candidate, by a server that replies with the metadata.
    pub(super) fn created_with_stat() -> Self {
        let mut script = Self::connected();
        script.answer(Ok(Reply::Created { name: OWN, stat: Some(stat(SESSION, 50)) }));
        assert_eq!(script.asked, "list");
        script
    }

    /// Makes a script of the heir, which watches its predecessor.
    fn heir() -> Self {
        let mut script = Self::created_with_stat();
        script.list(&[OTHER, OWN]);
        assert_eq!(script.asked, format!("read {OTHER}"));
        script
    }
}

/// Three requests, of which it waits for two.
#[test]
fn a_nominee_that_is_free_leads_by_the_list_and_is_watched_then() {
    let mut script = Script::created_with_stat();
    script.list(&[OWN]);
    let elected = Some(Notice::Elected(Token::new(50)));
    assert_eq!((script.asked.as_str(), script.notice), (format!("read {OWN}").as_str(), elected));
    assert_eq!(script.nominee.role(), Role::Leading { token: Token::new(50) });
    assert_eq!(script.nominee.heartbeat(), Some(Znode::child(OWN)));
    script.answer(Ok(read(SESSION, 50)));
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
}

/// By a server that lags.
#[test]
fn a_candidate_that_is_gone_when_it_is_to_be_watched_leads_no_longer() {
    for gone in [Err(Failure::NoNode), Ok(read(SESSION, 51)), Ok(read(NEXT_SESSION, 50))] {
        let mut script = Script::created_with_stat();
        script.list(&[OWN]);
        script.answer(gone);
        assert_eq!(script.notice, Some(Notice::Lost(Cause::Evicted)));
        assert_eq!(script.asked, "exists ended");
    }
}

/// Three requests until it follows; one more, that its promotion does without.
#[test]
fn an_heir_is_watched_and_leads_without_a_request() {
    let mut script = Script::heir();
    let predecessor = script.ticket.unwrap();
    script.answer(Ok(read(NEXT_SESSION, 20)));
    assert_eq!(script.notice, Some(Notice::Following));
    assert_eq!(script.asked, format!("read {OWN}"));
    script.answer(Ok(read(SESSION, 50)));
    assert_eq!((script.asked.as_str(), script.notice), ("", None));
    script.feed(Event::Changed { ticket: predecessor, change: Change::Deleted });
    assert_eq!((script.asked.as_str(), script.notice), ("", Some(Notice::Elected(Token::new(50)))));
}

#[test]
fn a_predecessor_that_goes_before_the_heir_is_watched_makes_way_without_a_list() {
    let mut script = Script::heir();
    let predecessor = script.ticket.unwrap();
    script.answer(Ok(read(NEXT_SESSION, 20)));
    assert_eq!(script.asked, format!("read {OWN}"));
    script.feed(Event::Changed { ticket: predecessor, change: Change::Deleted });
    assert_eq!((script.asked.as_str(), script.notice), ("", None), "the read is on its way");
    script.answer(Ok(read(SESSION, 50)));
    assert_eq!((script.asked.as_str(), script.notice), ("", Some(Notice::Elected(Token::new(50)))));
}

/// Three requests to join; and by the next look it knows what became of its candidate.
#[test]
fn a_follower_is_watched_from_its_first_look_on() {
    let mut script = Script::created_with_stat();
    script.list(&[THIRD, OTHER, OWN]);
    script.answer(Ok(read(NEXT_SESSION, 20)));
    assert_eq!((script.asked.as_str(), script.notice), ("", Some(Notice::Following)));

    let mut evicted = Script { nominee: script.nominee.clone(), asked: String::new(), ..script };
    evicted.feed(Event::Look);
    assert_eq!(evicted.asked, format!("read {OWN}"));
    evicted.answer(Err(Failure::NoNode));
    assert_eq!(evicted.notice, Some(Notice::CandidateLost(Cause::Evicted)));

    script.feed(Event::Look);
    script.answer(Ok(read(SESSION, 50)));
    assert_eq!(script.asked, "list");
    script.list(&[THIRD, OTHER, OWN]);
    assert_eq!(script.asked, "");
    script.feed(Event::Look);
    assert_eq!(script.asked, "list", "it is watched");
}

/// An owner that is not this session is looked into, as where the reply says nothing.
#[test]
fn metadata_of_another_session_verifies_nothing() {
    let mut script = Script::connected();
    script.answer(Ok(Reply::Created { name: OWN, stat: Some(stat(NEXT_SESSION, 50)) }));
    assert_eq!(script.asked, format!("read {OWN}"));
}

#[test]
fn a_lost_connection_leaves_nothing_verified() {
    let mut script = Script::created_with_stat();
    script.feed(Event::Disconnected);
    script.feed(Event::Connected { session: SESSION });
    assert_eq!(script.asked, format!("read {OWN}"));
    script.answer(Ok(read(SESSION, 51)));
    assert_eq!(script.notice, Some(Notice::CandidateLost(Cause::Evicted)), "another znode");
}
