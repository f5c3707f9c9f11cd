//! Making the sessions of a host.

use zk_session::{Instant, Session, SubmitError};

use crate::key::{Tag, Watcher};
use crate::settings::{Resumption, Settings};

/// A session of a host.
pub(crate) type HostSession<T, W> = Session<Tag<T>, Watcher<W>>;

/// # Errors
///
/// An identity that no server would read.
pub(crate) fn first_session<T, W: Clone>(
    settings: &Settings,
    now: Instant,
) -> Result<HostSession<T, W>, SubmitError> {
    let Some(Resumption { ticket, .. }) = &settings.resumption else {
        return new_session(settings, 0, now);
    };
    let session = Session::resume(ticket, settings.session.clone(), settings.seed, now);
    authenticated(session, settings, now)
}

/// # Errors
///
/// An identity that no server would read.
pub(crate) fn new_session<T, W: Clone>(
    settings: &Settings,
    generation: u64,
    now: Instant,
) -> Result<HostSession<T, W>, SubmitError> {
    let seed = settings.seed.wrapping_add(generation);
    authenticated(Session::new(settings.session.clone(), seed, now), settings, now)
}

fn authenticated<T, W: Clone>(
    mut session: HostSession<T, W>,
    settings: &Settings,
    now: Instant,
) -> Result<HostSession<T, W>, SubmitError> {
    for identity in &settings.identities {
        session.authenticate(now, &identity.scheme, identity.credential.expose())?;
    }
    Ok(session)
}
