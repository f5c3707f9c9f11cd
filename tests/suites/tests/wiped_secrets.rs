//! Whether a secret is still in the memory of a process once the client that had it is gone.
//!
//! The memory is read as Linux shows it; elsewhere nothing is looked at.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;

use election_tokio::{
    Client,
    sasl::{DigestMd5, Secret},
};
use zk_test_kit::election::LASTING;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::sasl::{options, write_user};
use zk_test_kit::wait::{SOON, eventually_async};
use zk_test_kit::zookeeper::Server;

/// Nowhere in the memory but in the secret itself: kept under a mask.
struct Masked(Vec<u8>);

const MASK: u8 = 0x5a;

impl Masked {
    /// Letters, drawn anew each time, so that none of them is left from elsewhere.
    fn random() -> Self {
        Self((0..48).map(|_| fastrand::alphanumeric() as u8 ^ MASK).collect())
    }

    fn unmasked(&self) -> impl Iterator<Item = u8> {
        self.0.iter().map(|byte| byte ^ MASK)
    }

    /// Returns the end of the secret: an allocator writes over the beginning of freed memory, and the rest is still
    /// there to be read.
    fn end(&self) -> &[u8] {
        self.0.split_at(self.0.len() / 2).1
    }

    fn ends_at(&self, bytes: &[u8]) -> bool {
        bytes.iter().zip(self.end()).all(|(byte, masked)| byte ^ MASK == *masked)
    }
}

/// Returns the mappings of this process in which the end of the secret is found.
fn copies(secret: &Masked) -> io::Result<Vec<String>> {
    let memory = File::open("/proc/self/mem")?;
    let mut found = Vec::new();
    for line in BufReader::new(File::open("/proc/self/maps")?).lines() {
        let line = line?;
        let mut words = line.split_whitespace();
        let (Some(range), Some(rights)) = (words.next(), words.next()) else { continue };
        let Some((from, to)) = range.split_once('-') else { continue };
        let address = |text| u64::from_str_radix(text, 16).map_err(io::Error::other);
        let (mut from, to) = (address(from)?, address(to)?);
        if !rights.starts_with("rw") {
            continue;
        }
        // In pieces that overlap by the length of what is looked for.
        while from < to {
            let length = usize::try_from((to - from).min(1 << 20)).unwrap_or(1 << 20);
            let mut piece = vec![0; length];
            if memory.read_exact_at(&mut piece, from).is_err() {
                break;
            }
            let hits =
                piece.windows(secret.end().len()).filter(|window| secret.ends_at(window)).count();
            found.extend((0..hits).map(|_| line.clone()));
            // The buffer of the next piece must not show this one again.
            piece.fill(0);
            std::hint::black_box(&piece);
            from += (length.saturating_sub(secret.end().len()).max(1)) as u64;
            if (length as u64) < (1 << 20) {
                break;
            }
        }
    }
    Ok(found)
}

/// Starts a server that knows the user `bob` by this password, which is in its file alone: this
/// process writes it a byte at a time.
fn server_of_bob(password: &Masked) -> Result<Server, TestFailure> {
    let server = options(&[]).start_server()?;
    server.kill()?;
    write_user(&server, "bob", password.unmasked())?;
    server.restart()?;
    Ok(server)
}

/// Credentials of `auth` are not looked for: they travel as they are, and the transport's buffers are not
/// wiped.
#[tokio::test]
async fn passwords_of_sasl_are_wiped_with_the_clients_that_had_them() -> TestResult {
    let password = Masked::random();
    let server = server_of_bob(&password)?;
    assert!(copies(&password)?.is_empty(), "this process has the password masked alone");
    // Of several, so that not all of the memory that they leave is used again before it is looked at.
    let mut clients = Vec::new();
    for _ in 0..8 {
        let user = DigestMd5::new("bob", Secret::new(password.unmasked().collect::<Vec<u8>>()));
        let builder = Client::builder(&server.connect_string()).session_timeout(LASTING).sasl(user);
        clients.push(builder.connect().await?);
    }
    assert!(copies(&password)?.len() >= clients.len(), "the search finds what is there");
    for client in clients {
        client.sync("/").await?;
        client.close().await?;
    }
    let none_is_left = || async { copies(&password).is_ok_and(|copies| copies.is_empty()) };
    // The task of a client ends a moment after its last handle.
    eventually_async(SOON, "no copy is left", none_is_left).await?;
    Ok(())
}
