//! DIGEST-MD5 (RFC 2831), the client's side, as ZooKeeper's server speaks it: quality of protection
//! `auth`, no subsequent authentication.
//!
//! MD5 has long been broken as a hash, and a reader of the exchange can try passwords against it.
//! Use it over TLS, and with passwords that cannot be guessed.

mod directives;

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use md5::{Digest, Md5};
use zeroize::Zeroizing;

use super::SaslFailure;
use crate::secret::Secret;
use directives::{Directives, put_quoted};

/// The service that the client asks for. ZooKeeper's servers use this name, whatever their host's.
const DIGEST_URI: &[u8] = b"zookeeper/zk-sasl-md5";
/// The client's first use of the server's nonce.
const NONCE_COUNT: &[u8] = b"00000001";
/// The longest token that a server may send (RFC 2831, section 2.1.1).
const LONGEST_CHALLENGE: usize = 2048;

/// A user and a password for the mechanism DIGEST-MD5.
///
/// The server sends its first token in answer to an empty one; answer it with
/// [`respond`](DigestMd5::respond). Then [`verify`](ServerProof::verify) the second one.
///
/// ```
/// use zk_session::Secret;
/// use zk_session::sasl::DigestMd5;
///
/// let bob = DigestMd5::new("bob", Secret::new("bobsecret"));
/// let challenge = br#"realm="zk-sasl-md5",nonce="xyz",charset=utf-8,algorithm=md5-sess"#;
/// let (response, _proof) = bob.respond(challenge, [7; 16])?;
/// assert!(response.expose().starts_with(br#"charset=utf-8,username="bob","#));
/// # Ok::<(), zk_session::sasl::SaslFailure>(())
/// ```
#[derive(Clone, Debug)]
pub struct DigestMd5 {
    user: String,
    password: Secret,
    authorize_as: Option<String>,
}

/// The token with which the server shows that it knows the password, too.
pub struct ServerProof {
    expected: [u8; 32],
}

impl DigestMd5 {
    /// Creates the user named `user`: on the server, `user_NAME="PASSWORD"` in the JAAS section
    /// `Server`.
    pub fn new(user: impl Into<String>, password: Secret) -> Self {
        Self { user: user.into(), password, authorize_as: None }
    }

    /// Asks to act as `identity` instead of as the user. ZooKeeper grants only the user's own name.
    #[must_use]
    pub fn authorize_as(mut self, identity: impl Into<String>) -> Self {
        self.authorize_as = Some(identity.into());
        self
    }

    /// Answers the server's challenge. `nonce` must be random and used once.
    ///
    /// # Errors
    ///
    /// [`SaslFailure::Challenge`] if the token is not a challenge of DIGEST-MD5 with quality
    /// `auth`; [`SaslFailure::Unencodable`] if its character set lacks characters of the user or
    /// the password.
    pub fn respond(
        &self,
        challenge: &[u8],
        nonce: [u8; 16],
    ) -> Result<(Secret, ServerProof), SaslFailure> {
        self.respond_with(challenge, &hex(nonce))
    }

    fn respond_with(
        &self,
        challenge: &[u8],
        client_nonce: &[u8],
    ) -> Result<(Secret, ServerProof), SaslFailure> {
        let challenge = Challenge::parse(challenge).ok_or(SaslFailure::Challenge)?;
        let hashes = self.hashes(&challenge, client_nonce)?;
        let charset = challenge.charset;
        let mut response = Vec::new();
        if charset == Charset::Utf8 {
            response.extend_from_slice(b"charset=utf-8,");
        }
        put_quoted(&mut response, "username", &charset.encode(&self.user)?);
        if let Some(realm) = &challenge.realm {
            put_quoted(&mut response, ",realm", realm);
        }
        put_quoted(&mut response, ",nonce", &challenge.nonce);
        put_quoted(&mut response, ",cnonce", client_nonce);
        put_quoted(&mut response, ",digest-uri", DIGEST_URI);
        for part in [b",nc=", NONCE_COUNT, b",qop=auth,maxbuf=65536,response=", &hashes.response] {
            response.extend_from_slice(part);
        }
        if let Some(identity) = &self.authorize_as {
            // This is UTF-8, whatever the character set.
            put_quoted(&mut response, ",authzid", identity.as_bytes());
        }
        Ok((Secret::new(response), ServerProof { expected: hashes.server_proof }))
    }

