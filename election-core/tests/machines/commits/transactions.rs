//! Transactions, from their beginning to their end.

use election_core::{CommitTask, Decision, NomineeId, SiteName};

use super::client::Errand;
use super::search::explore;
use super::step::Budget;
use super::world::World;

const ID: NomineeId = NomineeId::from_bytes([1; 16]);
const NEXT: NomineeId = NomineeId::from_bytes([2; 16]);

const NO_FAULTS: Budget = Budget {
    losses: 0,
    expiries: 0,
    crashes: 0,
    withdrawals: 0,
    lost_watches: 0,
    throttles: 0,
    refusals: 0,
};

fn site(name: &str) -> SiteName {
    SiteName::new(name).expect("a name")
}

fn sites(count: usize) -> Vec<SiteName> {
    ["a", "b", "c"].iter().take(count).map(|name| site(name)).collect()
}

const fn task(task: CommitTask) -> Errand {
    Errand::Task(task, ID)
}

/// Decides, and removes what is over.
fn coordinator() -> Vec<Errand> {
    vec![task(CommitTask::Decide), task(CommitTask::Finish)]
}

/// Votes so, learns the decision by this task, and acknowledges.
fn votes(site: &SiteName, vote: Decision, learns: CommitTask) -> Vec<Errand> {
    let vote = task(CommitTask::Vote(site.clone(), vote));
    vec![vote, task(learns), task(CommitTask::Acknowledge(site.clone()))]
}

/// Makes a world in which the coordinator alone watches, and tells each site.
fn told(count: usize, budget: Budget) -> World {
    let sites = sites(count);
    let mut world = World::new(ID, &sites, budget).client(None, coordinator());
    for site in &sites {
        let errands = votes(site, Decision::Commit, CommitTask::Learn);
        world = world.client(Some(site), errands);
    }
    world
}

/// Makes a world in which each site watches all others; the last errand is that of a party that
/// cleans up.
fn each(count: usize, budget: Budget) -> World {
    let sites = sites(count);
    let cleans_up = vec![task(CommitTask::Learn), task(CommitTask::Finish)];
    let mut world = World::new(ID, &sites, budget).client(None, cleans_up);
    for site in &sites {
        let errands = votes(site, Decision::Commit, CommitTask::Decide);
        world = world.client(Some(site), errands);
    }
    world
}

/// Makes a world in which the first site votes to abort.
fn with_a_refusal(budget: Budget) -> World {
    let [a, b] = [site("a"), site("b")];
    World::new(ID, &[a.clone(), b.clone()], budget)
        .client(None, coordinator())
        .client(Some(&a), votes(&a, Decision::Abort, CommitTask::Learn))
        .client(Some(&b), votes(&b, Decision::Commit, CommitTask::Learn))
}

/// Makes a world of one site and two coordinators, of which one wants to abort.
fn with_an_aborter(budget: Budget) -> World {
    let a = site("a");
    World::new(ID, core::slice::from_ref(&a), budget)
        .client(None, coordinator())
        .client(None, vec![task(CommitTask::Abort)])
        .client(Some(&a), votes(&a, Decision::Commit, CommitTask::Learn))
}

/// Makes a world in which the next transaction is begun at the same path.
fn one_after_the_other(budget: Budget) -> World {
    let a = site("a");
    let next = Errand::Begin(NEXT, vec![a.clone()]);
    World::new(ID, core::slice::from_ref(&a), budget)
        .client(None, coordinator().into_iter().chain([next]).collect())
        .client(Some(&a), votes(&a, Decision::Commit, CommitTask::Decide))
}

/// Makes a world in which two parties begin a transaction at one path.
fn two_begin(budget: Budget) -> World {
    let errands = |id| {
        let tasks = [CommitTask::Abort, CommitTask::Finish];
        let begin = Errand::Begin(id, sites(2));
        [begin].into_iter().chain(tasks.map(|task| Errand::Task(task, id))).collect()
    };
    World::new(ID, &[], budget).client(None, errands(ID)).client(None, errands(NEXT))
}

/// Makes a world in which the party that begins may lose a reply, and another one may bring the
/// transaction to its end meanwhile.
fn begun_in_doubt(budget: Budget) -> World {
    let ends = [CommitTask::Abort, CommitTask::Finish].map(task);
    let begin = Errand::Begin(ID, sites(1));
    World::new(ID, &[], budget)
        .client(None, [begin].into_iter().chain(ends.clone()).collect())
        .client(None, ends.to_vec())
}

/// Makes a world in which two parties remove a transaction, and one begins the next.
fn two_finish(budget: Budget) -> World {
    let ends = [CommitTask::Abort, CommitTask::Finish].map(task);
    let next = Errand::Begin(NEXT, sites(1));
    World::new(ID, &sites(1), budget)
        .client(None, ends.clone().into_iter().chain([next]).collect())
        .client(None, ends.to_vec())
}

/// Makes a world with a site that has voted to commit, and wants to abort.
fn with_a_second_thought(budget: Budget) -> World {
    let a = site("a");
    let mut errands = votes(&a, Decision::Commit, CommitTask::Learn);
    errands.insert(1, task(CommitTask::Vote(a.clone(), Decision::Abort)));
    World::new(ID, core::slice::from_ref(&a), budget)
        .client(None, coordinator())
        .client(Some(&a), errands)
}

/// Makes a world with a site that joins and leaves, and a party that wants to remove the
/// transaction.
fn one_comes_and_goes(budget: Budget) -> World {
    let a = site("a");
    World::new(ID, core::slice::from_ref(&a), budget)
        .client(None, [CommitTask::Abort, CommitTask::Finish].map(task).to_vec())
        .client(Some(&a), vec![task(CommitTask::Find)])
}

