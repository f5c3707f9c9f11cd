//! The `ip` scheme: addresses and networks.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::IpAddr;

/// An address, or all addresses that share its first bits. IPv6 works as in ZooKeeper since 3.9.4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IpRange {
    address: IpAddr,
    prefix_bits: u32,
    /// As the client wrote it, because `getACL` shows it so.
    text: String,
}

impl IpRange {
    /// Reads `address` or `address/bits`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let longest = match address {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        };
        let prefix_bits = bits.map_or(Some(longest), |bits| bits.parse().ok())?;
        (prefix_bits <= longest).then(|| Self { address, prefix_bits, text: text.to_string() })
    }

    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let (own, other, length) = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits().into(), other.to_bits().into(), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits(), 128),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
        };
        let differing: u128 = own ^ other;
        // A shift by all 128 bits leaves nothing to compare.
        differing.checked_shr(length - self.prefix_bits).is_none_or(|prefix| prefix == 0)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Writes an address as Java does: IPv6 without abbreviation. Clients see it in this form.
pub(crate) fn java_text(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let segments = address.segments().map(|segment| alloc::format!("{segment:x}"));
            Vec::from(segments).join(":")
        }
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv6Addr;

    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_range_is_compared_by_its_prefix() {
        let cases = [
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("127.0.0.0/8", "127.9.9.9", true),
            ("127.0.0.0/8", "128.0.0.1", false),
            ("10.0.0.128/25", "10.0.0.127", false),
            ("0.0.0.0/0", "10.1.2.3", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "fe80::1", true),
            ("fe80::/10", "fe80::1", true),
            ("fe80::/10", "::1", false),
            ("::1", "::1", true),
        ];
        for (range, peer, inside) in cases {
            let parsed = IpRange::parse(range).expect("a range");
            assert_eq!(parsed.contains(address(peer)), inside, "{range} {peer}");
            assert_eq!(parsed.text(), range);
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for text in ["", "bob", "10.0.0", "10.0.0.1/33", "10.0.0.1/-1", "::/129", "::1/", "/8"] {
            assert_eq!(IpRange::parse(text), None, "{text}");
        }
    }

    #[test]
    fn addresses_are_written_as_java_does() {
        assert_eq!(java_text(address("127.0.0.1")), "127.0.0.1");
        assert_eq!(java_text(Ipv6Addr::LOCALHOST.into()), "0:0:0:0:0:0:0:1");
    }
}
