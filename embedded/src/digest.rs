//! The digest of ZooKeeper's `digest` scheme: SHA-1, written in Base64 (protocol section 5.4).
//!
//! Written out here because it is short, and nothing rests on its strength: whoever can set an
//! access list can read this server's memory.

use alloc::string::String;
use alloc::vec::Vec;

/// `user:` and the digest of `user:password`; a credential without a colon counts as a user.
pub(crate) fn identity_of(credential: &[u8]) -> String {
    let user = credential.split(|byte| *byte == b':').next();
    let mut identity = String::from_utf8_lossy(user.unwrap_or_default()).into_owned();
    identity.push(':');
    identity.push_str(&base64(&sha1(credential)));
    identity
}

fn sha1(message: &[u8]) -> [u8; 20] {
    let mut padded = Vec::with_capacity(message.len() + 72);
    padded.extend_from_slice(message);
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    let bits = (message.len() as u64).wrapping_mul(8);
    padded.extend_from_slice(&bits.to_be_bytes());

    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in padded.as_chunks::<64>().0 {
        compress(&mut state, block);
    }
    let mut digest = [0; 20];
    for (target, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *target = word.to_be_bytes();
    }
    digest
}

#[expect(clippy::many_single_char_names, reason = "the names in the standard")]
fn compress(state: &mut [u32; 5], block: &[u8; 64]) {
    let mut window = [0_u32; 16];
    for (word, bytes) in window.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for round in 0..80 {
        let (mix, constant) = match round / 20 {
            0 => ((b & c) | (!b & d), 0x5a82_7999),
            1 => (b ^ c ^ d, 0x6ed9_eba1),
            2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6_u32),
        };
        let [first, _, third, .., ninth, _, _, _, _, fourteenth, _, _] = window;
        let next = a
            .rotate_left(5)
            .wrapping_add(mix)
            .wrapping_add(e)
            .wrapping_add(constant)
            .wrapping_add(first);
        (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
        // The window slides over the message schedule: its first word is this round's.
        window.rotate_left(1);
        window[15] = (first ^ third ^ ninth ^ fourteenth).rotate_left(1);
    }
    for (word, addend) in state.iter_mut().zip([a, b, c, d, e]) {
        *word = word.wrapping_add(addend);
    }
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut group = [0; 4];
        for (target, byte) in group.iter_mut().skip(1).zip(chunk) {
            *target = *byte;
        }
        let group = u32::from_be_bytes(group);
        for place in 0..4 {
            let index = (group >> (18 - 6 * place)) & 0x3f;
            let letter = ALPHABET.get(index as usize).copied().unwrap_or(b'=');
            let padding = place > chunk.len();
            text.push(char::from(if padding { b'=' } else { letter }));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    /// The vectors of FIPS 180.
    #[test]
    fn sha1_gives_the_published_digests() {
        let long = alloc::vec![b'a'; 1_000_000];
        let cases: [(&[u8], &str); 4] = [
            (b"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            (b"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
            ),
            (&long, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        ];
        for (message, digest) in cases {
            let hex = sha1(message).iter().fold(String::new(), |hex, b| hex + &format!("{b:02x}"));
            assert_eq!(hex, digest);
        }
    }

    #[test]
    fn base64_pads_to_groups_of_four() {
        let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v")];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

    /// The vector of protocol section 5.4.
    #[test]
    fn the_identity_is_that_of_a_real_server() {
        assert_eq!(identity_of(b"bob:secret"), "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=");
    }
}
