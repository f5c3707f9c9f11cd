//! Identities of the scheme `digest`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

/// Lengths of digests in bytes: that of SHA-1, and those of the other algorithms that servers since
/// 3.7 support (`zookeeper.DigestAuthenticationProvider.digestAlg`).
const LENGTHS: [usize; 5] = [20, 28, 32, 48, 64];

/// Returns `user:hash`, where the hash is Base64 of the SHA-1 digest of `user:password`.
pub(super) fn identity(user: &str, password: &str) -> String {
    let digest = Sha1::digest([user, ":", password].concat());
    format!("{user}:{}", STANDARD.encode(digest))
}

/// Returns whether this has the form `user:hash`, so that a password cannot pass for its hash.
pub(super) fn is_identity(identity: &str) -> bool {
    identity.split_once(':').is_some_and(|(_, hash)| {
        STANDARD.decode(hash).is_ok_and(|digest| LENGTHS.contains(&digest.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As ZooKeeper's own tool says: `DigestAuthenticationProvider super:test`.
    #[test]
    fn a_password_is_hashed_as_by_servers() {
        assert_eq!(identity("super", "test"), "super:D/InIHSb7yEEbrWz8b9l71RjZJU=");
    }

    #[test]
    fn what_is_no_hash_is_known() {
        assert!(is_identity(&identity("bob", "secret")));
        assert!(is_identity(&format!("bob:{}", STANDARD.encode([7; 32]))), "SHA-256");
        for identity in [
            "",
            "bob",
            "bob:",
            "bob:secret",
            "bob:x",
            "bob:hash=",
            "bob:a:b",
            "bob:fyVmFCwVbTJYrznoSu1koqYEYF0",
            "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=:x",
            "fyVmFCwVbTJYrznoSu1koqYEYF0=",
        ] {
            assert!(!is_identity(identity), "{identity:?}");
        }
    }
}
