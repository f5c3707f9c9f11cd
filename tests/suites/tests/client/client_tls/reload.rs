//! Certificates that are exchanged while a client runs.

use core::time::Duration;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use election_tokio::{Client, ConnectionState, SessionId, tls::TlsOptions};
use tempfile::TempDir;
use zk_test_kit::certificates::{Authority, Certified};
use zk_test_kit::election::soon;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::identities::proved_by;
use zk_test_kit::proxy::Proxy;
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::{ClientAuth, SecurePort};

use crate::client_tls::stage::{LOOPBACK, builder, connect, secure_addr, start};

/// The files that an operator has put on a client's machine.
struct Files {
    _folder: TempDir,
    ca: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn new() -> Result<Self, TestFailure> {
        let folder = TempDir::new()?;
        let [ca, certificate, key] =
            ["ca.pem", "client.pem", "client.key"].map(|name| folder.path().join(name));
        Ok(Self { _folder: folder, ca, certificate, key })
    }

    fn write(&self, ca: &Authority, mine: &Certified) -> TestResult {
        fs::write(&self.ca, ca.pem())?;
        fs::write(&self.certificate, &mine.certificate)?;
        fs::write(&self.key, &mine.key)?;
        Ok(())
    }

    fn options(&self) -> TlsOptions {
        TlsOptions::new().ca_file(&self.ca).client_certificate_files(&self.certificate, &self.key)
    }
}

/// Returns a server with one CA, which signs for servers and clients.
fn secured_by(ca: &Authority) -> Result<SecurePort, TestFailure> {
    let server = ca.server(LOOPBACK)?;
    Ok(SecurePort {
        key_store: format!("{}{}", server.key, server.certificate),
        trust_store: ca.pem(),
        client_auth: ClientAuth::Need,
    })
}

/// Connects with a session for which a server has time to come back.
async fn outlasting_restarts(server: SocketAddr, files: &Files) -> Result<Client, TestFailure> {
    let builder = builder(server, files.options()).session_timeout(Duration::from_secs(60));
    Ok(builder.connect_timeout(SOON).connect().await?)
}

async fn session(client: &Client) -> Result<SessionId, TestFailure> {
    let mut connection = client.connection_updates();
    let connected = |state: &ConnectionState| matches!(state, ConnectionState::Connected { .. });
    match soon("the client is connected", connection.wait_for(connected)).await? {
        Ok(ConnectionState::Connected { session, .. }) => Ok(session),
        other => panic!("not connected: {other:?}"),
    }
}

/// The next reason for which the client, which has lost its connection, gets no other one and that
/// holds this text.
async fn failure(client: &Client, text: &str) -> TestResult {
    let mut connection = client.connection_updates();
    let failed = |state: &ConnectionState| {
        matches!(state, ConnectionState::Suspended { last_failure: Some(failure), .. }
            if failure.to_string().contains(text))
    };
    let what = format!("an attempt fails: {text}; now {:?}", connection.latest());
    soon(&what, connection.wait_for(failed)).await??;
    Ok(())
}

async fn suspended(client: &Client) -> TestResult {
    let mut connection = client.connection_updates();
    let suspended = |state: &ConnectionState| matches!(state, ConnectionState::Suspended { .. });
    soon("the loss is noticed", connection.wait_for(suspended)).await??;
    Ok(())
}

