//! The reasons of losses, as labels of metrics.

use crate::error::lost::LockLost;

pub(super) const fn loss_name(reason: LockLost) -> &'static str {
    match reason {
        LockLost::Released => "released",
        LockLost::SessionExpired => "session_expired",
        LockLost::LeaseLapsed => "lease_lapsed",
        LockLost::Broken => "broken",
        LockLost::Failed(_) => "failed",
        LockLost::ClientClosed(_) => "client_closed",
    }
}
