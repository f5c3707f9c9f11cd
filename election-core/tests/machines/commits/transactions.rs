//! Transactions, from their beginning to their end.

use std::collections::BTreeMap;

use election_core::commit::{CommitTask, Decision, SiteState};

use super::laws::{Course, Errand, Laws, Name, Role, site};
use crate::lab::{Budget, Lab, NONE, Tree, Znode, explore, explore_to_a_limit};

const ID: u8 = 1;
const NEXT: u8 = 2;

const fn task(task: CommitTask) -> Errand {
    Errand::Task(task, ID)
}

/// Makes a world, with a transaction that is begun for so many sites, if there are any.
fn world(begun: u8, (withdrawals, budget): (u8, Budget)) -> Lab<Laws> {
    let mut tree = Tree::new();
    let znode = Znode::new(1, 0);
    if begun > 0 {
        tree.insert(Name::Node, znode);
        tree.insert(Name::State(0, ID), znode);
        tree.extend((0..begun).map(|site| (Name::Site(SiteState::Invited, site), znode)));
    }
    let laws = Laws::new(withdrawals, BTreeMap::from([(ID, begun)]), &tree);
    Lab::new(laws, tree, budget)
}

impl Lab<Laws> {
    fn party(mut self, site: Option<u8>, errands: Vec<Errand>) -> Self {
        for errand in &errands {
            if let Errand::Begin(id, sites) = errand {
                self.model.sites.insert(*id, *sites);
            }
        }
        let role = Role { site, errands };
        let first = role.first();
        self.client(role, Course::At(0), Some(first))
    }
}

/// Decides, and removes what is over.
fn coordinator() -> Vec<Errand> {
    vec![task(CommitTask::Decide), task(CommitTask::Finish)]
}

/// Votes so, learns the decision by this task, and acknowledges.
fn votes(number: u8, vote: Decision, learns: CommitTask) -> Vec<Errand> {
    let vote = task(CommitTask::Vote(site(number), vote));
    vec![vote, task(learns), task(CommitTask::Acknowledge(site(number)))]
}

/// Makes a world in which the coordinator alone watches, and tells each site.
fn told(count: u8, budget: (u8, Budget)) -> Lab<Laws> {
    (0..count).fold(world(count, budget).party(None, coordinator()), |world, site| {
        world.party(Some(site), votes(site, Decision::Commit, CommitTask::Learn))
    })
}

/// Makes a world in which each site watches all others; the last errand is that of a party that
/// cleans up.
fn each(count: u8, budget: (u8, Budget)) -> Lab<Laws> {
    let cleans_up = vec![task(CommitTask::Learn), task(CommitTask::Finish)];
    (0..count).fold(world(count, budget).party(None, cleans_up), |world, site| {
        world.party(Some(site), votes(site, Decision::Commit, CommitTask::Decide))
    })
}

/// Makes a world in which the first site votes to abort.
fn with_a_refusal(budget: (u8, Budget)) -> Lab<Laws> {
    world(2, budget)
        .party(None, coordinator())
        .party(Some(0), votes(0, Decision::Abort, CommitTask::Learn))
        .party(Some(1), votes(1, Decision::Commit, CommitTask::Learn))
}

/// Makes a world of one site and two coordinators, of which one wants to abort.
fn with_an_aborter(budget: (u8, Budget)) -> Lab<Laws> {
    world(1, budget)
        .party(None, coordinator())
        .party(None, vec![task(CommitTask::Abort)])
        .party(Some(0), votes(0, Decision::Commit, CommitTask::Learn))
}

/// Makes a world in which the next transaction is begun at the same path.
fn one_after_the_other(budget: (u8, Budget)) -> Lab<Laws> {
    let next = Errand::Begin(NEXT, 1);
    world(1, budget)
        .party(None, coordinator().into_iter().chain([next]).collect())
        .party(Some(0), votes(0, Decision::Commit, CommitTask::Decide))
}

