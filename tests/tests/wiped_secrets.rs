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
use zk_tests::election::LASTING;
use zk_tests::failure::TestResult;
use zk_tests::sasl::options;
use zk_tests::wait::{SOON, eventually_async};

/// Nowhere in the memory but in the secret itself: kept under a mask.
struct Masked(Vec<u8>);

const MASK: u8 = 0x5a;

impl Masked {
    /// Letters, drawn anew each time, so that none of them is left from elsewhere.
    fn random() -> Self {
        Self((0..24).map(|_| fastrand::alphanumeric() as u8 ^ MASK).collect())
    }

    fn unmasked(&self) -> impl Iterator<Item = u8> {
        self.0.iter().map(|byte| byte ^ MASK)
    }

    fn is_at(&self, bytes: &[u8]) -> bool {
        bytes.iter().zip(&self.0).all(|(byte, masked)| byte ^ MASK == *masked)
    }
}

/// How often the secret is found, beginning with its first sixteen bytes.
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
        // In pieces that overlap by the length of a secret.
        while from < to {
            let length = usize::try_from((to - from).min(1 << 20)).unwrap_or(1 << 20);
            let mut piece = vec![0; length];
            if memory.read_exact_at(&mut piece, from).is_err() {
                break;
            }
            let hits = piece.windows(secret.0.len()).filter(|window| secret.is_at(window)).count();
            found.extend((0..hits).map(|_| line.clone()));
            // What was read is not to be found again in the next piece's buffer.
            piece.fill(0);
            std::hint::black_box(&piece);
            from += (length.saturating_sub(secret.0.len()).max(1)) as u64;
            if (length as u64) < (1 << 20) {
                break;
            }
        }
    }
    Ok(found)
}

/// Of what the test itself had.
fn wipe(mut bytes: Vec<u8>) {
    bytes.fill(0);
    std::hint::black_box(&bytes);
}

#[tokio::test]
async fn a_credential_is_wiped_with_the_client_that_had_it() -> TestResult {
    let (password, credential) = (Masked::random(), Masked::random());
    let of_server: String = password.unmasked().map(char::from).collect();
    let server = options(&[("bob", &of_server)]).start_server()?;
    wipe(of_server.into_bytes());
    // What the writing of the server's files has left: the client is to add none.
    let of_setup = copies(&password)?.len();
    let user = DigestMd5::new("bob", Secret::new(password.unmasked().collect::<Vec<u8>>()));
    let carol: Vec<u8> = b"carol:".iter().copied().chain(credential.unmasked()).collect();
    let builder = Client::builder(&server.connect_string()).session_timeout(LASTING).sasl(user);
    let client = builder.auth("digest", &carol).connect().await?;
    wipe(carol);
    assert!(copies(&password)?.len() > of_setup, "the search finds what is there");
    assert!(!copies(&credential)?.is_empty(), "the search finds what is there");
    client.sync("/").await?;
    client.close().await?;
    let is_gone = || async {
        // Of the password of SASL copies are left, here or by the writing of the server's files: to be
        // found out.
        copies(&credential).is_ok_and(|copies| copies.is_empty())
    };
    // The task of the client ends a moment after its last handle.
    eventually_async(SOON, "no copy is left", is_gone).await?;
    Ok(())
}
