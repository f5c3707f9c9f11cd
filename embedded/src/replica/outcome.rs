//! The results of forwarded requests, sent to the clients that wait for them.

use alloc::vec::Vec;

use zk_jute::records::{
    Create2Response, CreateResponse, MultiResponse, MultiResult, SetDataResponse,
};
use zk_jute::{ErrorCode, SessionId, Xid, Zxid};

use super::Replica;
use super::connection::{Awaited, Connection, CreateReply, Pending, Phase, Scope};
use crate::forward::{Answer, Ticket};
use crate::txn::{Extent, OperationOutcome, Rejection, Txn, TxnOutcome};

impl Replica {
    /// Sends the leader's answer to a request that needed no transaction.
    pub fn answer(&mut self, ticket: Ticket, answer: Answer) {
        let id = ticket.connection;
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if let Some(handshake) = connection.handshake(ticket) {
            self.conclude_handshake(id, handshake, answer);
        } else {
            match (answer, connection.take_pending(ticket)) {
                (Answer::Synced, Some(Pending { xid, awaited: Awaited::Synced(path), .. })) => {
                    let zxid = self.database.last_zxid();
                    connection.reply(xid, zxid, &path.as_deref());
                    self.ready.insert(id);
                }
                // The connection of a session that moved ends without an answer.
                _ => self.end(id),
            }
        }
        self.go_on(id);
    }

    /// Answers the request that a transaction came from. If the transaction ended a session, it
    /// closes the session's connection.
    pub(super) fn conclude(&mut self, txn: &Txn, outcome: &TxnOutcome, ticket: Option<Ticket>) {
        if let Some(ticket) = ticket
            && let Some(connection) = self.connections.get_mut(&ticket.connection)
        {
            if let Some(handshake) = connection.handshake(ticket) {
                self.establish(ticket.connection, handshake, Scope::Ensemble);
            } else {
                let pending = connection.take_pending(ticket);
                let concluded =
                    pending.and_then(|pending| connection.conclude(&pending, txn.at.zxid, outcome));
                match concluded {
                    Some(Concluded) => drop(self.ready.insert(ticket.connection)),
                    None => self.end(ticket.connection),
                }
            }
        }
        if *outcome == TxnOutcome::SessionClosed {
            self.end_connection_of(txn.session);
        }
    }

    /// Ends the connection that a session has to this replica.
    pub(crate) fn end_connection_of(&mut self, session: SessionId) {
        if let Some(id) = self.by_session.get(&session).copied() {
            self.end(id);
        }
    }
}

/// A request was answered.
struct Concluded;

impl Connection {
    /// Takes the oldest forwarded request, if this ticket is for it. Answers come in the order of
    /// the requests: an answer to a later one would leave the earlier one without any, so the
    /// connection ends.
    fn take_pending(&mut self, ticket: Ticket) -> Option<Pending> {
        let Phase::Established(established) = &mut self.phase else {
            return None;
        };
        established.pending.pop_front().filter(|oldest| oldest.ticket == ticket)
    }

    /// Answers a forwarded request. Returns `None` if the outcome is that of another kind of
    /// request.
    fn conclude(
        &mut self,
        pending: &Pending,
        zxid: Zxid,
        outcome: &TxnOutcome,
    ) -> Option<Concluded> {
        let xid = pending.xid;
        match (outcome, &pending.awaited) {
            (TxnOutcome::Rejected(rejection), Awaited::Multi(operations))
                if rejection.extent == Extent::Operation =>
            {
                self.reply_failed_multi(xid, zxid, *rejection, operations.len());
            }
            (TxnOutcome::Rejected(rejection), _) => self.refuse(xid, zxid, rejection.error),
            (TxnOutcome::Applied(outcomes), Awaited::Multi(replies)) => {
                let results = outcomes.iter().zip(replies);
                let results: Vec<_> = results.map(|(done, reply)| result(done, *reply)).collect();
                self.reply(xid, zxid, &MultiResponse::new(&results));
            }
            (TxnOutcome::Applied(outcomes), Awaited::Single(reply)) => {
                for outcome in outcomes {
                    self.reply(xid, zxid, &result(outcome, *reply));
                }
            }
            (TxnOutcome::SessionClosed, Awaited::SessionClosed) => self.reply(xid, zxid, &()),
            (_, _) => return None,
        }
        Some(Concluded)
    }

    /// Answers a multi of which an operation failed: the header reports success, and every entry a
    /// failure (docs/protocol.md#transactions).
    fn reply_failed_multi(&mut self, xid: Xid, zxid: Zxid, rejection: Rejection, count: usize) {
        let error = |index: usize| match index.cmp(&rejection.operation) {
            core::cmp::Ordering::Less => ErrorCode::OK,
            core::cmp::Ordering::Equal => rejection.error,
            core::cmp::Ordering::Greater => ErrorCode::RUNTIME_INCONSISTENCY,
        };
        let results: Vec<_> = (0..count).map(error).map(MultiResult::Error).collect();
        self.reply(xid, zxid, &MultiResponse::new(&results));
    }
}

/// Makes an entry of a multi of an operation's result. Its body alone answers a single request.
fn result(outcome: &OperationOutcome, reply: CreateReply) -> MultiResult<'_> {
    match (outcome, reply) {
        (OperationOutcome::Created { path, .. }, CreateReply::Path) => {
            MultiResult::Create(CreateResponse { path })
        }
        (OperationOutcome::Created { path, stat }, CreateReply::PathAndStat) => {
            let stat = *stat;
            MultiResult::Create2(Create2Response { path, stat })
        }
        (OperationOutcome::Deleted, _) => MultiResult::Delete,
        // Both have the same body, and a setACL is never in a multi.
        (OperationOutcome::DataSet(stat) | OperationOutcome::AclSet(stat), _) => {
            MultiResult::SetData(SetDataResponse { stat: *stat })
        }
        (OperationOutcome::Checked, _) => MultiResult::Check,
    }
}
