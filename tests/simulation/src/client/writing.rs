//! Writes under a guard, from their submission to their answer.

use std::collections::BTreeMap;

use election_core::Token;
use zk_jute::Decode as _;
use zk_jute::records::{MultiResponse, MultiResult};
use zk_session::{Completion, Failure};

use super::{CallId, Client, Observed};
use crate::queue::Queue;

/// The writes that are not answered yet.
#[derive(Debug, Default)]
pub(super) struct Writing(BTreeMap<CallId, Token>);

/// The answer to a write under a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is applied, and has made this version.
    Version(u64),
    /// It is not applied, and never will be.
    Refused,
    /// It may be.
    InDoubt,
}

impl Client {
    /// Notes a write that the host has taken.
    pub(super) fn note_write(&mut self, call: CallId, queue: Queue, token: Token) {
        self.writing.0.insert(call, token);
        self.told.push(Observed::Writes { call, queue, token });
    }

    /// Takes in the answer to a call; perhaps a write.
    pub(super) fn see_write(
        &mut self,
        call: CallId,
        outcome: &Result<Completion, Failure>,
    ) -> Option<Observed> {
        let token = self.writing.0.remove(&call)?;
        let written = match outcome {
            Ok(Completion { body, .. }) => match MultiResponse::decode_prefix(body) {
                Ok(response) if response.error().is_some() => Written::Refused,
                Ok(response) => version(&response).map_or(Written::InDoubt, Written::Version),
                Err(_) => Written::InDoubt,
            },
            Err(Failure::Refused(_) | Failure::NotSent) => Written::Refused,
            Err(_) => Written::InDoubt,
        };
        Some(Observed::Wrote { call, token, written })
    }
}

fn version(response: &MultiResponse<'_>) -> Option<u64> {
    response.iter().find_map(|result| match result {
        MultiResult::SetData(response) => u64::try_from(response.stat.version.get()).ok(),
        _ => None,
    })
}
