//! The common code of tests of elections: a place for each test, and waiting for roles.

use core::future::Future;
use core::net::SocketAddr;
use core::time::Duration;

use election_tokio::election::{
    Candidate, CandidateName, Election, Leadership, Nomination, Role, Status,
};
use election_tokio::{Client, CreateMode, Token, Version};

use crate::failure::{TestFailure, TestResult};
use crate::proxy::Proxy;
use crate::server::ServerKind;
use crate::wait::{NotInTime, SOON, eventually_async};
use crate::zookeeper::fresh_chroot_at;

/// The election of an [`Arena`], below its chroot.
pub const ELECTION: &str = "/election";

/// A session timeout for tests in which no session is to expire: a machine that stands still for
/// seconds must not make one.
pub const LASTING: Duration = Duration::from_secs(15);

/// A place of its own for one test, and a client beside those under test.
#[derive(Debug)]
pub struct Arena {
    server: String,
    chroot: String,
    /// The client beside; its paths are within the chroot.
    pub admin: Client,
}

impl Arena {
    /// Makes an arena on the server of this kind that the tests of this process share.
    pub async fn new(server: ServerKind, label: &str) -> Result<Self, TestFailure> {
        Self::on(server.shared()?.addr(), label).await
    }

    /// Makes an arena on the server at this address.
    pub async fn on(server: SocketAddr, label: &str) -> Result<Self, TestFailure> {
        let chroot = fresh_chroot_at(server, label)?;
        let server = server.to_string();
        let admin = connect(&format!("{server}{chroot}"), LASTING).await?;
        Ok(Self { server, chroot, admin })
    }

    /// Returns the connect string.
    pub fn servers(&self) -> String {
        format!("{}{}", self.server, self.chroot)
    }

    /// Returns the connect string by way of a proxy.
    pub fn servers_by(&self, proxy: &Proxy) -> String {
        format!("{}{}", proxy.connect_string(), self.chroot)
    }

    /// Creates the election node, so that the first create of a nominee is that of its candidate.
    pub async fn create_election_node(&self) -> TestResult {
        let mode = CreateMode::Persistent;
        self.admin.create(ELECTION, "", mode).await?;
        Ok(())
    }

    /// Connects a new client.
    pub async fn client(&self) -> Result<Client, TestFailure> {
        connect(&self.servers(), LASTING).await
    }

    /// Connects a new client by way of a proxy.
    pub async fn client_by(&self, proxy: &Proxy) -> Result<Client, TestFailure> {
        connect(&self.servers_by(proxy), LASTING).await
    }

    /// Returns the election, seen from beside.
    pub fn election(&self) -> Election {
        self.admin.election(ELECTION)
    }

    /// Returns the candidates, the one that leads first.
    pub async fn candidates(&self) -> Result<Vec<Candidate>, TestFailure> {
        Ok(self.election().candidates().await?)
    }

    /// Returns the names of all children of the election node; none if it does not exist.
    pub async fn children(&self) -> Result<Vec<String>, TestFailure> {
        match self.admin.get_children(ELECTION).await {
            Ok(children) => Ok(children.iter().map(str::to_owned).collect()),
            Err(error) if error.is_no_node() => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until nothing is left in the election node.
    pub async fn wait_until_empty(&self) -> TestResult {
        self.wait_for_children(0).await
    }

    /// Waits until the election node has this many children.
    pub async fn wait_for_children(&self, count: usize) -> TestResult {
        let what = format!("the election node has {count} children");
        eventually_async(SOON, &what, async || {
            self.children().await.is_ok_and(|children| children.len() == count)
        })
        .await?;
        Ok(())
    }

    /// Deletes a candidate, as an operator would.
    pub async fn evict(&self, candidate: &CandidateName) -> TestResult {
        let path = format!("{ELECTION}/{candidate}");
        Ok(self.admin.delete(&path, Version::ANY).await?)
    }
}

/// Connects a client to these servers.
pub async fn connect(servers: &str, session_timeout: Duration) -> Result<Client, TestFailure> {
    Ok(Client::builder(servers)
        .session_timeout(session_timeout)
        .connect_timeout(SOON)
        .connect()
        .await?)
}

/// Waits for a future, at most for [`SOON`].
pub async fn soon<F: Future>(what: &str, future: F) -> Result<F::Output, NotInTime> {
    tokio::time::timeout(SOON, future).await.map_err(|_| NotInTime::new(what, SOON))
}

/// Waits until the nominee leads.
pub async fn leads(nomination: &mut Nomination) -> Result<Leadership, TestFailure> {
    let status = nomination.updates();
    match soon("the nominee leads", nomination.elected()).await {
        Ok(elected) => Ok(elected?),
        Err(late) => {
            let status = format!("{late}; it is {:?}", status.latest().role);
            Err(NotInTime::new(status, SOON).into())
        }
    }
}

/// Waits until one of the two leads.
pub async fn one_leads(
    first: &mut Nomination,
    second: &mut Nomination,
) -> Result<Leadership, TestFailure> {
    let elected = soon("one of the two leads", async {
        tokio::select! {
            elected = first.elected() => elected,
            elected = second.elected() => elected,
        }
    });
    Ok(elected.await??)
}

/// Waits until the status is as wanted.
pub async fn reaches<T>(
    nomination: &Nomination,
    what: &str,
    wanted: impl Fn(&Status) -> Option<T>,
) -> Result<T, NotInTime> {
    let mut status = nomination.updates();
    let reached = tokio::time::timeout(SOON, async {
        let mut latest = status.latest_and_update();
        loop {
            if let Some(found) = wanted(&latest) {
                return Some(found);
            }
            latest = status.next().await?;
        }
    })
    .await;
    if let Ok(Some(found)) = reached {
        return Ok(found);
    }
    let what = format!("{what}; it is {:?}", nomination.status());
    Err(NotInTime::new(what, SOON))
}

/// Waits until the nominee follows; gives its own candidate and its predecessor.
pub async fn follows(nomination: &Nomination) -> Result<(CandidateName, CandidateName), NotInTime> {
    reaches(nomination, "the nominee follows", |status| match (&status.role, &status.candidate) {
        (Role::Following { predecessor, .. }, Some(own)) => {
            Some((own.clone(), predecessor.clone()))
        }
        _ => None,
    })
    .await
}

/// Waits until the nominee follows this predecessor.
pub async fn follows_this(
    nomination: &Nomination,
    wanted: &CandidateName,
) -> Result<(), NotInTime> {
    let what = format!("the nominee follows {wanted}");
    reaches(nomination, &what, |status| {
        matches!(&status.role, Role::Following { predecessor, .. } if predecessor == wanted)
            .then_some(())
    })
    .await
}

/// Waits until the nominee leads without a connection; gives its token.
pub async fn is_suspended(nomination: &Nomination) -> Result<Token, NotInTime> {
    reaches(nomination, "the leader is suspended", |status| match status.role {
        Role::Suspended { token, .. } => Some(token),
        _ => None,
    })
    .await
}
