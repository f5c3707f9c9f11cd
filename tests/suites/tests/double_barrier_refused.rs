//! Double barriers whose participants lack a permission: a call ends with the server's refusal, and
//! leaves no entry for which the others would wait.
#![forbid(unsafe_code)]

use election_tokio::{Acls, Client, CreateMode, DoubleBarrier, Entered, Version, acl::Permissions};
use zk_test_kit::election::{Arena, LASTING, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test]
    who_may_not_open_a_round_is_told_so,
    who_may_not_end_a_round_is_told_so,
    who_may_not_list_the_others_when_it_leaves_leaves_no_entry;
}

const BARRIER: &str = "/barrier";
/// All but to write to the node, by which rounds are opened and ended.
const ENTER_AND_LEAVE: Permissions = Permissions::new(
    Permissions::READ.get() | Permissions::CREATE.get() | Permissions::DELETE.get(),
);

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
        let clients = [arena.client().await?, arena.client().await?];
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