    /// RFC 2831, section 2.1.2.1.
    fn hashes(
        &self,
        challenge: &Challenge<'_>,
        client_nonce: &[u8],
    ) -> Result<Hashes, SaslFailure> {
        let password = core::str::from_utf8(self.password.expose());
        let password = password.map_err(|_| SaslFailure::Unencodable)?;
        let password = Zeroizing::new(challenge.charset.encode_hashed(password)?.into_owned());
        let user = challenge.charset.encode_hashed(&self.user)?;
        let realm = challenge.hashed_realm();
        let user_hash = Zeroizing::new(md5(&[&user, b":", &realm, b":", &password]));
        let nonce = &*challenge.nonce;
        let authzid = self.authorize_as.iter().map(|identity| [":", identity].concat());
        let authzid = authzid.collect::<String>();
        let parts: [&[u8]; 6] = [&*user_hash, b":", nonce, b":", client_nonce, authzid.as_bytes()];
        let key = Zeroizing::new(hex(md5(&parts)));
        let keyed = |method: &[u8]| {
            let a2 = hex(md5(&[method, b":", DIGEST_URI]));
            let parts: [&[u8]; 9] =
                [&*key, b":", nonce, b":", NONCE_COUNT, b":", client_nonce, b":auth:", &a2];
            hex(md5(&parts))
        };
        Ok(Hashes { response: keyed(b"AUTHENTICATE"), server_proof: keyed(b"") })
    }
}

impl ServerProof {
    /// Checks that `token`, the server's answer to the response, proves that it knows the password.
    ///
    /// # Errors
    ///
    /// [`SaslFailure::ServerUnproved`] if it does not.
    pub fn verify(self, token: &[u8]) -> Result<(), SaslFailure> {
        let mut proof = None;
        for directive in Directives::new(token) {
            let directive = directive.map_err(|_| SaslFailure::ServerUnproved)?;
            if directive.is("rspauth") && proof.replace(directive.value).is_some() {
                return Err(SaslFailure::ServerUnproved);
            }
        }
        match proof {
            Some(proof) if *proof == self.expected => Ok(()),
            _ => Err(SaslFailure::ServerUnproved),
        }
    }
}

impl fmt::Debug for ServerProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerProof").finish_non_exhaustive()
    }
}

/// The hashes of the shared secret with both nonces.
struct Hashes {
    response: [u8; 32],
    server_proof: [u8; 32],
}

/// The server's first token.
struct Challenge<'a> {
    /// The first one, if there are several.
    realm: Option<Cow<'a, [u8]>>,
    nonce: Cow<'a, [u8]>,
    charset: Charset,
}

impl<'a> Challenge<'a> {
    /// Parses the token. Returns `None` if it is malformed, repeats a directive that must be
    /// unique, or offers nothing that this client can do.
    fn parse(token: &'a [u8]) -> Option<Self> {
        if token.len() > LONGEST_CHALLENGE {
            return None;
        }
        let (mut realm, mut nonce, mut charset) = (None, None, None);
        let (mut algorithm, mut quality) = (None, None);
        for directive in Directives::new(token) {
            let directive = directive.ok()?;
            if directive.is("realm") {
                realm = realm.or(Some(directive.value));
                continue;
            }
            let known = [
                ("nonce", &mut nonce),
                ("charset", &mut charset),
                ("algorithm", &mut algorithm),
                ("qop", &mut quality),
            ];
            let known = known.into_iter().find(|(name, _)| directive.is(name));
            let Some((_, once)) = known else {
                continue;
            };
            if once.replace(directive.value).is_some() {
                return None;
            }
        }
        let charset = match charset {
            None => Charset::Latin1,
            Some(name) if name.eq_ignore_ascii_case(b"utf-8") => Charset::Utf8,
            Some(_) => return None,
        };
        let is_session_md5 = algorithm?.eq_ignore_ascii_case(b"md5-sess");
        let offers_auth = quality.is_none_or(|offered| {
            offered
                .split(|&byte| byte == b',')
                .any(|offer| offer.trim_ascii().eq_ignore_ascii_case(b"auth"))
        });
        (is_session_md5 && offers_auth).then_some(Self { realm, nonce: nonce?, charset })
    }

    fn hashed_realm(&self) -> Cow<'_, [u8]> {
        let realm = self.realm.as_deref().unwrap_or_default();
        match (self.charset, core::str::from_utf8(realm)) {
            (Charset::Utf8, Ok(text)) => to_latin1(text).map_or(Cow::Borrowed(realm), Cow::Owned),
            (Charset::Utf8, Err(_)) | (Charset::Latin1, _) => Cow::Borrowed(realm),
        }
    }
}

