//! Lets tests use `?` without losing the place and the cause of an error.

use core::error::Error;
use core::fmt;
use core::panic::Location;

/// The result of a test.
pub type TestResult = Result<(), TestFailure>;

/// Any error, with the place of the `?` that met it.
///
/// Its `Debug` form is what the test runner prints: the error, its sources, the place.
pub struct TestFailure {
    error: Box<dyn Error>,
    place: &'static Location<'static>,
}

impl TestFailure {
    /// Returns the error, if it is one of this kind.
    pub fn downcast_ref<E: Error + 'static>(&self) -> Option<&E> {
        self.error.downcast_ref()
    }
}

impl<E: Error + 'static> From<E> for TestFailure {
    #[track_caller]
    fn from(error: E) -> Self {
        Self { error: Box::new(error), place: Location::caller() }
    }
}

impl fmt::Debug for TestFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.error)?;
        let mut source = self.error.source();
        while let Some(error) = source {
            write!(formatter, "\n  because: {error}")?;
            source = error.source();
        }
        write!(formatter, "\n  at {}", self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[from] core::num::ParseIntError);

    fn fails() -> TestResult {
        Err(Outer("x".parse::<i32>().expect_err("not a number")))?;
        Ok(())
    }

    #[test]
    fn a_failure_gives_back_its_error() {
        let failure = fails().expect_err("it fails");
        assert!(failure.downcast_ref::<Outer>().is_some());
        assert!(failure.downcast_ref::<fmt::Error>().is_none());
    }

    #[test]
    fn a_failure_names_the_error_its_source_and_the_place() {
        let text = format!("{:?}", fails().expect_err("it fails"));
        assert!(text.contains("outer"), "{text}");
        assert!(text.contains("because: invalid digit"), "{text}");
        assert!(text.contains(file!()), "{text}");
    }
}
