//! The frame of the errors of recipes.

use core::fmt;

use election_core::barrier::BarrierFailure;
use election_core::commit::CommitFailure;
use election_core::counter::CounterFailure;
use election_core::group::MemberFailure;
use election_core::lock::LockFailure;
use election_core::queue::TakerFailure;
use zk_jute::{ErrorCode, Escaped, OpCode};

use super::operation::advice_on_code;

/// Where an operation of a recipe failed: the recipe, its path and the step. Displayed like `lock
/// "/app/lock", acquire`.
#[derive(Clone, PartialEq, Eq)]
pub struct Place(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    recipe: &'static str,
    path: Box<str>,
    step: &'static str,
}

impl Place {
    /// Makes a place, for an error that a program of yours reports.
    pub fn new(recipe: &'static str, path: &str, step: &'static str) -> Self {
        Self(Box::new(Inner { recipe, path: path.into(), step }))
    }

    /// Returns the recipe: `lock`, `semaphore`, `queue` and so on.
    pub fn recipe(&self) -> &'static str {
        self.0.recipe
    }

    /// Returns the path of the recipe, as the client calls it.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns what was asked of the recipe: `acquire`, `take`, `join` and so on.
    pub fn step(&self) -> &'static str {
        self.0.step
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { recipe, path, step } = &*self.0;
        write!(f, "{recipe} {}, {step}", Escaped(path))
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

/// Writes a failure of a recipe. If it is a server's refusal of a request, that is the code with its name, and advice if
/// there is any: recipes know only the number.
pub(crate) struct Refusable<F>(pub(crate) F);

/// A failure that may be a server's refusal.
pub(crate) trait MayBeRefused: fmt::Display {
    /// Returns the error code of the refusal.
    fn code(&self) -> Option<i32>;
}

macro_rules! may_be_refused {
    ($($failure:ty),*) => {$(
        impl MayBeRefused for $failure {
            fn code(&self) -> Option<i32> {
                if let Self::Rejected(code) = self { Some(*code) } else { None }
            }
        }
    )*};
}
may_be_refused!(
    BarrierFailure,
    CommitFailure,
    CounterFailure,
    LockFailure,
    MemberFailure,
    TakerFailure
);

impl<F: MayBeRefused> fmt::Display for Refusable<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(code) = self.0.code().map(ErrorCode::new) else {
            return self.0.fmt(f);
        };
        write!(f, "the server refused a request: {code}")?;
        // Of no operation in particular: recipes create the ancestors that they need.
        match advice_on_code(OpCode::CHECK, code) {
            Some(advice) => write!(f, "; {advice}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_the_code_and_what_to_do() {
        let refused = Refusable(LockFailure::Rejected(ErrorCode::NO_AUTH.get())).to_string();
        assert!(refused.contains("NoAuth"), "{refused}");
        assert!(refused.contains("present an identity"), "{refused}");
    }

    #[test]
    fn a_place_is_one_phrase() {
        let place = Place::new("lock", "/app/lock", "acquire");
        assert_eq!(place.to_string(), "lock /app/lock, acquire");
        assert_eq!(format!("{place:?}"), "Place(lock /app/lock, acquire)");
    }
}
