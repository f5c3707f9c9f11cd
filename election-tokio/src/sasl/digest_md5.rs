//! DIGEST-MD5 as a mechanism of the client.

use core::future::ready;
use std::io;

use zk_session::sasl::{DigestMd5, ServerProof};
use zk_session::{Secret, ServerAddress};

use super::{SaslError, SaslMechanism, SaslStep, SaslStepping};

/// The server begins and ends the exchange: it proves that it knows the password, too.
impl SaslMechanism for DigestMd5 {
    fn begin(&self, _: &ServerAddress) -> SaslStepping {
        let user = self.clone();
        let first = Secret::new([]);
        let step = SaslStep::send(first, move |challenge| ready(respond(&user, &challenge)));
        Box::pin(ready(Ok(step)))
    }
}

fn respond(user: &DigestMd5, challenge: &[u8]) -> Result<SaslStep, SaslError> {
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(io::Error::other)?;
    let (response, proof) = user.respond(challenge, nonce)?;
    Ok(SaslStep::send(response, move |token| ready(verify(proof, &token))))
}

fn verify(proof: ServerProof, token: &[u8]) -> Result<SaslStep, SaslError> {
    proof.verify(token)?;
    Ok(SaslStep::Done)
}