/// The character set of the names that the client writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Charset {
    Utf8,
    Latin1,
}

impl Charset {
    /// Encodes a text for the response.
    fn encode(self, text: &str) -> Result<Cow<'_, [u8]>, SaslFailure> {
        match self {
            Self::Utf8 => Ok(Cow::Borrowed(text.as_bytes())),
            Self::Latin1 => self.encode_hashed(text),
        }
    }

    /// Encodes a text for the hashes, where ISO 8859-1 comes first whatever the character set.
    fn encode_hashed(self, text: &str) -> Result<Cow<'_, [u8]>, SaslFailure> {
        match (to_latin1(text), self) {
            (Some(latin1), _) => Ok(Cow::Owned(latin1)),
            (None, Self::Utf8) => Ok(Cow::Borrowed(text.as_bytes())),
            (None, Self::Latin1) => Err(SaslFailure::Unencodable),
        }
    }
}

/// Encodes a text in ISO 8859-1, if that has all the characters. The result takes no more bytes
/// than `text`, so the buffer does not grow and leaves no copy behind.
fn to_latin1(text: &str) -> Option<Vec<u8>> {
    let mut latin1 = Vec::with_capacity(text.len());
    for character in text.chars() {
        latin1.push(u8::try_from(character).ok()?);
    }
    Some(latin1)
}

fn md5(parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = Md5::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}