#[test]
fn one_site_is_told() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    explore("1 site, told, 1 loss", told(1, budget));
}

#[test]
fn one_site_is_killed() {
    let budget = Budget { crashes: 1, ..NO_FAULTS };
    explore("1 site, told, 1 killed", told(1, budget));
}

#[test]
fn one_session_expires() {
    let budget = Budget { expiries: 1, ..NO_FAULTS };
    explore("1 site, told, 1 expiry", told(1, budget));
}

#[test]
fn one_gives_up() {
    let budget = Budget { withdrawals: 1, lost_watches: 1, throttles: 1, ..NO_FAULTS };
    let name = "1 site, told, 1 withdrawal, 1 watch lost, 1 throttle";
    explore(name, told(1, budget).lagging(0));
}

/// As with an access list that is changed for a while, or a connection without its identity.
#[test]
fn a_site_whose_deletion_is_refused_is_gone_in_the_end() {
    let budget = Budget { refusals: 2, losses: 1, ..NO_FAULTS };
    let name = "1 comes and goes, 2 refusals, 1 loss";
    explore(name, one_comes_and_goes(budget).lagging(0));
    let budget = Budget { refusals: 1, expiries: 1, throttles: 1, ..NO_FAULTS };
    let name = "1 comes and goes, 1 refusal, 1 expiry, 1 throttle";
    explore(name, one_comes_and_goes(budget).lagging(0));
}

#[test]
fn a_site_that_comes_again_is_not_removed_by_itself() {
    let budget = Budget { refusals: 1, withdrawals: 1, ..NO_FAULTS };
    explore("1 site, told, 1 refusal, 1 withdrawal", told(1, budget).lagging(0));
    let budget = Budget { withdrawals: 1, losses: 1, ..NO_FAULTS };
    explore("1 site, told, 1 withdrawal, 1 loss", told(1, budget).lagging(0));
}

#[test]
fn two_sites_are_told() {
    explore("2 sites, told", told(2, NO_FAULTS).lagging(0));
}

#[test]
fn a_site_watches() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    explore("1 site, each watches, 1 loss", each(1, budget).lagging(0));
}

#[test]
fn a_site_refuses() {
    explore("2 sites, 1 refuses", with_a_refusal(NO_FAULTS).lagging(0));
}

#[test]
fn two_decide() {
    explore("1 site, 1 wants to abort", with_an_aborter(NO_FAULTS));
}

#[test]
fn a_list_comes_in_the_middle_of_a_transaction() {
    explore("1 site, part by part", told(1, NO_FAULTS).part_by_part().lagging(5));
}

#[test]
fn a_transaction_follows_another() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    explore("1 after 1, 1 loss", one_after_the_other(budget).lagging(0));
}

#[test]
fn a_beginning_in_doubt_is_not_made_again() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    explore("1 begins, 1 ends it, 1 loss", begun_in_doubt(budget));
}

#[test]
fn two_finish_and_one_begins_the_next() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    explore("2 finish, 1 begins the next, 1 loss", two_finish(budget));
}

#[test]
fn a_site_that_has_voted_wants_to_abort() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    explore("1 site with a second thought, 1 loss", with_a_second_thought(budget));
}

#[test]
fn two_begin_at_one_path() {
    let budget = Budget { losses: 1, ..NO_FAULTS };
    explore("2 begin, 1 loss", two_begin(budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_one_site() {
    let budget = Budget { losses: 1, crashes: 1, ..NO_FAULTS };
    explore("1 site, told, 1 loss, 1 killed", told(1, budget));
    let budget = Budget { losses: 1, expiries: 1, withdrawals: 1, ..NO_FAULTS };
    explore("1 site, told, 1 loss, 1 expiry, 1 withdrawal", told(1, budget));
    let budget = Budget { losses: 2, lost_watches: 1, throttles: 1, ..NO_FAULTS };
    explore("1 site, told, 2 losses, 1 watch lost, 1 throttle", told(1, budget));
    let budget = Budget { losses: 1, ..NO_FAULTS };
    explore("1 site, part by part, 1 loss", told(1, budget).part_by_part().lagging(5));
    explore("1 site, 1 wants to abort, 1 loss", with_an_aborter(budget));
    explore("1 after 1, 1 loss, lag of 1", one_after_the_other(budget));
    let budget = Budget { losses: 2, expiries: 1, ..NO_FAULTS };
    explore("2 begin, 2 losses, 1 expiry", two_begin(budget));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_two_sites() {
    explore("2 sites, told, lag of 1", told(2, NO_FAULTS));
    let budget = Budget { crashes: 1, ..NO_FAULTS };
    explore("2 sites, told, 1 killed", told(2, budget).lagging(0));
    let budget = Budget { losses: 1, ..NO_FAULTS };
    explore("2 sites, told, 1 loss", told(2, budget).lagging(0));
    let budget = Budget { expiries: 1, ..NO_FAULTS };
    explore("2 sites, 1 refuses, 1 expiry", with_a_refusal(budget).lagging(0));
}

#[test]
#[ignore = "long form: run with --release"]
fn long_each_watches() {
    explore("2 sites, each watches", each(2, NO_FAULTS).lagging(0));
    let budget = Budget { losses: 1, crashes: 1, ..NO_FAULTS };
    explore("1 site, each watches, 1 loss, 1 killed", each(1, budget));
}
