//! Bodies of requests, by hand.

use core::time::Duration;

use zk_test_kit::opcode::Opcode;
use zk_test_kit::raw::{RawClient, RawError};

pub(crate) const SESSION: Duration = Duration::from_secs(30);

/// Everything but `READ`.
pub(crate) const HIDDEN: i32 = 30;
pub(crate) const OPEN: i32 = 31;

pub(crate) const NO_AUTH: i32 = -102;
pub(crate) const SESSION_EXPIRED: i32 = -112;
pub(crate) const THROTTLED: i32 = -127;

pub(crate) fn buffer(into: &mut Vec<u8>, bytes: &[u8]) {
    into.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    into.extend(bytes);
}

pub(crate) fn read(path: &str, watch: u8) -> Vec<u8> {
    let mut body = Vec::new();
    buffer(&mut body, path.as_bytes());
    body.push(watch);
    body
}

pub(crate) fn path(path: &str) -> Vec<u8> {
    let mut body = Vec::new();
    buffer(&mut body, path.as_bytes());
    body
}

fn everyone(into: &mut Vec<u8>, permissions: i32) {
    into.extend(1_i32.to_be_bytes());
    into.extend(permissions.to_be_bytes());
    buffer(into, b"world");
    buffer(into, b"anyone");
}

pub(crate) fn create(path: &str, permissions: i32) -> Vec<u8> {
    let mut body = self::path(path);
    buffer(&mut body, b"");
    everyone(&mut body, permissions);
    body.extend(0_i32.to_be_bytes());
    body
}

pub(crate) fn set_data(path: &str) -> Vec<u8> {
    let mut body = self::path(path);
    buffer(&mut body, b"x");
    body.extend((-1_i32).to_be_bytes());
    body
}

/// An entry of an access list: permissions, scheme and id.
pub(crate) type Entry<'a> = (i32, Option<&'a str>, Option<&'a str>);

fn nullable(into: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => buffer(into, text.as_bytes()),
        None => into.extend((-1_i32).to_be_bytes()),
    }
}

/// Returns a `create` with this access list.
pub(crate) fn create_for(path: &str, entries: &[Entry<'_>]) -> Vec<u8> {
    let mut body = self::path(path);
    buffer(&mut body, b"");
    body.extend(u32::try_from(entries.len()).unwrap_or(u32::MAX).to_be_bytes());
    for (permissions, scheme, id) in entries {
        body.extend(permissions.to_be_bytes());
        nullable(&mut body, *scheme);
        nullable(&mut body, *id);
    }
    body.extend(0_i32.to_be_bytes());
    body
}

/// Returns a `setData` that any version passes.
pub(crate) fn write(path: &str, data: Option<&str>) -> Vec<u8> {
    let mut body = self::path(path);
    nullable(&mut body, data);
    body.extend((-1_i32).to_be_bytes());
    body
}

/// Returns a `create` with data, for everyone.
pub(crate) fn create_with(path: &str, data: &str, flags: i32) -> Vec<u8> {
    let mut body = self::path(path);
    buffer(&mut body, data.as_bytes());
    everyone(&mut body, OPEN);
    body.extend(flags.to_be_bytes());
    body
}

/// Returns an `auth` of the scheme `digest`.
pub(crate) fn digest(credential: &str) -> Vec<u8> {
    let mut body = 0_i32.to_be_bytes().to_vec();
    buffer(&mut body, b"digest");
    buffer(&mut body, credential.as_bytes());
    body
}

/// Returns a transaction of one `check` that any version passes.
pub(crate) fn check_in_multi(path: &str) -> Vec<u8> {
    const CHECK: i32 = 13;
    let mut body = Vec::new();
    body.extend(CHECK.to_be_bytes());
    body.push(0);
    body.extend((-1_i32).to_be_bytes());
    buffer(&mut body, path.as_bytes());
    body.extend((-1_i32).to_be_bytes());
    body.extend((-1_i32).to_be_bytes());
    body.push(1);
    body.extend((-1_i32).to_be_bytes());
    body
}

/// Gives everyone these permissions.
pub(crate) fn permit(client: &mut RawClient, at: &str, permissions: i32) -> Result<(), RawError> {
    let mut body = path(at);
    everyone(&mut body, permissions);
    body.extend((-1_i32).to_be_bytes());
    client.request(Opcode::SET_ACL, &body).map(drop)
}

/// Sets one-shot watches again, of a client that has seen `seen`.
pub(crate) fn set_watches(seen: i64, [data, exist, child]: [&[&str]; 3]) -> Vec<u8> {
    let mut body = seen.to_be_bytes().to_vec();
    for paths in [data, exist, child] {
        body.extend(u32::try_from(paths.len()).unwrap_or(u32::MAX).to_be_bytes());
        for path in paths {
            buffer(&mut body, path.as_bytes());
        }
    }
    body
}
