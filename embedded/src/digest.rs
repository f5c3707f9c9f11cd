//! The digest of ZooKeeper's `digest` scheme: SHA-1 in Base64.

use alloc::string::String;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

/// Returns `user:` and the digest of `user:password`. A credential without a colon is a user.
pub(crate) fn identity_of(credential: &[u8]) -> String {
    let user = credential.split(|byte| *byte == b':').next();
    let mut identity = String::from_utf8_lossy(user.unwrap_or_default()).into_owned();
    identity.push(':');
    STANDARD.encode_string(Sha1::digest(credential), &mut identity);
    identity
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Apache ZooKeeper 3.8.0 makes this of the credential.
    #[test]
    fn the_identity_is_that_of_a_real_server() {
        assert_eq!(identity_of(b"bob:secret"), "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=");
    }

    #[test]
    fn a_credential_without_a_colon_is_a_user() {
        assert_eq!(identity_of(b"abc"), "abc:qZk+NkcGgWq6PiVxeFDCbJzQ2J0=");
    }
}
