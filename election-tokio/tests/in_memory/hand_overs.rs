//! Leaderships that are handed over to a candidate.

use core::time::Duration;

use election_tokio::election::{
    CancelReason, Cancelled, HandOver, HandOverError, Leadership, LostReason, Nomination, TermEnd,
    WhenAsked, WhenPromoted,
};
use election_tokio::error::Place;
use election_tokio::format::Format;
use election_tokio::{Client, Token};

use tokio::time::Instant;

use crate::server::{Server, settle, wait};

const ELECTION: &str = "/election";
/// Longer than the nominees' look intervals.
const WITHIN: Duration = Duration::from_secs(300);

/// Returns nominees in their order, each by a client of its own, and the first one's leadership.
async fn queue(
    server: &Server,
    when_asked: &[WhenAsked],
) -> (Vec<(Client, Nomination)>, Leadership) {
    queue_of(server, when_asked, WhenPromoted::WakesNext).await
}

async fn queue_of(
    server: &Server,
    when_asked: &[WhenAsked],
    when_promoted: WhenPromoted,
) -> (Vec<(Client, Nomination)>, Leadership) {
    let mut queue = Vec::new();
    for when_asked in when_asked {
        let client = server.client().await;
        let election = client.election(ELECTION).when_asked(*when_asked);
        let election = election.when_promoted(when_promoted);
        queue.push((client.clone(), election.nominate().unwrap()));
        settle().await;
    }
    let leadership = queue[0].1.elected().await.unwrap();
    (queue, leadership)
}

async fn tokens(client: &Client) -> Vec<Token> {
    let candidates = client.election(ELECTION).candidates().await.unwrap();
    candidates.into_iter().map(|candidate| candidate.token).collect()
}