/// Makes a world in which two parties begin a transaction at one path.
fn two_begin(budget: (u8, Budget)) -> Lab<Laws> {
    let errands = |id| {
        let tasks = [CommitTask::Abort, CommitTask::Finish];
        let begin = Errand::Begin(id, 2);
        [begin].into_iter().chain(tasks.map(|task| Errand::Task(task, id))).collect()
    };
    world(0, budget).party(None, errands(ID)).party(None, errands(NEXT))
}

/// Makes a world in which the party that begins may lose a reply, and another one may bring the
/// transaction to its end meanwhile.
fn begun_in_doubt(budget: (u8, Budget)) -> Lab<Laws> {
    let ends = [CommitTask::Abort, CommitTask::Finish].map(task);
    let begin = Errand::Begin(ID, 1);
    world(0, budget)
        .party(None, [begin].into_iter().chain(ends.clone()).collect())
        .party(None, ends.to_vec())
}

/// Makes a world in which two parties remove a transaction, and one begins the next.
fn two_finish(budget: (u8, Budget)) -> Lab<Laws> {
    let ends = [CommitTask::Abort, CommitTask::Finish].map(task);
    let next = Errand::Begin(NEXT, 1);
    world(1, budget)
        .party(None, ends.clone().into_iter().chain([next]).collect())
        .party(None, ends.to_vec())
}

/// Makes a world with a site that has voted to commit, and wants to abort.
fn with_a_second_thought(budget: (u8, Budget)) -> Lab<Laws> {
    let mut errands = votes(0, Decision::Commit, CommitTask::Learn);
    errands.insert(1, task(CommitTask::Vote(site(0), Decision::Abort)));
    world(1, budget).party(None, coordinator()).party(Some(0), errands)
}

/// Makes a world with a site that joins and leaves, and a party that wants to remove the
/// transaction.
fn one_comes_and_goes(budget: (u8, Budget)) -> Lab<Laws> {
    world(1, budget)
        .party(None, [CommitTask::Abort, CommitTask::Finish].map(task).to_vec())
        .party(Some(0), vec![task(CommitTask::Find)])
}

#[test]
fn one_site_is_told() {
    let budget = (0, Budget { losses: 1, ..NONE });
    explore("1 site, told, 1 loss", told(1, budget));
}

#[test]
fn one_site_is_killed() {
    let budget = (0, Budget { crashes: 1, ..NONE });
    explore("1 site, told, 1 killed", told(1, budget));
}

#[test]
fn one_session_expires() {
    let budget = (0, Budget { expiries: 1, ..NONE });
    explore("1 site, told, 1 expiry", told(1, budget));
}

#[test]
fn one_gives_up() {
    let budget = (1, Budget { lost_watches: 1, throttles: 1, ..NONE });
    let name = "1 site, told, 1 withdrawal, 1 watch lost, 1 throttle";
    explore(name, told(1, budget).lagging(0));
}

/// As with an access list that is changed for a while, or a connection without its identity.
#[test]
fn a_site_whose_deletion_is_refused_is_gone_in_the_end() {
    let budget = (0, Budget { refusals: 2, losses: 1, ..NONE });
    let name = "1 comes and goes, 2 refusals, 1 loss";
    explore(name, one_comes_and_goes(budget).lagging(0));
    let budget = (0, Budget { refusals: 1, expiries: 1, throttles: 1, ..NONE });
    let name = "1 comes and goes, 1 refusal, 1 expiry, 1 throttle";
    explore(name, one_comes_and_goes(budget).lagging(0));
}

#[test]
fn a_site_that_comes_again_is_not_removed_by_itself() {
    let budget = (1, Budget { refusals: 1, ..NONE });
    explore("1 site, told, 1 refusal, 1 withdrawal", told(1, budget).lagging(0));
    let budget = (1, Budget { losses: 1, ..NONE });
    explore("1 site, told, 1 withdrawal, 1 loss", told(1, budget).lagging(0));
}

#[test]
fn two_sites_are_told() {
    explore("2 sites, told", told(2, (0, NONE)).lagging(0));
}

