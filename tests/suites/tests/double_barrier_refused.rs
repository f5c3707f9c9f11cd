//! Double barriers whose participants lack a permission: a call ends with the server's refusal, and
//! leaves no entry for which the others would wait.
#![forbid(unsafe_code)]

use core::time::Duration;

use election_tokio::{Acls, Client, CreateMode, DoubleBarrier, Entered, Version, acl::Permissions};
use tokio::task::JoinSet;
use zk_test_kit::election::{Arena, LASTING, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test]
    who_may_not_open_a_round_is_told_so,
    who_may_not_end_a_round_is_told_so,
    who_may_not_list_the_others_when_it_leaves_leaves_no_entry,
    who_may_not_delete_its_entry_for_a_while_deletes_it_then,
    a_client_that_owes_an_entry_closes_at_once;
}

const BARRIER: &str = "/barrier";
/// All but to write to the node, by which rounds are opened and ended.
const ENTER_AND_LEAVE: Permissions = Permissions::new(
    Permissions::READ.get() | Permissions::CREATE.get() | Permissions::DELETE.get(),
);

/// All but to delete entries.
const WITHOUT_DELETIONS: Permissions = Permissions::new(
    Permissions::READ.get() | Permissions::CREATE.get() | Permissions::WRITE.get(),
);
/// How often the participants look: longer than it takes to restore the access list.
const LOOK: Duration = Duration::from_secs(1);

/// A barrier whose access list the owner replaces, and two participants that are strangers to the owner.
struct Ground {
    arena: Arena,
    owner: Client,
    clients: [Client; 2],
}

impl Ground {
    async fn new(server: ServerKind, permissions: Permissions) -> Result<Self, TestFailure> {
        let arena = Arena::new(server, "refused").await?;
        let owner = Client::builder(&arena.servers()).auth("digest", b"owner:secret");
        let owner = owner.session_timeout(LASTING).connect_timeout(SOON).connect().await?;
        owner.create_with_acl(BARRIER, "", CreateMode::Persistent, &acls(permissions)).await?;
        let client = async || {
            let builder = Client::builder(&arena.servers()).session_timeout(LASTING);
            builder.look_interval(LOOK).connect_timeout(SOON).connect().await
        };
        let clients = [client().await?, client().await?];
        Ok(Self { arena, owner, clients })
    }

    async fn permit(&self, permissions: Permissions) -> TestResult {
        let list = acls(permissions);
        Ok(self.owner.set_acl(BARRIER, &list, Version::ANY).await.map(drop)?)
    }

    fn barriers(&self) -> [DoubleBarrier; 2] {
        self.clients.each_ref().map(|client| client.double_barrier(BARRIER, 2))
    }

    async fn entered(&self) -> Result<(Entered, Entered), TestFailure> {
        let [one, other] = self.barriers();
        let entered =
            soon("both enter", async { tokio::join!(one.enter(), other.enter()) }).await?;
        Ok((entered.0?, entered.1?))
    }

    /// No entry is left, although both clients live on.
    async fn no_entry_is_left(&self) -> TestResult {
        let is_left = async || {
            let children = self.owner.get_children(BARRIER).await;
            children.is_ok_and(|children| children.iter().all(|name| name == "ready"))
        };
        eventually_async(SOON, "no entry is left", is_left).await?;
        for client in &self.clients {
            client.exists("/").await?;
        }
        self.arena.admin.exists("/").await?;
        Ok(())
    }
}

fn acls(permissions: Permissions) -> Acls {
    Acls::creator_all().world(permissions)
}

async fn who_may_not_open_a_round_is_told_so(server: ServerKind) -> TestResult {
    let ground = Ground::new(server, ENTER_AND_LEAVE).await?;
    let [one, other] = ground.barriers();
    let refused = soon("one of them is told", async {
        tokio::select! {
            entered = one.enter() => entered,
            entered = other.enter() => entered,
        }
    })
    .await?;
    assert!(refused.is_err(), "{refused:?}");
    ground.no_entry_is_left().await
}

async fn who_may_not_end_a_round_is_told_so(server: ServerKind) -> TestResult {
    let ground = Ground::new(server, Permissions::ALL).await?;
    let (one, other) = ground.entered().await?;
    ground.permit(ENTER_AND_LEAVE).await?;
    let left = soon("both are told", async { tokio::join!(one.leave(), other.leave()) }).await?;
    assert!(left.0.is_err() && left.1.is_err(), "{left:?}");
    ground.no_entry_is_left().await
}

async fn who_may_not_list_the_others_when_it_leaves_leaves_no_entry(
    server: ServerKind,
) -> TestResult {
    let ground = Ground::new(server, Permissions::ALL).await?;
    let (one, other) = ground.entered().await?;
    ground.permit(Permissions::CREATE | Permissions::DELETE).await?;
    let left = soon("both are told", async { tokio::join!(one.leave(), other.leave()) }).await?;
    assert!(left.0.is_err() && left.1.is_err(), "{left:?}");
    ground.no_entry_is_left().await
}

/// The lowest waits for the entry of the other one, which is told of the refusal at once.
async fn who_may_not_delete_its_entry_for_a_while_deletes_it_then(
    server: ServerKind,
) -> TestResult {
    let ground = Ground::new(server, Permissions::ALL).await?;
    let (one, other) = ground.entered().await?;
    ground.permit(WITHOUT_DELETIONS).await?;
    let mut leaving = JoinSet::new();
    for entered in [one, other] {
        leaving.spawn(entered.leave());
    }
    let first = soon("one is told", leaving.join_next()).await?;
    assert!(matches!(first, Some(Ok(Err(_)))), "{first:?}");
    ground.permit(Permissions::ALL).await?;
    let last = soon("the other one leaves", leaving.join_next()).await?;
    assert!(matches!(last, Some(Ok(Ok(())))), "{last:?}");
    ground.no_entry_is_left().await
}

async fn a_client_that_owes_an_entry_closes_at_once(server: ServerKind) -> TestResult {
    let ground = Ground::new(server, Permissions::ALL).await?;
    let (one, other) = ground.entered().await?;
    ground.permit(WITHOUT_DELETIONS).await?;
    let mut leaving = JoinSet::new();
    for entered in [one, other] {
        leaving.spawn(entered.leave());
    }
    let first = soon("one is told", leaving.join_next()).await?;
    assert!(matches!(first, Some(Ok(Err(_)))), "{first:?}");
    let Ground { arena: _arena, owner, clients } = ground;
    for client in clients {
        soon("it closes", client.close()).await??;
    }
    let is_left = async || {
        let children = owner.get_children(BARRIER).await;
        children.is_ok_and(|children| children.iter().all(|name| name == "ready"))
    };
    Ok(eventually_async(SOON, "the entries go with the sessions", is_left).await?)
}
