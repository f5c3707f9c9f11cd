//! Elections with znodes that are for users alone.

use election_tokio::Client;
use election_tokio::acl::Acls;
use election_tokio::election::Role;
use zk_test_kit::election::{
    Arena, ELECTION, LASTING, follows_this, is_suspended, leads, reaches, soon,
};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::proxy::{Opcode, Proxy};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::{SOON, eventually_async};

on_both_servers! {
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    an_election_among_users_survives_reconnects;
}

const NO_AUTH: i32 = -102;

async fn user_by(arena: &Arena, proxy: &Proxy) -> Result<Client, TestFailure> {
    Ok(Client::builder(&arena.servers_by(proxy))
        .session_timeout(LASTING)
        .connect_timeout(SOON)
        .auth("digest", b"insider:secret")
        .auth("digest", b"another:secret")
        .connect()
        .await?)
}

/// The identities come first on every connection, before the watches, so that leader and heir go on
/// where only they may read (kazoo #172).
async fn an_election_among_users_survives_reconnects(server: ServerKind) -> TestResult {
    let arena = Arena::new(server, "users").await?;
    let proxy = Proxy::to(server.shared()?.addr())?;
    let (first, second) = (user_by(&arena, &proxy).await?, user_by(&arena, &proxy).await?);
    let election = |client: &Client| client.election(ELECTION).acls(Acls::creator_all());
    let mut leader = election(&first).nominate()?;
    let leadership = leads(&mut leader).await?;
    let mut heir = election(&second).nominate()?;
    follows_this(&heir, leadership.candidate()).await?;
    // The election looks again after a reconnect; a watch of the client's own is set again.
    let (_, _watch) = first.exists_and_watch("/elsewhere").await?;
    for _ in 0..3 {
        proxy.refuse();
        proxy.cut();
        assert_eq!(is_suspended(&leader).await?, leadership.token());
        proxy.accept()?;
        let token = reaches(&leader, "the leader resumes", |status| match status.role {
            Role::Leading { token } => Some(token),
            _ => None,
        });
        assert_eq!(token.await?, leadership.token());
        // What the heir shows may be of the time before the cut.
        let is_back = async || second.sync("/").await.is_ok();
        eventually_async(SOON, "the heir is back", is_back).await?;
        follows_this(&heir, leadership.candidate()).await?;
    }
    // The acknowledgement is no more open to others than the candidate.
    soon("the leader acknowledges", leadership.acknowledge(b"")).await??;
    let candidate = format!("{ELECTION}/{}", leadership.candidate());
    let of_candidate = second.get_acl(&candidate).await?;
    let acknowledgement = second.get_acl(&format!("{ELECTION}.acknowledged")).await?;
    assert_eq!(acknowledgement.to_acls(), of_candidate.to_acls());
    soon("the leader resigns", leadership.resign()).await??;
    leads(&mut heir).await?;

    let counters = proxy.counters();
    let openings = counters.openings_by_connection();
    let mut set_again = 0;
    for opening in openings.values() {
        assert_eq!(opening.get(..2), Some([Opcode::AUTH; 2].as_slice()), "{openings:?}");
        let place = opening.iter().position(|&opcode| opcode == Opcode::SET_WATCHES);
        assert!(matches!(place, None | Some(2)), "{openings:?}");
        set_again += place.iter().count();
    }
    assert!(set_again >= 3, "{openings:?}");
    for opcode in [Opcode::GET_DATA, Opcode::GET_CHILDREN2, Opcode::CREATE2, Opcode::MULTI] {
        assert_eq!(counters.errors(opcode, NO_AUTH), 0, "{opcode:?}");
    }
    Ok(())
}