#[test]
fn a_site_watches() {
    let budget = (0, Budget { losses: 1, ..NONE });
    explore("1 site, each watches, 1 loss", each(1, budget).lagging(0));
}

#[test]
fn a_site_refuses() {
    explore("2 sites, 1 refuses", with_a_refusal((0, NONE)).lagging(0));
}

#[test]
fn two_decide() {
    explore("1 site, 1 wants to abort", with_an_aborter((0, NONE)));
}

#[test]
fn a_list_comes_in_the_middle_of_a_transaction() {
    explore("1 site, part by part", told(1, (0, Budget { halves: 4, ..NONE })).lagging(2));
}

#[test]
fn a_transaction_follows_another() {
    let budget = (0, Budget { losses: 1, ..NONE });
    explore("1 after 1, 1 loss", one_after_the_other(budget).lagging(0));
}

#[test]
fn a_beginning_in_doubt_is_not_made_again() {
    let budget = (0, Budget { losses: 1, ..NONE });
    explore("1 begins, 1 ends it, 1 loss", begun_in_doubt(budget));
}

#[test]
fn two_finish_and_one_begins_the_next() {
    let budget = (0, Budget { losses: 1, ..NONE });
    explore("2 finish, 1 begins the next, 1 loss", two_finish(budget));
}

#[test]
fn a_site_that_has_voted_wants_to_abort() {
    let budget = (0, Budget { losses: 1, ..NONE });
    explore("1 site with a second thought, 1 loss", with_a_second_thought(budget));
}

