//! Servers that know users by SASL, with DIGEST-MD5.

use core::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};

use election_tokio::{
    Client, ClientBuilder,
    sasl::{DigestMd5, Secret},
};

use crate::wait::SOON;
use crate::zookeeper::{Options, Server};

/// A user and a password.
pub type User<'a> = (&'a str, &'a str);

/// A user that a test's servers know.
pub const BOB: User<'static> = ("bob", "bobsecret");

const JAAS_FILE: &str = "jaas.conf";

/// Options of a server that knows these users.
pub fn options(users: &[User<'_>]) -> Options {
    Options::new()
        .file(JAAS_FILE, jaas(users))
        .system_property("java.security.auth.login.config", format!("./{JAAS_FILE}"))
        .config_line(
            "authProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider",
        )
}

/// Has the server know these users, and no others, from its next start.
pub fn rewrite_users(server: &Server, users: &[User<'_>]) -> io::Result<()> {
    fs::write(server.folder().join(JAAS_FILE), jaas(users))
}

/// Has the server know this user, and no others, from its next start. The password passes through this
/// process a byte at a time, so that no copy of it is left in memory.
pub fn write_user(
    server: &Server,
    name: &str,
    password: impl Iterator<Item = u8>,
) -> io::Result<()> {
    let mut file = fs::File::create(server.folder().join(JAAS_FILE))?;
    let text = jaas(&[(name, "\n")]);
    let (before, after) = text.split_once("\"\n\"").unwrap_or_default();
    write!(file, "{before}\"")?;
    for byte in password {
        file.write_all(&[byte])?;
    }
    write!(file, "\"{after}")
}

/// Returns a client that authenticates as this user.
pub fn builder(servers: &str, (name, password): User<'_>) -> ClientBuilder {
    let user = DigestMd5::new(name, Secret::new(password));
    Client::builder(servers).connect_timeout(SOON).sasl(user)
}

fn jaas(users: &[User<'_>]) -> String {
    let mut text =
        String::from("Server {\n  org.apache.zookeeper.server.auth.DigestLoginModule required");
    for (name, password) in users {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "\n  user_{name}=\"{password}\"");
    }
    text.push_str(";\n};\n");
    text
}
