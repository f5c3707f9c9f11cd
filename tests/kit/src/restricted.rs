//! A node at which the clients under test lose rights, and get them back.

use core::time::Duration;

use election_tokio::acl::{Acls, Permissions};
use election_tokio::{Client, CreateMode, Version};

use crate::election::{Arena, LASTING};
use crate::failure::{TestFailure, TestResult};
use crate::opcode::Opcode;
use crate::proxy::Proxy;
use crate::server::ServerKind;
use crate::wait::{SOON, eventually_async};

/// How often the clients under test look: longer than it takes to restore the access list.
pub const LOOK: Duration = Duration::from_secs(1);

/// All rights but to delete children.
pub const WITHOUT_DELETIONS: Permissions = Permissions::new(
    Permissions::READ.get() | Permissions::CREATE.get() | Permissions::WRITE.get(),
);

const NO_AUTH: i32 = -102;

/// A node, and the client that owns it and replaces its access list.
#[derive(Debug)]
pub struct RestrictedNode {
    server: ServerKind,
    arena: Arena,
    path: &'static str,
    /// The client that has all rights in any case.
    pub owner: Client,
}

impl RestrictedNode {
    /// Makes a node at which all other clients have these rights.
    pub async fn new(
        server: ServerKind,
        path: &'static str,
        permissions: Permissions,
    ) -> Result<Self, TestFailure> {
        let arena = Arena::new(server, "restricted").await?;
        let owner = Client::builder(&arena.servers()).auth("digest", b"owner:secret");
        let owner = owner.session_timeout(LASTING).connect_timeout(SOON).connect().await?;
        owner.create_with_acl(path, "", CreateMode::Persistent, &acls(permissions)).await?;
        Ok(Self { server, arena, path, owner })
    }

    /// Connects a client that is a stranger to the owner.
    pub async fn client(&self) -> Result<Client, TestFailure> {
        stranger(&self.arena.servers()).await
    }

    /// Connects such a client by way of a proxy of its own, which counts its requests.
    pub async fn counted_client(&self) -> Result<(Client, Proxy), TestFailure> {
        let proxy = Proxy::to(self.server.shared()?.addr())?;
        Ok((stranger(&self.arena.servers_by(&proxy)).await?, proxy))
    }

    /// Gives all other clients these rights, in place of those that they had.
    pub async fn permit(&self, permissions: Permissions) -> TestResult {
        let list = acls(permissions);
        Ok(self.owner.set_acl(self.path, &list, Version::ANY).await.map(drop)?)
    }

    /// Waits until so many children are there that have not this name.
    pub async fn wait_for_children_beside(&self, name: &str, count: usize) -> TestResult {
        let are_there = async || {
            let children = self.owner.get_children(self.path).await;
            children.is_ok_and(|children| children.iter().filter(|it| *it != name).count() == count)
        };
        Ok(eventually_async(SOON, &format!("{count} children are there"), are_there).await?)
    }

    /// Waits until so many children are there.
    pub async fn wait_for_children(&self, count: usize) -> TestResult {
        self.wait_for_children_beside("", count).await
    }
}

async fn stranger(servers: &str) -> Result<Client, TestFailure> {
    let builder = Client::builder(servers).session_timeout(LASTING);
    Ok(builder.look_interval(LOOK).connect_timeout(SOON).connect().await?)
}

/// Cuts the connection of a client, and waits until its recipes have done on the next one what they
/// ask for first: a barrier, a look, and a deletion.
pub async fn begin_anew(client: &Client, proxy: &Proxy) -> TestResult {
    proxy.cut();
    let answers = async || client.exists("/").await.is_ok();
    eventually_async(SOON, "it is connected again", answers).await?;
    wait_behind(client, 3).await
}

/// Waits until a client has the answers to so many requests that one of its recipes asks for one after
/// the other: the client sends its requests in order.
pub async fn wait_behind(client: &Client, requests: usize) -> TestResult {
    for _ in 0..requests {
        client.exists("/").await?;
    }
    Ok(())
}

/// Waits until the server has refused so many deletions, for want of permission.
pub async fn wait_for_refused_deletions(proxy: &Proxy, count: u64) -> TestResult {
    let are_refused = async || proxy.counters().errors(Opcode::DELETE, NO_AUTH) >= count;
    Ok(eventually_async(SOON, "a deletion is refused", are_refused).await?)
}

fn acls(permissions: Permissions) -> Acls {
    Acls::creator_all().world(permissions)
}