/// The server comes back with certificates of another CA; the client's files follow later, and the
/// session goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_of_another_ca_take_the_place_of_the_old_ones() -> TestResult {
    let [old, new] = [Authority::new("Old")?, Authority::new("New")?];
    let files = Files::new()?;
    files.write(&old, &old.client("me")?)?;
    let server = start(secured_by(&old)?)?;
    let client = outlasting_restarts(secure_addr(&server), &files).await?;
    let first = session(&client).await?;

    server.kill()?;
    suspended(&client).await?;
    server.exchange_certificates(&secured_by(&new)?)?;
    server.restart()?;
    failure(&client, "a CA that this client does not trust").await?;

    // Half of the exchange: the new server is trusted, and does not trust the client.
    fs::write(&files.ca, new.pem())?;
    failure(&client, "the server refuses the client certificate").await?;
    files.write(&new, &new.client("me")?)?;
    assert_eq!(session(&client).await?, first);
    let proved = [("x509".to_owned(), "O=Tests,CN=me".to_owned())];
    assert_eq!(proved_by(&client, server.release()?).await?, proved);
    Ok(())
}

/// The client uses the files that it read before as long as they are good enough, whatever is wrong
/// with the new ones; as soon as the new ones are in order they count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_cannot_be_used_for_now_do_not_stop_a_client() -> TestResult {
    let [old, new] = [Authority::new("Old")?, Authority::new("New")?];
    let files = Files::new()?;
    let mine = old.client("me")?;
    files.write(&old, &mine)?;
    let server = start(secured_by(&old)?)?;
    let proxy = Proxy::opaque_to(secure_addr(&server))?;
    let client = outlasting_restarts(proxy.addr(), &files).await?;
    let first = session(&client).await?;
    let half = mine.key.get(..mine.key.len() / 2).unwrap();
    let others = new.client("somebody else")?;
    let wrong: [&dyn Fn() -> std::io::Result<()>; 4] = [
        &|| fs::write(&files.key, half),
        &|| fs::write(&files.key, &others.key),
        &|| fs::write(&files.ca, ""),
        &|| fs::remove_file(&files.ca),
    ];
    for spoil in wrong {
        spoil()?;
        proxy.refuse();
        proxy.cut();
        suspended(&client).await?;
        proxy.accept()?;
        assert_eq!(session(&client).await?, first);
    }

    // The files that were read before are not good enough any more.
    server.kill()?;
    suspended(&client).await?;
    server.exchange_certificates(&secured_by(&new)?)?;
    server.restart()?;
    failure(&client, "what was read before is in use").await?;
    failure(&client, "the file cannot be read").await?;
    files.write(&new, &new.client("me")?)?;
    assert_eq!(session(&client).await?, first);
    Ok(())
}

/// Files that are being written whenever the client reads them: it goes on with one whole set or the
/// other, and never with a mixture.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_change_while_they_are_read_cost_no_session() -> TestResult {
    let ca = Authority::new("One")?;
    let files = Files::new()?;
    let sets = [ca.client("me")?, ca.client("me")?];
    files.write(&ca, &sets[0])?;
    let server = start(secured_by(&ca)?)?;
    let proxy = Proxy::opaque_to(secure_addr(&server))?;
    let client = connect(proxy.addr(), files.options()).await?;
    let first = session(&client).await?;
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let written = (files.ca.clone(), files.certificate.clone(), files.key.clone(), ca.pem());
    let rounds = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&rounds);
    let writer = std::thread::spawn(move || -> std::io::Result<()> {
        let (ca_file, certificate, key, ca) = written;
        while stopped.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            let set = &sets[counted.load(Ordering::Relaxed) % 2];
            // Each is truncated first, and empty for a moment.
            fs::write(&certificate, &set.certificate)?;
            fs::write(&ca_file, &ca)?;
            fs::write(&key, &set.key)?;
            counted.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    let mut cuts = 0;
    // A writer that is slow has its time.
    while cuts < 50 || rounds.load(Ordering::Relaxed) <= 50 && !writer.is_finished() {
        // The client may be back before anybody looks: its next connection shows that it was away.
        let accepted = proxy.counters().accepted;
        proxy.cut();
        eventually_async(SOON, "it connects again", async || proxy.counters().accepted > accepted)
            .await?;
        assert_eq!(session(&client).await?, first);
        cuts += 1;
    }
    drop(stop);
    writer.join().expect("it does not panic")?;
    Ok(())
}
