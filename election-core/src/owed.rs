//! What a recipe has left behind, and removes after it has reported its end.
//!
//! A server may refuse a request of that as long as an access list stands. What was refused is due again with the next
//! look; on the next connection all of it begins anew, since what was asked for on the last one may have been done.

/// The way to remove something, request by request.
pub(crate) trait Removal: Clone {
    /// Returns the way from its beginning.
    fn anew(&self) -> Self;
}

/// A removal that is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Owed<R> {
    Due(R),
    /// A server refused a request. It is due again with the next look, or on the next connection.
    Refused(R),
}

/// The rest of a removal after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest<R> {
    GoesOn(R),
    /// Nothing is left.
    Gone,
    Refused(R),
}

impl<R: Removal> Owed<R> {
    /// Returns the removal whose next request is due.
    pub(crate) const fn due(&self) -> Option<&R> {
        match self {
            Self::Due(removal) => Some(removal),
            Self::Refused(_) => None,
        }
    }

    /// Begins anew after a refusal: an access list may have been restored, and an identity be presented.
    pub(crate) fn look(&mut self) {
        if let Self::Refused(removal) = self {
            *self = Self::Due(removal.anew());
        }
    }

    /// Begins anew on the next connection.
    pub(crate) fn link_lost(&mut self) {
        let (Self::Due(removal) | Self::Refused(removal)) = self;
        *self = Self::Due(removal.anew());
    }

    /// Returns what is still owed.
    pub(crate) fn after(rest: Rest<R>) -> Option<Self> {
        match rest {
            Rest::GoesOn(removal) => Some(Self::Due(removal)),
            Rest::Refused(removal) => Some(Self::Refused(removal)),
            Rest::Gone => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A way of two requests.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Way {
        Look,
        Delete,
    }

    impl Removal for Way {
        fn anew(&self) -> Self {
            Self::Look
        }
    }

    #[test]
    fn what_was_refused_waits_for_a_look_and_begins_anew() {
        let mut owed = Owed::after(Rest::Refused(Way::Delete)).unwrap();
        assert_eq!(owed.due(), None);
        owed.look();
        assert_eq!(owed.due(), Some(&Way::Look));
    }

    #[test]
    fn a_look_disturbs_no_removal_that_is_under_way() {
        let mut owed = Owed::after(Rest::GoesOn(Way::Delete)).unwrap();
        owed.look();
        assert_eq!(owed.due(), Some(&Way::Delete));
    }

    #[test]
    fn a_lost_link_begins_a_removal_anew() {
        for rest in [Rest::GoesOn(Way::Delete), Rest::Refused(Way::Delete)] {
            let mut owed = Owed::after(rest).unwrap();
            owed.link_lost();
            assert_eq!(owed.due(), Some(&Way::Look));
        }
        assert_eq!(Owed::<Way>::after(Rest::Gone), None);
    }
}
