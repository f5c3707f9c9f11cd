//! Members, and what happens to their slots.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};

use election_session::slots::SlotName;
use futures_core::Stream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::driver::Driver;
use super::planning::Planning;
use super::{SlotEvent, Slots, SlotsError};

/// A member of slots, which gains them and gives them up; made by [`Slots::join`].
///
/// It is also a [`Stream`]. Dropping it ends the membership, in the background: guards that the
/// user has stay valid, and nothing asks for them any more.
#[must_use = "a member that is dropped leaves"]
pub struct SlotMember {
    events: mpsc::UnboundedReceiver<Result<SlotEvent, SlotsError>>,
    leave: Option<oneshot::Sender<()>>,
    task: AbortHandle,
}

impl Slots {
    /// Joins as a member of this name, which no other process has at the same time. A member that
    /// comes again under its name finds its slots, if the pause of [`Slots::spread_after`] has not
    /// passed.
    ///
    /// # Errors
    ///
    /// The path, the name or the access list is invalid.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn join(&self, member: &str) -> Result<SlotMember, SlotsError> {
        SlotMember::begin(self, member.parse()?)
    }
}

impl SlotMember {
    fn begin(slots: &Slots, name: SlotName) -> Result<Self, SlotsError> {
        slots.checked()?;
        let data = Planning::data(&name, slots.weight);
        let election = slots.client.election(&slots.members_path()).acls(slots.acls.clone());
        let nomination = election.data(data).nominate()?;
        let (events, received) = mpsc::unbounded_channel();
        let (leave, left) = oneshot::channel();
        let driver = Driver::new(slots, name, events);
        let task = tokio::spawn(driver.run(nomination, left)).abort_handle();
        Ok(Self { events: received, leave: Some(leave), task })
    }

    /// Waits for the next event. Returns `None` once all slots are given up after
    /// [`SlotMember::leave`], or after an error.
    ///
    /// Cancel safe: nothing is lost.
    ///
    /// # Errors
    ///
    /// Once, and last: the membership is over, for a reason that trying again does not repair. The
    /// guards that the user has are still valid.
    pub async fn next(&mut self) -> Option<Result<SlotEvent, SlotsError>> {
        self.events.recv().await
    }

    /// Begins to leave: the others plan without this member, and it is asked to give up each slot
    /// that it has, by [`SlotEvent::GiveUp`].
    pub fn leave(&mut self) {
        if let Some(leave) = self.leave.take() {
            // The membership may be over.
            let _ = leave.send(());
        }
    }
}

impl Stream for SlotMember {
    type Item = Result<SlotEvent, SlotsError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.events.poll_recv(cx)
    }
}

impl Drop for SlotMember {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for SlotMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotMember").finish_non_exhaustive()
    }
}
