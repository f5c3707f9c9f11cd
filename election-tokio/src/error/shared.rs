//! Errors of other libraries, with their types.

use core::error::Error;
use core::fmt;
use core::ops::Deref;
use std::io;
use std::sync::Arc;

use zk_jute::Escaped;

/// An error of any type, shared. It displays as that error, and dereferences to it. It
/// [escapes](Escaped) characters that a terminal would act upon or hide, because a peer may have
/// influenced the text.
///
/// It is not an [`Error`] itself. A caller finds the inner error by its own type, in the field that
/// holds it: `reason.downcast_ref::<std::io::Error>()`. An error that does not say it in its text
/// names the inner error as its [`source`](Error::source).
///
/// Two of them are equal if they display the same.
#[derive(Clone)]
pub struct SharedError(Arc<dyn Error + Send + Sync>);

impl SharedError {
    /// Shares an error, or a text as an error.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(Arc::from(error.into()))
    }
}

impl From<io::Error> for SharedError {
    fn from(error: io::Error) -> Self {
        Self::new(error)
    }
}

impl Deref for SharedError {
    type Target = dyn Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for SharedError {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.to_string() == other.to_string()
    }
}

impl Eq for SharedError {}

impl fmt::Debug for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Escaped(&self.0), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("holder")]
    struct Holder(#[source] SharedError);

    #[test]
    fn the_source_is_the_error_within() {
        let holder = Holder(io::Error::from(io::ErrorKind::HostUnreachable).into());
        let source = holder.source().and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::HostUnreachable));
    }

    #[test]
    fn what_a_terminal_would_act_upon_is_escaped() {
        let said = SharedError::new("a\u{1b}[2J\nzkelect: b");
        assert_eq!(said.to_string(), r"a\u{1b}[2J\nzkelect: b");
    }

    #[test]
    fn what_reads_alike_is_equal() {
        let said = SharedError::new("nobody home");
        assert_eq!(said, io::Error::other("nobody home").into());
        assert_eq!(said.to_string(), "nobody home");
        assert_ne!(said, SharedError::new("not in"));
    }
}
