//! The creation of a host's sessions.

use zk_session::lease::LeaseUpkeep;
use zk_session::{Instant, Session, SubmitError};

use crate::key::{Tag, Watcher};
use crate::settings::{Resumption, Settings};

/// A session of a host.
pub(crate) type HostSession<T, W> = Session<Tag<T>, Watcher<W>>;

/// # Errors
///
/// An identity that no server would accept.
pub(crate) fn first_session<T, W: Clone>(
    settings: &Settings,
    now: Instant,
) -> Result<HostSession<T, W>, SubmitError> {
    let Some(Resumption { ticket, .. }) = settings.resumption.as_deref() else {
        let session = Session::new(settings.session.clone(), settings.seed, now);
        return prepared(session, settings, now);
    };
    let session = Session::resume(ticket, settings.session.clone(), settings.seed, now);
    prepared(session, settings, now)
}

/// Creates the session that replaces an expired one, as the session of this generation.
///
/// # Errors
///
/// An identity that no server would accept.
pub(crate) fn next_session<T, W: Clone>(
    expired: &HostSession<T, W>,
    settings: &Settings,
    generation: u64,
    now: Instant,
) -> Result<HostSession<T, W>, SubmitError> {
    let seed = settings.seed.wrapping_add(generation);
    let session = Session::replacing(expired, settings.session.clone(), seed, now);
    prepared(session, settings, now)
}

fn prepared<T, W: Clone>(
    mut session: HostSession<T, W>,
    settings: &Settings,
    now: Instant,
) -> Result<HostSession<T, W>, SubmitError> {
    for identity in &settings.identities {
        session.authenticate(now, &identity.scheme, identity.credential.expose())?;
    }
    session.keep_lease(now, LeaseUpkeep::Ready)?;
    Ok(session)
}
