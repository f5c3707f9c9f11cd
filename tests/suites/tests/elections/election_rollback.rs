//! Elections on servers that have lost their data, and start with none or with an older copy:
//! `docs/operating.md`, "When the ensemble has lost its data".

use core::time::Duration;
use std::fs;
use std::path::Path;

use election_tokio::election::{LostReason, Nomination};
use election_tokio::ensemble::Rollback;
use election_tokio::{Client, Token, Version};
use zk_test_kit::election::{ELECTION, connect, follows_this, leads, one_leads, soon};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::{Member, Options, Server};

const TIMEOUT: Duration = Duration::from_secs(6);

/// A nominee with a client of its own.
struct Nominee {
    client: Client,
    nomination: Nomination,
}

impl Nominee {
    async fn stand(servers: &str) -> Result<Self, TestFailure> {
        let client = connect(servers, TIMEOUT).await?;
        let nomination = client.election(ELECTION).nominate()?;
        Ok(Self { client, nomination })
    }

    /// Waits until the client reports a rollback.
    async fn reports_a_rollback(&self) -> Result<Rollback, TestFailure> {
        let mut updates = self.client.rollback_updates();
        let told = soon("the client reports a rollback", updates.wait_for(Option::is_some)).await?;
        let rollback = told?.expect("it was waited for");
        assert_eq!(self.client.rollback(), Some(rollback));
        Ok(rollback)
    }
}

/// Waits until the two have a candidate each, and no candidate is left of their earlier sessions.
async fn two_stand(client: &Client) -> TestResult {
    eventually_async(SOON, "two candidates stand", async || {
        client.get_children(ELECTION).await.is_ok_and(|children| children.iter().count() == 2)
    })
    .await?;
    Ok(())
}

/// Deletes the transactions, snapshots and epochs of a server that is down.
fn empty(server: &Server) -> TestResult {
    Ok(fs::remove_dir_all(server.data_folder())?)
}

fn copy(from: &Path, to: &Path) -> TestResult {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// One of the nominees leads again without help. Its token is small, as that of the first leader was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_an_emptied_server_one_leads_and_both_clients_tell_of_the_loss() -> TestResult {
    let server = Options::new().start_server()?;
    let mut first = Nominee::stand(&server.connect_string()).await?;
    let old = leads(&mut first.nomination).await?;
    // More transactions than the emptied server takes to elect.
    for _ in 0..50 {
        first.client.set_data(ELECTION, "", Version::ANY).await?;
    }
    let mut second = Nominee::stand(&server.connect_string()).await?;
    follows_this(&second.nomination, old.candidate()).await?;
    soon("the first leader has resigned", old.resign()).await??;
    let before = leads(&mut second.nomination).await?;
    first.nomination = first.client.election(ELECTION).nominate()?;
    follows_this(&first.nomination, before.candidate()).await?;
    assert_eq!((first.client.rollback(), second.client.rollback()), (None, None));

    server.kill()?;
    empty(&server)?;
    let reason = soon("the leadership is lost", before.lost()).await?;
    assert_eq!(reason, LostReason::LeaseLapsed);
    server.restart()?;
    let after = one_leads(&mut first.nomination, &mut second.nomination).await?;
    assert!(!before.is_valid() && after.is_valid());
    assert!(after.token() < before.token(), "{} after {}", after.token(), before.token());
    for nominee in [&first, &second] {
        let Rollback { seen, written } = nominee.reports_a_rollback().await?;
        assert!(written <= seen, "{written} after {seen}");
    }
    two_stand(&first.client).await
}

/// The copy has the candidates of sessions that its clients have given up: these stay for their timeout,
/// and no nominee leads before they are gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_server_with_an_older_copy_one_leads_once_the_old_sessions_are_over() -> TestResult {
    let server = Options::new().start_server()?;
    let mut first = Nominee::stand(&server.connect_string()).await?;
    let before = leads(&mut first.nomination).await?;
    let mut second = Nominee::stand(&server.connect_string()).await?;
    follows_this(&second.nomination, before.candidate()).await?;
    let backup = server.folder().join("backup");
    server.kill()?;
    copy(&server.data_folder(), &backup)?;
    server.restart()?;
    soon("the leader has resigned", before.resign()).await??;
    let later = leads(&mut second.nomination).await?;
    first.nomination = first.client.election(ELECTION).nominate()?;
    follows_this(&first.nomination, later.candidate()).await?;

    server.kill()?;
    empty(&server)?;
    copy(&backup, &server.data_folder())?;
    let reason = soon("the leadership is lost", later.lost()).await?;
    assert_eq!(reason, LostReason::LeaseLapsed);
    server.restart()?;
    let after = one_leads(&mut first.nomination, &mut second.nomination).await?;
    assert!(!later.is_valid() && after.is_valid());
    two_stand(&first.client).await
}

/// Raised epochs keep tokens growing, so that systems which keep the greatest one take the new leader.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ensemble_with_raised_epochs_gives_greater_tokens_after_a_loss() -> TestResult {
    let ensemble = Options::new().start_ensemble()?;
    let mut first = Nominee::stand(&ensemble.connect_string()).await?;
    let mut leadership = leads(&mut first.nomination).await?;
    let mut second = Nominee::stand(&ensemble.connect_string()).await?;
    follows_this(&second.nomination, leadership.candidate()).await?;
    let backup = |server: &Server| server.folder().join("backup");

    for data in [Data::None, Data::Backup] {
        Member::ALL.iter().try_for_each(|member| ensemble.member(*member).kill())?;
        soon("the leadership is lost", leadership.lost()).await?;
        for member in Member::ALL {
            let server = ensemble.member(member);
            match data {
                Data::None => {
                    copy(&server.data_folder(), &backup(server))?;
                    empty(server)?;
                    fs::create_dir(server.data_folder())?;
                }
                Data::Backup => {
                    empty(server)?;
                    copy(&backup(server), &server.data_folder())?;
                }
            }
            raise_epoch(server, leadership.token())?;
        }
        ensemble.start_all()?;
        let next = one_leads(&mut first.nomination, &mut second.nomination).await?;
        assert!(next.token() > leadership.token(), "{} after {}", next.token(), leadership.token());
        assert_eq!((first.client.rollback(), second.client.rollback()), (None, None));
        two_stand(&first.client).await?;
        leadership = next;
    }
    Ok(())
}

/// The data with which an ensemble starts again.
enum Data {
    None,
    /// Those of its first end.
    Backup,
}

/// Makes a member that is down go on after the epoch of this token.
fn raise_epoch(server: &Server, token: Token) -> TestResult {
    let epoch = token.get() >> 32;
    for name in ["acceptedEpoch", "currentEpoch"] {
        fs::write(server.data_folder().join(name), epoch.to_string())?;
    }
    Ok(())
}
