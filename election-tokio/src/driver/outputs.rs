//! The outputs of a session for its driver.

use zk_session::sasl::SaslChallenge;
use zk_session::{ServerAddress, ServerIndex, SessionEnd, TransportCommand};

use crate::hub::Hub;

/// The outputs of a session: the work that it wants done.
pub(super) struct Outputs {
    pub(super) transport: Option<TransportCommand>,
    pub(super) challenge: Option<SaslChallenge>,
    pub(super) probe: Option<(ServerIndex, ServerAddress)>,
    pub(super) ended: Option<SessionEnd>,
}

impl Outputs {
    /// Returns `None`, as it almost always does, if the session wants nothing. The outputs are in a
    /// box, because each wake-up of the driver moves them.
    pub(super) fn poll(hub: &mut Hub) -> Option<Box<Self>> {
        let outputs = Self {
            transport: hub.poll_transport(),
            challenge: hub.host.poll_sasl(),
            probe: hub.poll_probe(),
            ended: hub.ended(),
        };
        let Self { transport, challenge, probe, ended } = &outputs;
        let are_some = transport.is_some() || challenge.is_some() || probe.is_some();
        (are_some || ended.is_some()).then(|| Box::new(outputs))
    }
}