#[tokio::test(start_paused = true)]
async fn those_between_stand_behind_the_candidate_that_leads_next() {
    let server = Server::new();
    let (mut queue, leadership) = queue(&server, &[WhenAsked::StandsBehind; 5]).await;
    let before = tokens(&queue[0].0).await;
    let watches = server.watches();
    let to = before[3];
    let operator = server.client().await;
    let asking = tokio::spawn(async move {
        operator.election(ELECTION).hand_over(to, "ops", "a larger machine", WITHIN).await
    });
    let request = leadership.step_down_requested().await.unwrap();
    assert_eq!((request.by.as_str(), request.to), ("ops", Some(to)));
    assert_eq!(leadership.hand_over(to, WITHIN).await, Ok(HandOver::To(to)));
    assert_eq!(leadership.lost().await, LostReason::SteppedDown);
    let elected = tokio::time::timeout(WITHIN, queue[3].1.elected()).await;
    let next = elected.expect("the next one leads").unwrap();
    assert_eq!(next.token(), to);
    assert!(next.token() > leadership.token());
    assert_eq!(asking.await.unwrap(), Ok(HandOver::To(to)));
    wait(200).await;
    let after = tokens(&queue[0].0).await;
    assert_eq!((after[0], after[1]), (to, before[4]), "{before:?}");
    assert_eq!(after.len(), 5, "the others stand behind: {after:?}");
    assert!(server.watches() <= watches + 5, "none is left");
    let marks = server.children(ELECTION).into_iter().filter(|name| name.starts_with("hand-over"));
    assert_eq!(marks.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn one_that_stays_keeps_the_leadership_from_being_handed_over() {
    let server = Server::new();
    let asked = [WhenAsked::StandsBehind, WhenAsked::StandsBehind, WhenAsked::Stays];
    let (queue, leadership) = queue(&server, &[&asked[..], &asked[..1]].concat()).await;
    let before = tokens(&queue[0].0).await;
    let refused = HandOver::Refused { by: vec![before[2]] };
    assert_eq!(leadership.hand_over(before[3], WITHIN).await, Ok(refused));
    assert!(leadership.is_valid(), "it leads on");
    // The leader was not asked whether it consents, and did not.
    let operator = server.client().await;
    let election = operator.election(ELECTION);
    let refused = HandOver::Refused { by: vec![before[0], before[2]] };
    assert_eq!(election.hand_over(before[3], "ops", "", WITHIN).await, Ok(refused));
    assert!(leadership.is_valid(), "it leads on");
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_goes_is_not_handed_over_to() {
    let server = Server::new();
    let asked = [WhenAsked::StandsBehind, WhenAsked::Stays, WhenAsked::StandsBehind];
    let (mut queue, leadership) = queue(&server, &asked).await;
    let candidate = queue[0].0.election(ELECTION).candidates().await.unwrap().remove(2);
    let (to, name) = (candidate.token, candidate.name);
    let at = || Place::new("election", ELECTION, "hand over");
    let gone = HandOverError::CandidateGone { at: at(), token: to, name: name.clone() };
    let text = format!(
        "election {ELECTION}, hand over: the candidate {name}, with the token {to}, has gone"
    );
    assert_eq!(gone.to_string(), text);
    let operator = server.client().await;
    let watches = server.watches();
    let election = operator.election(ELECTION);
    let asking = tokio::spawn(async move {
        let start = Instant::now();
        (election.hand_over(to, "ops", "", WITHIN).await, start.elapsed())
    });
    let (_, last) = queue.pop().unwrap();
    let going = tokio::spawn(async move {
        wait(20).await;
        last.withdraw().await
    });
    let start = Instant::now();
    assert_eq!(leadership.hand_over(to, WITHIN).await, Err(gone.clone()));
    let soon = Duration::from_secs(21);
    assert!(start.elapsed() < soon, "the leader is told at once: {:?}", start.elapsed());
    going.await.unwrap().unwrap();
    let (asked, after) = asking.await.unwrap();
    assert_eq!(asked, Err(gone));
    assert!(after < soon, "and so is the client that asks: {after:?}");
    settle().await;
    assert!(server.watches() <= watches, "no watch is left");
    assert!(leadership.is_valid(), "it leads on");

    let none = Err(HandOverError::NoCandidate { at: at(), token: to });
    assert_eq!(leadership.hand_over(to, WITHIN).await, none);
    let election = queue[0].0.election(ELECTION);
    assert_eq!(election.hand_over(to, "ops", "", WITHIN).await, none);
    let own = leadership.token();
    assert_eq!(
        leadership.hand_over(own, WITHIN).await,
        Err(HandOverError::LeadsAlready { at: at() })
    );
    let refused = election.hand_over(own, "ops", "", WITHIN).await;
    assert_eq!(refused, Err(HandOverError::LeadsAlready { at: at() }));
    let foreign = election.format(Format::kazoo()).hand_over(own, "ops", "", WITHIN).await;
    assert_eq!(foreign, Err(HandOverError::ForeignFormat { at: at() }));
}

/// The leader does not heed the request, so only the watch on the candidate tells.
#[tokio::test(start_paused = true)]
async fn a_candidate_that_is_evicted_ends_the_question_for_it() {
    let server = Server::new();
    let (queue, leadership) = queue(&server, &[WhenAsked::StandsBehind; 3]).await;
    let to = tokens(&queue[0].0).await[2];
    let operator = server.client().await.election(ELECTION);
    let start = Instant::now();
    let asking = tokio::spawn({
        let operator = operator.clone();
        async move { operator.hand_over(to, "ops", "", WITHIN).await }
    });
    wait(1).await;
    operator.evict(to).await.unwrap();
    let asked = asking.await.unwrap();
    let is_gone = |error: &HandOverError| matches!(error, HandOverError::CandidateGone { token, .. } if *token == to);
    assert!(asked.as_ref().is_err_and(is_gone), "{asked:?}");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert!(leadership.is_valid(), "it leads on");
}

/// Whichever request of the client is lost with the connection.
#[tokio::test(start_paused = true)]
async fn a_candidate_that_goes_is_missed_over_no_lost_connection() {
    let mut told = 0;
    for frames in 0..30 {
        let server = Server::new();
        let (mut queue, _leadership) = queue(&server, &[WhenAsked::StandsBehind; 3]).await;
        let to = tokens(&queue[0].0).await[2];
        let operator = server.client().await.election(ELECTION);
        server.read_only_next(frames);
        let asking =
            tokio::spawn(async move { operator.hand_over(to, "ops", "", 10 * WITHIN).await });
        settle().await;
        server.refuse();
        server.cut();
        server.read_freely();
        settle().await;
        server.accept();
        let (_, last) = queue.pop().unwrap();
        last.withdraw().await.unwrap();
        let asked = tokio::time::timeout(WITHIN, asking).await.expect("it is told").unwrap();
        match asked {
            Err(HandOverError::CandidateGone { token, .. }) if token == to => told += 1,
            // The connection was lost before the leader was asked.
            Err(HandOverError::Request { .. } | HandOverError::NoCandidate { .. }) => {}
            other => panic!("cut after {frames}: {other:?}"),
        }
    }
    assert!(told > 10, "of 30 questions {told} were on their way");
}

/// The nominees ahead look at the mark of the second one, and the first one's is gone.
#[tokio::test(start_paused = true)]
async fn a_hand_over_that_was_given_up_is_replaced_by_the_next() {
    let server = Server::new();
    let asked = [WhenAsked::StandsBehind; 4];
    // Nobody makes way before the next look.
    let (mut queue, leadership) = queue_of(&server, &asked, WhenPromoted::Rests).await;
    let before = tokens(&queue[0].0).await;
    let short = Duration::from_millis(1);
    drop(tokio::time::timeout(short, leadership.hand_over(before[3], WITHIN)).await);
    assert_eq!(leadership.hand_over(before[1], WITHIN).await, Ok(HandOver::To(before[1])));
    assert_eq!(queue[1].1.elected().await.unwrap().token(), before[1]);
    settle().await;
    let marks = server.children(ELECTION).into_iter().filter(|name| name.starts_with("hand-over"));
    assert_eq!(marks.count(), 0);
}

/// The run's work ends first, then its leader steps down.
#[tokio::test(start_paused = true)]
async fn a_run_hands_over_once_its_work_has_ended() {
    let server = Server::new();
    let (mut queue, leadership) = queue(&server, &[WhenAsked::StandsBehind; 3]).await;
    let (client, nomination) = queue.remove(0);
    let to = tokens(&client).await[2];
    let operator = server.client().await;
    let asking = tokio::spawn(async move {
        operator.election(ELECTION).hand_over(to, "ops", "a larger machine", WITHIN).await
    });
    let work = async |_: Leadership, cancelled: Cancelled| {
        let reason = cancelled.wait().await.reason;
        let CancelReason::StepDownRequested(request) = reason else { panic!("{reason:?}") };
        assert_eq!(request.to, Some(to));
        let next = tokens(&client).await;
        assert_eq!(next[1], to, "none is between: {next:?}");
        wait(1).await;
        assert!(leadership.is_valid(), "until the work has ended");
    };
    let shutdown = async {
        let next = queue[1].1.elected().await.unwrap();
        assert_eq!(next.token(), to);
    };
    let report = nomination.run(shutdown, work).await.unwrap();
    let terms: Vec<_> = report.terms.iter().collect();
    assert!(matches!(terms[0].end, TermEnd::SteppedDown(_)), "{terms:?}");
    assert_eq!(asking.await.unwrap(), Ok(HandOver::To(to)));
}

#[tokio::test(start_paused = true)]
async fn a_run_hears_the_request_after_one_that_it_could_not_heed() {
    let server = Server::new();
    let asked = [WhenAsked::StandsBehind, WhenAsked::Stays, WhenAsked::StandsBehind];
    let (mut queue, leadership) = queue(&server, &asked).await;
    let (client, nomination) = queue.remove(0);
    let before = tokens(&client).await;
    let (stays, to) = (before[1], before[2]);
    let operator = server.client().await.election(ELECTION);
    let asking = tokio::spawn(async move {
        let refused = operator.hand_over(to, "ops", "", WITHIN).await;
        operator.request_step_down("ops", "at once", WITHIN).await.unwrap();
        refused
    });
    let work = async |_: Leadership, cancelled: Cancelled| {
        let reason = cancelled.wait().await.reason;
        let CancelReason::StepDownRequested(request) = reason else { panic!("{reason:?}") };
        assert_eq!((request.to, &*request.reason), (None, "at once"));
    };
    let shutdown = async {
        assert_eq!(queue[0].1.elected().await.unwrap().token(), stays);
    };
    let report = nomination.run(shutdown, work).await.unwrap();
    assert_eq!(report.terms.iter().next().unwrap().token, leadership.token());
    let refused = asking.await.unwrap();
    assert!(matches!(&refused, Ok(HandOver::Refused { by }) if by.contains(&stays)), "{refused:?}");
}
