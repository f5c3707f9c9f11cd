//! The members of a real ensemble, read, watched and changed.

use core::time::Duration;

use election_tokio::{
    Client, Error, ErrorCode, ErrorKind, Zxid,
    ensemble::{EnsembleConfig, EnsembleMember, Reconfiguration},
    watch::EventType,
};
use tokio::time::timeout;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::{self, Ensemble, Options, shared};

/// Of `super:secret`.
const SUPER_DIGEST: &str = "super:lK75jTNcA+U9vtVEw5vB51mj/w4=";

/// Starts an ensemble where the super user may change the members.
fn changeable() -> Result<Ensemble, TestFailure> {
    let options = Options::new()
        .config_line("reconfigEnabled=true")
        .system_property("zookeeper.DigestAuthenticationProvider.superDigest", SUPER_DIGEST);
    Ok(options.start_ensemble()?)
}

/// Returns a client of ZooKeeper's leader, and the number of a member that does not lead: a leader
/// that leaves drops its clients.
async fn client(ensemble: &Ensemble, auth: &[u8]) -> Result<(Client, u64), TestFailure> {
    let leader = ensemble.wait_for_leader(SOON)?;
    let address = ensemble.member(leader).connect_string();
    let builder = Client::builder(&address).auth("digest", auth);
    let client = builder.session_timeout(Duration::from_secs(10)).connect().await?;
    Ok((client, if leader == zookeeper::Member::First { 2 } else { 1 }))
}

fn code<T>(outcome: Result<T, Error>) -> Option<ErrorCode> {
    outcome.err().and_then(|error| error.code())
}

fn ids(config: &EnsembleConfig) -> Vec<u64> {
    let mut ids: Vec<u64> = config.members.iter().map(EnsembleMember::id).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn members_leave_and_join() -> TestResult {
    let ensemble = changeable()?;
    let (client, follower) = client(&ensemble, b"super:secret").await?;
    let (before, watch) = client.get_config_and_watch().await?;
    assert_eq!(ids(&before), [1, 2, 3]);
    let version = before.version.unwrap_or_default();

    let (gone, stay): (Vec<_>, Vec<_>) =
        before.members.iter().cloned().partition(|member| member.id() == follower);
    let leave = Reconfiguration::incremental().leaving(follower).only_from(version);
    let after = client.reconfigure(&leave).await?;
    assert_eq!(after.members.len(), 2);
    assert!(stay.iter().all(|member| ids(&after).contains(&member.id())));
    assert!(after.version > before.version);
    assert_eq!(timeout(SOON, watch).await??.kind, EventType::NODE_DATA_CHANGED);

    assert_eq!(code(client.reconfigure(&leave).await), Some(ErrorCode::BAD_VERSION));

    let mut join = Reconfiguration::incremental();
    let clients_at = match follower {
        1 => ensemble.member(zookeeper::Member::First).addr(),
        _ => ensemble.member(zookeeper::Member::Second).addr(),
    };
    for member in gone {
        assert_eq!(member.client_address(), None, "{member}");
        join = join.joining(format!("{member};{clients_at}").parse()?);
    }
    // The member is told by and by that it is out, and takes part again by and by.
    let joined = eventually_async(SOON, "the member is back", async || {
        client.reconfigure(&join).await.is_ok_and(|config| ids(&config) == [1, 2, 3])
    });
    joined.await?;
    client.sync("/").await?;
    let config = client.get_config().await?;
    assert_eq!((ids(&config), config.connect_string()), (vec![1, 2, 3], clients_at.to_string()));
    Ok(())
}

#[tokio::test]
async fn who_may_not_change_the_members_is_refused() -> TestResult {
    let ensemble = changeable()?;
    let (client, follower) = client(&ensemble, b"somebody:else").await?;
    let leave = Reconfiguration::incremental().leaving(follower);
    assert_eq!(code(client.reconfigure(&leave).await), Some(ErrorCode::NO_AUTH));
    let config = client.get_config().await?;
    assert_eq!(ids(&config), [1, 2, 3], "anybody may look");
    Ok(())
}

/// The path is no part of a chroot, and a server that stands alone has no members.
#[tokio::test]
async fn a_server_that_stands_alone_has_no_members_to_change() -> TestResult {
    let server = shared()?;
    let chroot = server.fresh_chroot("config")?;
    let client = Client::builder(&format!("{}{chroot}", server.connect_string())).connect().await?;
    let config = client.get_config().await?;
    assert_eq!((config.members.len(), config.version), (0, None));
    let member: EnsembleMember = "server.4=127.0.0.1:1:2:observer;3".parse()?;
    let join = Reconfiguration::incremental().joining(member).only_from(Zxid::new(1));
    let error = client.reconfigure(&join).await.err();
    let refused = error.as_ref().map(Error::kind);
    // Switched off by default, which servers say first.
    assert_eq!(refused, Some(ErrorKind::Refused(ErrorCode::RECONFIG_DISABLED)));
    client.sync("/").await?;
    Ok(())
}
