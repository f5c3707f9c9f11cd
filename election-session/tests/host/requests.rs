//! The requests of recipes, and the answers that the recipes hear.

use std::sync::Arc;

use election_core::{Change, Failure, Phase, Watch};
use election_session::{Chroot, RecipeKey, Site};
use zk_jute::ErrorCode;

use crate::lab::Lab;
use crate::puppet::{Fed, Order, Puppet};
use crate::server::Answers;

/// Makes a host with a recipe that has heard of its session.
fn standing() -> (Lab<Puppet>, RecipeKey) {
    let mut lab = Lab::new();
    lab.server.put("/e/other", "");
    let key = lab.stand(Puppet::new());
    assert_eq!(lab.fed(key), [Fed::Connected]);
    (lab, key)
}

#[test]
fn all_that_a_recipe_asks_for_is_below_the_chroot() {
    for order in [
        Order::Create("a"),
        Order::CreateNode,
        Order::Barrier,
        Order::List,
        Order::Read("a", Watch::None),
        Order::Read("a", Watch::Other),
        Order::Exists("a"),
        Order::Write("a", b"data"),
        Order::Delete("a"),
    ] {
        let mut lab = Lab::new();
        let chroot = Chroot::new("/app").expect("a path");
        let key = lab.stand_with(Puppet::new(), |_| Site::new(&"/e".parse().unwrap(), &chroot));
        lab.server.requests.clear();
        lab.order(key, order);
        let requests = core::mem::take(&mut lab.server.requests);
        assert!(!requests.is_empty(), "{order:?}");
        assert!(requests.iter().all(|(_, path)| path.starts_with("/app/e")), "{requests:?}");
    }
}

/// What would be beside the chroot is not asked for.
#[test]
fn nothing_that_a_recipe_at_the_chroot_asks_for_is_outside_of_it() {
    let chroot = Chroot::new("/app").expect("a path");
    let rejected = Failure::Rejected(ErrorCode::BAD_ARGUMENTS.get());
    for order in
        [Order::Exists(".go"), Order::CheckAndDelete(".go"), Order::Create("a"), Order::List]
    {
        let mut lab = Lab::new();
        lab.server.put("/app", "");
        let key = lab.stand_with(Puppet::new(), |_| Site::new(&"/".parse().unwrap(), &chroot));
        lab.fed(key);
        lab.server.requests.clear();
        lab.order(key, order);
        let requests = core::mem::take(&mut lab.server.requests);
        if let Order::Exists(_) | Order::CheckAndDelete(_) = order {
            assert_eq!(requests, [], "{order:?}");
            assert_eq!(lab.fed(key), [Fed::Deadline, Fed::Reply(Err(rejected))], "{order:?}");
        } else {
            let is_within = |path: &str| path == "/app" || path.starts_with("/app/");
            assert!(!requests.is_empty(), "{order:?}");
            assert!(requests.iter().all(|(_, path)| is_within(path)), "{requests:?}");
        }
    }
}

#[test]
fn a_recipe_hears_of_what_could_not_be_sent() {
    const LONG: &[u8] = &[0; 2 * 1024 * 1024];
    let (mut lab, key) = standing();
    lab.asked();
    lab.order(key, Order::Write("other", LONG));
    assert_eq!(lab.asked(), []);
    assert_eq!(lab.fed(key), [Fed::Deadline, Fed::Reply(Err(Failure::TooLarge))]);
}

/// A recipe that is leaving goes on while the session is being closed, and can ask for nothing
/// more.
#[test]
fn a_recipe_hears_of_a_list_that_could_not_be_sent() {
    let (mut lab, key) = standing();
    lab.puppet(key).phase = Phase::Leaving;
    lab.server.answers = Answers::Held;
    lab.host.close(lab.now);
    lab.order(key, Order::List);
    assert_eq!(lab.fed(key), [Fed::Deadline, Fed::Reply(Err(Failure::ConnectionLoss))]);
}

/// Servers execute the requests in order, and that for the node is the last.
#[test]
fn only_the_reply_for_the_node_itself_is_told() {
    let (mut lab, _) = standing();
    let site = Site::new(&"/x/y/e".parse().unwrap(), &Chroot::default());
    let key = lab.host.stand(lab.now, Puppet::new(), Arc::new(site));
    lab.run();
    lab.fed(key);
    lab.order(key, Order::CreateNode);
    assert_eq!(lab.asked().len(), 3);
    assert_eq!(lab.fed(key), [Fed::Deadline, Fed::Reply(Ok(()))]);
}

/// The creation of the outermost znode shows it, and the reply for the node reports it.
#[test]
fn a_missing_chroot_is_reported_once_at_any_depth() {
    let chroot = Chroot::new("/none").expect("a path");
    for path in ["/e", "/x/e", "/x/y/e"] {
        let (mut lab, _) = standing();
        let site = Site::new(&path.parse().unwrap(), &chroot);
        let key = lab.host.stand(lab.now, Puppet::new(), Arc::new(site));
        lab.run();
        lab.fed(key);
        lab.order(key, Order::CreateNode);
        let fed = [Fed::Deadline, Fed::Reply(Err(Failure::NoChroot))];
        assert_eq!(lab.fed(key), fed, "{path}");
        lab.server.put("/none", "");
        lab.order(key, Order::CreateNode);
        assert_eq!(lab.fed(key), [Fed::Deadline, Fed::Reply(Ok(()))], "{path}");
    }
}

/// Between the creations of the ancestors and that of the node.
#[test]
fn an_ancestor_that_is_deleted_meanwhile_is_no_missing_chroot() {
    let (mut lab, _) = standing();
    let site = Site::new(&"/x/y/e".parse().unwrap(), &Chroot::default());
    let key = lab.host.stand(lab.now, Puppet::new(), Arc::new(site));
    lab.run();
    lab.fed(key);
    lab.server.reaped = Some("/x/y");
    lab.order(key, Order::CreateNode);
    assert_eq!(lab.fed(key), [Fed::Deadline, Fed::Reply(Err(Failure::NoNode))]);
}

/// Both come in before the host is asked what came of them.
#[test]
fn a_list_is_told_before_what_came_in_behind_it() {
    let (mut lab, key) = standing();
    lab.order(key, Order::Read("other", Watch::Other));
    lab.server.answers = Answers::Held;
    lab.order(key, Order::List);
    lab.server.put("/e/other", "changed");
    lab.fed(key);
    lab.server.answers = Answers::Sent;
    while let Some(frame) = lab.server.answer() {
        lab.host.handle_frame(lab.now, frame);
    }
    lab.run();
    assert_eq!(lab.fed(key), [Fed::Children(1), Fed::Changed(Change::Data)]);
}