fn hex(bytes: [u8; 16]) -> [u8; 32] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or(b'0');
    let mut text = [b'0'; 32];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        if let [high, low] = pair {
            (*high, *low) = (digit(byte >> 4), digit(byte & 0xf));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    /// As a server 3.8.0 sent it.
    const CHALLENGE: &str = "realm=\"zk-sasl-md5\",\
        nonce=\"DOD0t/GLxp14bgGDYoiVmJVa6QRUsfy/2W0xoU5C\",charset=utf-8,algorithm=md5-sess";

    fn bob() -> DigestMd5 {
        DigestMd5::new("bob", Secret::new("bobsecret"))
    }

    fn respond(user: &DigestMd5, challenge: &str) -> Result<String, SaslFailure> {
        let (response, _) = user.respond_with(challenge.as_bytes(), b"abcdefghijklmnop")?;
        Ok(String::from_utf8_lossy(response.expose()).into_owned())
    }

    /// Both hashes as they were exchanged with a server 3.8.0.
    #[test]
    fn the_hashes_are_those_of_a_real_server() {
        let answered = bob().respond_with(CHALLENGE.as_bytes(), b"abcdefghijklmnop");
        let (response, proof) = answered.expect("a challenge");
        let response = core::str::from_utf8(response.expose()).expect("text");
        assert_eq!(
            response,
            "charset=utf-8,username=\"bob\",realm=\"zk-sasl-md5\",\
             nonce=\"DOD0t/GLxp14bgGDYoiVmJVa6QRUsfy/2W0xoU5C\",cnonce=\"abcdefghijklmnop\",\
             digest-uri=\"zookeeper/zk-sasl-md5\",nc=00000001,qop=auth,maxbuf=65536,\
             response=c981a178e70b63ea1ba123fbbfdb540e"
        );
        assert_eq!(proof.verify(b"rspauth=1b9f024cfb86c734564b5ec2382fcb67"), Ok(()));
    }

    #[test]
    fn a_server_that_does_not_know_the_password_is_not_believed() {
        let wrong = b"rspauth=1b9f024cfb86c734564b5ec2382fcb68".as_slice();
        let right = "rspauth=1b9f024cfb86c734564b5ec2382fcb67";
        let twice = format!("{right},{right}");
        let unended = format!("{right},x=\"");
        for token in [b"".as_slice(), b"rspauth=", wrong, twice.as_bytes(), unended.as_bytes()] {
            let answered = bob().respond_with(CHALLENGE.as_bytes(), b"abcdefghijklmnop");
            let (_, proof) = answered.expect("a challenge");
            assert_eq!(proof.verify(token), Err(SaslFailure::ServerUnproved));
        }
    }

    #[test]
    fn what_is_no_challenge_is_refused() {
        let long = format!("{CHALLENGE},x=\"{}\"", "y".repeat(2048));
        for challenge in [
            "",
            "nonce",
            "nonce=",
            "nonce=\"a\"",
            "algorithm=md5-sess",
            "nonce=\"a\",algorithm=md5",
            "nonce=\"a\",nonce=\"b\",algorithm=md5-sess",
            "nonce=\"a\",algorithm=md5-sess,algorithm=md5-sess",
            "nonce=\"a\",algorithm=md5-sess,qop=\"auth-int,auth-conf\"",
            "nonce=\"a\",algorithm=md5-sess,charset=utf-16",
            "nonce=\"a,algorithm=md5-sess",
            "nonce=\"a\"b,algorithm=md5-sess",
            "nonce=\"a\\",
            &long,
        ] {
            assert_eq!(respond(&bob(), challenge), Err(SaslFailure::Challenge), "{challenge}");
        }
    }

    #[test]
    fn a_challenge_may_be_written_in_many_ways() {
        for challenge in [
            "nonce=a,algorithm=md5-sess",
            " , NONCE = \"a\" ,\r\n\tAlgorithm=MD5-SESS , ",
            "nonce=\"\\a\",algorithm=\"md5-sess\",qop=\"auth-int, AUTH\",stale=true",
        ] {
            let response = respond(&bob(), challenge).expect(challenge);
            assert!(response.contains(",nonce=\"a\","), "{response}");
            assert!(!response.contains("realm"), "{response}");
        }
    }

    #[test]
    fn the_first_realm_is_taken() {
        let challenge = "realm=\"a\",realm=\"b\",nonce=\"n\",algorithm=md5-sess";
        let response = respond(&bob(), challenge).expect("a challenge");
        assert!(response.contains(",realm=\"a\","), "{response}");
        assert!(!response.contains("\"b\""), "{response}");
    }

    #[test]
    fn what_would_end_a_quoted_string_is_escaped() {
        let user = DigestMd5::new("a\"b\\c", Secret::new("x")).authorize_as("d\",e");
        let response = respond(&user, "nonce=\"n\\\"m\",algorithm=md5-sess").expect("a challenge");
        assert!(response.starts_with(r#"username="a\"b\\c","#), "{response}");
        assert!(response.contains(r#",nonce="n\"m","#), "{response}");
        assert!(response.ends_with(r#",authzid="d\",e""#), "{response}");
    }

    /// Without `charset=utf-8` the server reads ISO 8859-1.
    #[test]
    fn a_name_is_sent_in_the_character_set_of_the_server() {
        let challenge = "nonce=\"n\",algorithm=md5-sess";
        let user = DigestMd5::new("zoë", Secret::new("x"));
        let (response, _) = user.respond(challenge.as_bytes(), [0; 16]).expect("a challenge");
        assert!(response.expose().starts_with(b"username=\"zo\xeb\","));
        let utf8 = format!("{challenge},charset=utf-8");
        let response = respond(&user, &utf8).expect("a challenge");
        assert!(response.starts_with("charset=utf-8,username=\"zoë\","), "{response}");

        let beyond = DigestMd5::new("ζωή", Secret::new("x"));
        assert_eq!(respond(&beyond, challenge), Err(SaslFailure::Unencodable));
        assert!(respond(&beyond, &utf8).is_ok());
        let beyond = DigestMd5::new("zoë", Secret::new("ζωή"));
        assert_eq!(respond(&beyond, challenge), Err(SaslFailure::Unencodable));
        let no_text = DigestMd5::new("zoë", Secret::new(vec![0xff]));
        assert_eq!(respond(&no_text, &utf8), Err(SaslFailure::Unencodable));
    }

    #[test]
    fn secrets_are_not_shown() {
        let shown = format!("{:?}", bob());
        assert!(shown.contains("bob") && !shown.contains("secret\""), "{shown}");
        assert!(!shown.contains("bobsecret"), "{shown}");
    }

    proptest! {
        #[test]
        fn no_challenge_and_no_proof_makes_it_panic(
            challenge in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..200),
                "(realm|nonce|qop|charset|algorithm|x)=[a\", =\\\\]{0,9}".prop_map(String::into_bytes),
            ],
            proof in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let _ = bob().respond(&challenge, [1; 16]);
            let (_, expected) = bob().respond(CHALLENGE.as_bytes(), [1; 16]).expect("a challenge");
            prop_assert_eq!(expected.verify(&proof), Err(SaslFailure::ServerUnproved));
        }

        /// Whatever a string holds, it is read as it was written.
        #[test]
        fn quoted_strings_are_read_as_they_were_written(
            text in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut written = Vec::new();
            put_quoted(&mut written, "name", &text);
            let read: Vec<_> = Directives::new(&written).collect();
            prop_assert!(matches!(read.as_slice(), [Ok(read)] if *read.value == *text), "{read:?}");
        }
    }
}