#[test]
fn two_begin_at_one_path() {
    let budget = (0, Budget { losses: 1, ..NONE });
    explore("2 begin, 1 loss", two_begin(budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_one_site() {
    let budget = (0, Budget { losses: 1, crashes: 1, ..NONE });
    explore("1 site, told, 1 loss, 1 killed", told(1, budget));
    let budget = (1, Budget { losses: 1, expiries: 1, ..NONE });
    explore("1 site, told, 1 loss, 1 expiry, 1 withdrawal", told(1, budget));
    let budget = (0, Budget { losses: 2, lost_watches: 1, throttles: 1, ..NONE });
    explore("1 site, told, 2 losses, 1 watch lost, 1 throttle", told(1, budget));
    let budget = (0, Budget { halves: 4, losses: 1, ..NONE });
    explore("1 site, 4 halves, 1 loss", told(1, budget).lagging(2));
    let budget = (0, Budget { losses: 1, ..NONE });
    explore("1 site, 1 wants to abort, 1 loss", with_an_aborter(budget));
    explore("1 after 1, 1 loss, lag of 1", one_after_the_other(budget));
    let budget = (0, Budget { losses: 2, expiries: 1, ..NONE });
    explore("2 begin, 2 losses, 1 expiry", two_begin(budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_sites() {
    explore("2 sites, told, lag of 1", told(2, (0, NONE)));
    let budget = (0, Budget { crashes: 1, ..NONE });
    explore("2 sites, told, 1 killed", told(2, budget).lagging(0));
    let budget = (0, Budget { losses: 1, ..NONE });
    explore("2 sites, told, 1 loss", told(2, budget).lagging(0));
    let budget = (0, Budget { expiries: 1, ..NONE });
    explore("2 sites, 1 refuses, 1 expiry", with_a_refusal(budget).lagging(0));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_half_of_a_transaction_is_shown() {
    let b = (0, Budget { halves: 2, losses: 1, ..NONE });
    explore("1 site, 1 wants to abort, 2 halves, 1 loss", with_an_aborter(b));
    let b = (0, Budget { halves: 1, ..NONE });
    explore("2 sites, told, 1 half", told(2, b));
    explore("2 sites, 1 refuses, 1 half", with_a_refusal(b).lagging(1));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_each_watches() {
    explore("2 sites, each watches", each(2, (0, NONE)).lagging(0));
    let budget = (0, Budget { losses: 1, crashes: 1, ..NONE });
    explore("1 site, each watches, 1 loss, 1 killed", each(1, budget));
}

#[test]
fn each_fault_befalls_a_transaction() {
    let with = |budget| (0, budget);
    let b = with(Budget { halves: 2, losses: 1, ..NONE });
    explore("1 site, told, 2 halves, 1 loss", told(1, b));
    explore("1 site, each watches, 2 halves, 1 loss", each(1, b));
    explore("2 begin, 2 halves, 1 loss", two_begin(b));
    let b = with(Budget { halves: 1, expiries: 1, ..NONE });
    explore("1 site, told, 1 half, 1 expiry", told(1, b));
    let b = with(Budget { halves: 1, crashes: 1, ..NONE });
    explore("1 site, told, 1 half, 1 killed", told(1, b));
    let b = with(Budget { looks: 1, losses: 1, ..NONE });
    explore("1 site, told, 1 look, 1 loss", told(1, b));
    let b = with(Budget { looks: 2, throttles: 1, ..NONE });
    explore("1 site, each watches, 2 looks, 1 throttle", each(1, b));
    let b = with(Budget { dropped_watches: 2, losses: 1, ..NONE });
    explore("1 site, told, 2 watches dropped, 1 loss", told(1, b));
    for (what, budget) in [
        ("held back", Budget { held_back: 1, throttles: 1, losses: 1, ..NONE }),
        ("too large", Budget { too_large: 1, losses: 1, ..NONE }),
    ] {
        explore(&format!("1 site, told, 1 {what}, 1 loss"), told(1, with(budget)));
        explore(&format!("1 site, each watches, 1 {what}, 1 loss"), each(1, with(budget)));
        explore(&format!("2 begin, 1 {what}, 1 loss"), two_begin(with(budget)));
    }
    let b = with(Budget { lies: 1, ..NONE });
    explore("1 site, told, 1 lie", told(1, b));
    explore("1 site, each watches, 1 lie", each(1, b));
    explore("1 after 1, 1 lie", one_after_the_other(b));
    explore("2 finish, 1 begins the next, 1 lie", two_finish(b));
    let b = with(Budget { swaps: 1, losses: 1, ..NONE });
    explore("1 site, told, 1 swap, 1 loss", told(1, b));
    let b = with(Budget { stragglers: 1, losses: 1, ..NONE });
    explore("1 site, told, 1 straggler, 1 loss", told(1, b));
    explore("2 begin, 1 straggler, 1 loss", two_begin(b));
}

/// A party that was told of a decision by half of a transaction asks an older server next; the same in a local session
/// that begins at an older server.
#[test]
fn a_party_that_was_told_of_a_decision_is_not_told_that_there_is_none() {
    let b = (0, Budget { halves: 2, losses: 1, ..NONE });
    explore("1 begins, 1 ends it, 2 halves, 1 loss", begun_in_doubt(b));
    explore("1 after 1, 2 halves, 1 loss", one_after_the_other(b));
    explore("2 finish, 1 begins the next, 2 halves, 1 loss", two_finish(b));
    explore("second thought, 2 halves, 1 loss", with_a_second_thought(b));
    let b = (0, Budget { expiries: 1, ..NONE });
    explore("1 site, told, 1 expiry, local sessions", told(1, b).with_local_sessions());
}

/// The request of a session that was given up is executed after both parties have found nothing.
#[test]
fn what_an_earlier_session_begins_may_stay() {
    let limit = |name, lab| explore_to_a_limit(name, "something is left", lab);
    let b = (0, Budget { lies: 1, ..NONE });
    limit("1 begins, 1 ends it, 1 lie", begun_in_doubt(b));
    limit("2 begin, 1 lie", two_begin(b));
}

/// Worlds that count as one are alike.
#[test]
fn worlds_are_merged_by_right() {
    let budget = Budget { losses: 1, expiries: 1, halves: 1, throttles: 1, ..NONE };
    crate::lab::holds_against_unmerged(told(1, (1, budget)), 20_000);
}
