//! The laws that hold whatever happens.

use bytes::BytesMut;
use zk_jute::ErrorCode;
use zk_session::{Event, Failure};

use super::{Clock, Lapse, LeftOn, WatchState, World};

impl World {
    pub(super) fn check_event(&mut self, event: &Event<u32, u32>) {
        self.automaton.follow(event);
        match event {
            Event::Connected { read_only: true, timeout, .. } => {
                assert!(self.session.is_read_only());
                self.server.cut_off = true;
                self.server.granted_read_only(*timeout);
            }
            Event::Connected { timeout, read_only: false, .. } => {
                self.server.granted(*timeout);
                self.lapse = Lapse::Possible;
            }
            Event::LeaseLapsed => {
                assert_eq!(self.lapse, Lapse::Possible);
                self.lapse = Lapse::Announced;
            }
            Event::Completed { tag, outcome } => {
                assert!(self.unanswered.remove(tag), "completed once");
                let no_node = Failure::Refused(ErrorCode::NO_NODE);
                if let Some(state) = self.watches.get_mut(tag) {
                    *state = match (*state, outcome) {
                        (WatchState::Asked(id, _), Ok(_)) => WatchState::Set(id),
                        (WatchState::Asked(id, LeftOn::SuccessOrNoNode), Err(failure))
                            if *failure == no_node =>
                        {
                            WatchState::Set(id)
                        }
                        _ => WatchState::Over,
                    };
                }
            }
            Event::Fired { watcher, .. } | Event::WatchLost { watcher } => {
                let state = self.watches.insert(*watcher, WatchState::Over);
                assert!(matches!(state, Some(WatchState::Set(_))), "told once");
                let fired = matches!(event, Event::Fired { .. });
                assert!(!(fired && self.persistent.contains(watcher)));
            }
            Event::Changed { watcher, .. } | Event::ChangesMissed { watcher } => {
                let state = self.watches.get(watcher);
                assert!(matches!(state, Some(WatchState::Set(_))), "only while it is set");
                assert!(self.persistent.contains(watcher));
            }
            Event::ConnectFailed { .. }
            | Event::Disconnected { .. }
            | Event::HeartbeatRefused { .. }
            | Event::Ended(_) => {}
        }
    }

    /// A lapse is announced before anything else.
    pub(super) fn check_lapse(&self, events: &[Event<u32, u32>]) {
        let lapsed = self.lease_before.is_some_and(|deadline| deadline <= self.now);
        if lapsed && !events.is_empty() && self.clock == Clock::Monotonic {
            assert_eq!(events.first(), Some(&Event::LeaseLapsed));
        }
    }

    pub(super) fn check_lease(&mut self) {
        self.lease_before = self.session.lease_deadline();
        if let Some(deadline) = self.lease_before {
            self.lapse = Lapse::Possible;
            if self.clock == Clock::Monotonic {
                assert!(deadline <= self.server.bound, "{deadline:?}");
            }
            assert_eq!(self.session.ended(), None);
        }
    }

    pub(super) fn check_that_polling_again_is_harmless(&mut self) {
        let next = self.session.poll_timeout();
        let mut output = BytesMut::new();
        self.session.poll_transmit(&mut output);
        assert!(output.is_empty());
        assert_eq!(self.session.poll_transport(), None);
        assert_eq!(self.session.poll_sasl(), None);
        assert_eq!(self.session.poll_probe(), None);
        assert_eq!(self.session.poll_event(), None);
        assert_eq!(self.session.poll_timeout(), next);
        assert_eq!(next.is_none(), self.session.ended().is_some());
    }
}
