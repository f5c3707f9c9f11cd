//! Handing a session to another process.

use alloc::string::String;
use alloc::vec;
use core::fmt::{self, Write as _};
use core::str::FromStr;
use core::time::Duration;

use zk_jute::{SessionId, Zxid};

use crate::secret::Secret;

/// Lets another process continue a session: holds its id, its password and its timeouts.
///
/// Using a ticket, valid or not, disconnects the client that holds the session, because a server
/// closes that connection before it compares the password. So use a ticket once, and keep it
/// secret. `Debug` does not show the password, which is overwritten when the ticket is dropped.
#[derive(Clone, PartialEq, Eq)]
#[must_use = "without its ticket a session is left to expire"]
pub struct SessionTicket {
    session: SessionId,
    password: Secret,
    timeouts: Timeouts,
    last_zxid: Zxid,
}

/// The timeouts that the servers granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeouts {
    pub(crate) last: Duration,
    pub(crate) least: Duration,
}

impl SessionTicket {
    pub(crate) const fn new(
        session: SessionId,
        password: Secret,
        timeouts: Timeouts,
        last_zxid: Zxid,
    ) -> Self {
        Self { session, password, timeouts, last_zxid }
    }

    /// Returns the session.
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// Returns the timeout that the servers granted last. After the last sign of life they keep the
    /// session, and its ephemeral znodes, for this time.
    pub const fn timeout(&self) -> Duration {
        self.timeouts.last
    }

    /// Returns the least timeout that any server ever granted to the session, its creation
    /// included. The lease counts with it, because a server that restarts, and a new ZooKeeper
    /// leader, use the timeout of the creation.
    pub const fn least_timeout(&self) -> Duration {
        self.timeouts.least
    }

    /// Returns the last transaction that the session has seen. A server that has not applied it
    /// does not continue the session, so the session never reads an older state.
    pub const fn last_zxid(&self) -> Zxid {
        self.last_zxid
    }

    pub(crate) const fn password(&self) -> &Secret {
        &self.password
    }

    /// Writes the ticket in letters and digits, with its password; [`str::parse`] reads it. The
    /// caller has to keep the copy from other users, and to remove it.
    pub fn expose(&self) -> String {
        let (session, zxid) = (self.session.get(), self.last_zxid.get());
        let (timeout, least) = (self.timeouts.last.as_millis(), self.timeouts.least.as_millis());
        let mut text = String::with_capacity(128);
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{FORM}.{session:016x}.{timeout}.{least}.");
        for byte in self.password.expose() {
            let _ = write!(text, "{byte:02x}");
        }
        // It comes last, since its length is known: this shows whether a text was cut off.
        let _ = write!(text, ".{zxid:016x}");
        text
    }
}

/// The first word of the text. It changes with the form of the rest.
///
/// `zks1` had no least timeout. Without it the lease could be longer than the servers remember the
/// session, so such a text is refused.
const FORM: &str = "zks2";

impl fmt::Debug for SessionTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionTicket")
            .field("session", &self.session)
            .field("timeout", &self.timeouts.last)
            .field("least_timeout", &self.timeouts.least)
            .field("last_zxid", &self.last_zxid)
            .finish_non_exhaustive()
    }
}

/// The text is no ticket of this release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a session ticket, or not one of this release")]
pub struct ParseTicketError;

impl FromStr for SessionTicket {
    type Err = ParseTicketError;

    /// Reads the text of [`SessionTicket::expose`].
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut fields = text.split('.');
        let mut next = || fields.next().ok_or(ParseTicketError);
        if next()? != FORM {
            return Err(ParseTicketError);
        }
        let session = SessionId::new(hexadecimal(next()?)?.cast_signed());
        let timeouts = Timeouts { last: millis(next()?)?, least: millis(next()?)? };
        let password = password(next()?)?;
        let last_zxid = Zxid::new(hexadecimal(next()?)?.cast_signed());
        let is_whole = fields.next().is_none();
        let is_possible = session != SessionId::NONE
            && last_zxid >= Zxid::ZERO
            && !timeouts.least.is_zero()
            && timeouts.least <= timeouts.last;
        if !is_whole || !is_possible {
            return Err(ParseTicketError);
        }
        Ok(Self::new(session, password, timeouts, last_zxid))
    }
}

