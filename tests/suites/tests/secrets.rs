//! No password, credential or session password shows anywhere: not in what all crates trace, not
//! in what is printed for debugging, not in errors.
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::sync::Arc;
use core::fmt::Debug;
use core::fmt::Write as _;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use election_tokio::{
    Client, ClientBuilder,
    sasl::{DigestMd5, Secret},
    source::ServerAddress,
    transport::{Connecting, Connector, Transport},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tracing_subscriber::filter::LevelFilter;
use zk_test_kit::election::{LASTING, leads};
use zk_test_kit::failure::TestResult;
use zk_test_kit::proxy::{Opcode, Proxy};
use zk_test_kit::sasl::options;
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::unique_path;

const SASL_PASSWORD: &str = "sasl-secret-91bc";
const WRONG_PASSWORD: &str = "wrong-secret-2c4d";
const DIGEST_SECRET: &str = "digest-secret-7f3a";

/// Text that was shown to a reader.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Vec<u8>>>);

impl Shown {
    fn add(&self, value: &(impl Debug + ?Sized)) {
        self.append(format!("{value:?}\n{value:#?}\n").as_bytes());
    }

    fn append(&self, bytes: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }
}

impl io::Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the forms in which a careless program may write these bytes.
fn forms(secret: &[u8]) -> Vec<String> {
    let mut hex = String::new();
    for byte in secret {
        // Writing to a `String` cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    let list: Vec<_> = secret.iter().map(u8::to_string).collect();
    vec![
        String::from_utf8_lossy(secret).into_owned(),
        secret.escape_ascii().to_string(),
        hex.to_uppercase(),
        hex,
        list.join(", "),
        list.join(",\n    "),
        BASE64_STANDARD_NO_PAD.encode(secret),
    ]
}

/// TCP, with everything kept that the client reads.
#[derive(Clone, Debug, Default)]
struct Tap(Arc<Mutex<Vec<u8>>>);

impl Connector for Tap {
    fn connect<'a>(&'a self, server: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async move {
            let stream = TcpStream::connect((server.host.as_str(), server.port)).await?;
            let read = Arc::clone(&self.0);
            Ok(Box::new(Tapped { stream, read }) as Box<dyn Transport>)
        })
    }
}

struct Tapped {
    stream: TcpStream,
    read: Arc<Mutex<Vec<u8>>>,
}

impl AsyncRead for Tapped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let new = buffer.filled().get(before..).unwrap_or_default();
        self.read.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(new);
        polled
    }
}

impl AsyncWrite for Tapped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Returns the password, which stands behind the length of the frame, the version, the timeout, the
/// id and the password's length.
fn session_password(tap: &Tap) -> Vec<u8> {
    let read = tap.0.lock().unwrap_or_else(PoisonError::into_inner);
    read.get(24..40).unwrap_or_default().to_vec()
}

fn builder(servers: &str, password: &str, tap: &Tap) -> ClientBuilder {
    let user = DigestMd5::new("bob", Secret::new(password));
    Client::builder(servers)
        .session_timeout(LASTING)
        .connect_timeout(SOON)
        .connector(tap.clone())
        .sasl(user)
        .auth("digest", format!("carol:{DIGEST_SECRET}").as_bytes())
}

/// Connects, leads, reconnects and closes; shows everything that can be shown on the way.
async fn use_a_client(proxy: &Proxy, shown: &Shown, tap: &Tap) -> TestResult {
    let builder = builder(&proxy.connect_string(), SASL_PASSWORD, tap);
    shown.add(&builder);
    let client = builder.connect().await?;
    let mut nomination = client.election(&unique_path("secrets")).nominate()?;
    let leadership = leads(&mut nomination).await?;
    shown.add(&client);
    proxy.cut();
    eventually_async(SOON, "the client reconnects", async || {
        proxy.counters().replies(Opcode::SASL) >= 4 && client.exists("/").await.is_ok()
    })
    .await?;
    for value in [&client as &dyn Debug, &client.connection_updates(), &nomination, &leadership] {
        shown.add(value);
    }
    client.close().await?;
    Ok(())
}

/// The trace is one of the whole process, so this is one test.
#[tokio::test]
async fn secrets_are_nowhere_to_be_seen() -> TestResult {
    let shown = Shown::default();
    let writer = shown.clone();
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();
    let server = options(&[("bob", SASL_PASSWORD)]).start_server()?;
    let proxy = Proxy::to(server.addr())?;
    let tap = Tap::default();
    use_a_client(&proxy, &shown, &tap).await?;

    let refused = builder(&server.connect_string(), WRONG_PASSWORD, &Tap::default());
    let Err(error) = refused.connect().await else {
        panic!("a wrong password was accepted");
    };
    shown.add(&error);
    shown.append(error.to_string().as_bytes());
    let refused = Client::builder(&server.connect_string())
        .auth("no-such-scheme", DIGEST_SECRET.as_bytes())
        .start()?;
    let mut connection = refused.connection_updates();
    shown.add(&connection.wait_for(|state| format!("{state:?}").contains("AuthFailed")).await);
    shown.add(&Secret::new(SASL_PASSWORD));

    let text = shown.text();
    // Words that show that the search would find a secret.
    for public in ["connected", "session ended", "bob", "AuthFailed"] {
        assert!(text.contains(public), "{public} is not in:\n{text}");
    }
    let password = session_password(&tap);
    assert_eq!(password.len(), 16);
    let secrets = [SASL_PASSWORD, WRONG_PASSWORD, DIGEST_SECRET].map(str::as_bytes);
    for secret in secrets.into_iter().chain([password.as_slice()]) {
        for form in forms(secret) {
            assert!(!text.contains(&form), "{form} is in:\n{text}");
        }
    }
    Ok(())
}
