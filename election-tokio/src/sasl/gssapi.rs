//! GSSAPI with Kerberos (RFC 4752), by the system's library.

use std::io;

use libgssapi::context::{ClientCtx, CtxFlags, SecurityContext};
use libgssapi::error::Error;
use libgssapi::name::Name;
use libgssapi::oid::{GSS_MECH_KRB5, GSS_NT_HOSTBASED_SERVICE, GSS_NT_KRB5_PRINCIPAL, Oid};
use tracing::debug;
use zk_session::sasl::SaslFailure;
use zk_session::{Secret, ServerAddress};

use super::{SaslError, SaslMechanism, SaslStep, SaslStepping};

/// A flag in the server's offer, and the only one in the client's answer: bytes stay as they are.
const NO_SECURITY_LAYER: u8 = 1;

/// Kerberos: the mechanism GSSAPI, with the ticket in the default credentials cache (`kinit`, or a
/// client keytab in `KRB5_CLIENT_KTNAME`).
///
/// Calls of the library run on tokio's threads for blocking work, because they may ask the key
/// distribution centre. A step that fails there, for example without a ticket, is tried again on
/// the next connection.
#[derive(Clone, Debug, Default)]
pub struct Gssapi {
    server_principal: Option<String>,
}

impl Gssapi {
    /// Uses the principals `zookeeper/HOST` for servers. HOST is that of the connect string, or
    /// what the library makes of it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses this principal for all servers: `zookeeper/zk.example.com@EXAMPLE.COM`.
    #[must_use]
    pub fn server_principal(mut self, principal: impl Into<String>) -> Self {
        self.server_principal = Some(principal.into());
        self
    }
}

impl SaslMechanism for Gssapi {
    fn begin(&self, server: &ServerAddress) -> SaslStepping {
        let (name, kind) = match &self.server_principal {
            Some(principal) => (principal.clone(), GSS_NT_KRB5_PRINCIPAL),
            None => (["zookeeper@", &server.host].concat(), GSS_NT_HOSTBASED_SERVICE),
        };
        Box::pin(blocking(move || initiate(&name, kind)))
    }
}

async fn blocking(
    step: impl FnOnce() -> Result<SaslStep, SaslError> + Send + 'static,
) -> Result<SaslStep, SaslError> {
    tokio::task::spawn_blocking(step).await.map_err(io::Error::other)?
}

fn initiate(name: &str, kind: Oid<'static>) -> Result<SaslStep, SaslError> {
    let name = Name::new(name.as_bytes(), Some(kind)).map_err(unavailable)?;
    let flags = CtxFlags::GSS_C_MUTUAL_FLAG | CtxFlags::GSS_C_INTEG_FLAG;
    let mut context = ClientCtx::new(None, name, flags, Some(GSS_MECH_KRB5));
    let token = context.step(None, None).map_err(unavailable)?;
    Ok(send(context, token.as_deref().unwrap_or_default()))
}

/// Sends the next token of the context, as many as it takes; then comes the server's offer.
fn send(mut context: ClientCtx, token: &[u8]) -> SaslStep {
    SaslStep::send(Secret::new(token), move |answer| {
        blocking(move || {
            if context.is_complete() {
                return decline_layers(context, &answer);
            }
            let token = context.step(Some(&answer), None).map_err(foreign)?;
            Ok(send(context, token.as_deref().unwrap_or_default()))
        })
    })
}

fn decline_layers(mut context: ClientCtx, offer: &[u8]) -> Result<SaslStep, SaslError> {
    let flags = context.flags().map_err(unavailable)?;
    // Any server confirms the last token, so the server has to prove itself before.
    if !flags.contains(CtxFlags::GSS_C_MUTUAL_FLAG) {
        return Err(SaslFailure::ServerUnproved.into());
    }
    let offer = context.unwrap(offer).map_err(foreign)?;
    match *offer {
        [layers, _, _, _] if layers & NO_SECURITY_LAYER != 0 => {}
        _ => return Err(SaslFailure::Challenge.into()),
    }
    let answer = context.wrap(false, &[NO_SECURITY_LAYER, 0, 0, 0]).map_err(unavailable)?;
    Ok(SaslStep::SendLast(Secret::new(&*answer)))
}

fn unavailable(error: Error) -> SaslError {
    SaslError::Unavailable(io::Error::other(error.to_string()))
}

/// Makes an error of a token that the library refuses.
fn foreign(error: Error) -> SaslError {
    debug!(%error, "the server's token was not accepted");
    SaslFailure::Challenge.into()
}