fn millis(digits: &str) -> Result<Duration, ParseTicketError> {
    // `parse` alone would also accept a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ParseTicketError);
    }
    let millis: u32 = digits.parse().map_err(|_| ParseTicketError)?;
    Ok(Duration::from_millis(millis.into()))
}

fn hexadecimal(digits: &str) -> Result<u64, ParseTicketError> {
    // `from_str_radix` alone would also accept a sign.
    if digits.len() != 16 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(ParseTicketError);
    }
    u64::from_str_radix(digits, 16).map_err(|_| ParseTicketError)
}

fn password(digits: &str) -> Result<Secret, ParseTicketError> {
    let mut password = Secret::new(vec![0; digits.len().div_ceil(2)]);
    for (byte, pair) in password.expose_mut().iter_mut().zip(digits.as_bytes().chunks(2)) {
        let &[high, low] = pair else {
            return Err(ParseTicketError);
        };
        let digit = |digit: u8| char::from(digit).to_digit(16).ok_or(ParseTicketError);
        let value = digit(high)? << 4 | digit(low)?;
        *byte = u8::try_from(value).map_err(|_| ParseTicketError)?;
    }
    Ok(password)
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    fn ticket() -> SessionTicket {
        SessionTicket::new(
            SessionId::new(-2),
            Secret::new(b"sixteen bytes ok"),
            Timeouts { last: Duration::from_secs(6), least: Duration::from_secs(4) },
            Zxid::new(0x1_0000_0007),
        )
    }

    #[test]
    fn a_ticket_is_read_from_its_text() {
        let text = ticket().expose();
        assert_eq!(
            text,
            "zks2.fffffffffffffffe.6000.4000.7369787465656e206279746573206f6b.0000000100000007"
        );
        assert_eq!(text.parse(), Ok(ticket()));
        assert_eq!(ticket().least_timeout(), Duration::from_secs(4));
    }

    #[test]
    fn a_ticket_does_not_show_its_password() {
        let shown = format!("{:?}", ticket());
        assert!(shown.contains("SessionId(0xfffffffffffffffe)"), "{shown}");
        assert!(!shown.contains("73697874") && !shown.contains("115"), "{shown}");
    }

    #[test]
    fn other_texts_are_refused() {
        let text = ticket().expose();
        for end in 0..text.len() {
            assert_eq!(text[..end].parse::<SessionTicket>(), Err(ParseTicketError), "{end}");
        }
        for (part, other) in [
            ("zks2", "zks1"),
            // The former form, without the least timeout.
            ("zks2.fffffffffffffffe.6000.4000", "zks1.fffffffffffffffe.6000"),
            (".4000", ""),
            ("fffffffffffffffe", "0000000000000000"),
            ("fffffffffffffffe", "+000000000000001"),
            ("fffffffffffffffe", "1fffffffffffffffe"),
            ("6000", "0"),
            ("6000", "-1"),
            ("6000", "+6000"),
            ("6000", "3999"),
            ("4000", "0"),
            ("4000", ""),
            ("4000", "6001"),
            ("0000000100000007", "ffffffffffffffff"),
            ("6f6b", "6f6x"),
            ("6f6b", "6f6b0"),
            ("6f6b", "6f6b.0"),
            ("00000007", "00000007."),
            ("6f6b", "6f6\u{e9}"),
        ] {
            let wrong = text.replace(part, other);
            assert_eq!(wrong.parse::<SessionTicket>(), Err(ParseTicketError), "{wrong}");
        }
    }
}
