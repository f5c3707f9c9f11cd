//! Session ids, and the passwords that follow from them.

use zk_jute::SessionId;
use zk_jute::records::PASSWORD_LEN;

use crate::config::Config;

/// Returns the first id: the server's number in the first byte, and behind it the seed, where
/// Apache's servers take the clock.
pub(super) fn first_session(config: &Config) -> SessionId {
    const BEHIND_SERVER_ID: u64 = (1 << 56) - 1;
    // This spreads small seeds over the bits above the 24 that count up.
    let started_at = config.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) << 24 & BEHIND_SERVER_ID;
    let id = u64::from(config.server_id) << 56 | started_at;
    // A client sends 0 to ask for a session, so no session may have that id.
    SessionId::new(id.max(1).cast_signed())
}

/// Derives the password from the id. Every server derives the same one, so they need not share it.
/// It is no secret: it comes from Java's `Random`, seeded with the id.
pub(super) fn password_of(session: SessionId) -> [u8; PASSWORD_LEN] {
    const SALT: u64 = 0xb341_5c00;
    const MULTIPLIER: u64 = 0x5_deec_e66d;
    const MODULUS_MASK: u64 = (1 << 48) - 1;
    let mut state = (session.get().cast_unsigned() ^ SALT ^ MULTIPLIER) & MODULUS_MASK;
    let mut password = [0; PASSWORD_LEN];
    for word in password.as_chunks_mut::<4>().0 {
        state = state.wrapping_mul(MULTIPLIER).wrapping_add(0xb) & MODULUS_MASK;
        let bits = u32::try_from(state >> 16).expect("32 of 48 bits are left");
        *word = bits.to_le_bytes();
    }
    password
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Apache ZooKeeper 3.9.5 gave these out.
    #[test]
    fn passwords_are_those_of_real_servers() {
        let password = password_of(SessionId::new(0x0100_0011_4fe6_0000));
        let expected = 0x3806_fe0c_6527_f4d9_d64f_76b7_b68a_042c_u128;
        assert_eq!(password, expected.to_be_bytes());
    }

    #[test]
    fn session_ids_begin_with_the_server_and_differ_by_seed() {
        let mut config = Config::default();
        let first = first_session(&config).get();
        assert_eq!(first, 0x0100_0000_0000_0000);
        config.seed = 1;
        let second = first_session(&config).get();
        assert_ne!(first, second);
        assert_eq!(second >> 56, 1);
        assert_eq!(second & 0xff_ffff, 0);
    }
}
