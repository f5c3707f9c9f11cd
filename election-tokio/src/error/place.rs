//! The frame of the errors of recipes.

use core::fmt;

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

/// Writes a server's refusal of a request of a recipe: the code with its name, and advice if there is
/// any. Recipes know only the number.
pub(crate) struct RefusedRequest(pub(crate) i32);

impl fmt::Display for RefusedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = ErrorCode::new(self.0);
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
        let refused = RefusedRequest(ErrorCode::NO_AUTH.get()).to_string();
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
