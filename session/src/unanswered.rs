//! Operations over which connections end, without an answer.
//!
//! Apache ZooKeeper answers an operation that it does not know, and closes the connection. `ClickHouse`
//! Keeper closes it without an answer, and `RaftKeeper` never answers. What asks again on each connection
//! would cost one after the other.

use alloc::vec::Vec;

use zk_jute::OpCode;

use crate::family::ServerFamily;

/// The connections in a row that have to end with the operation unanswered. One may end so by chance.
const ENOUGH: u8 = 2;

/// The operations that are suspected, with the connections in a row that have ended over each. Mostly there
/// are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unanswered(Vec<Suspect>);

#[derive(Clone, Copy, Debug)]
struct Suspect {
    opcode: OpCode,
    losses: u8,
}

impl Unanswered {
    /// Returns whether an operation is not to be sent any more.
    pub(crate) fn condemns(&self, opcode: OpCode) -> bool {
        self.0.iter().any(|suspect| suspect.opcode == opcode && suspect.losses >= ENOUGH)
    }

    /// Notes the answer to an operation: the servers know it.
    pub(crate) fn answered(&mut self, opcode: OpCode) {
        if !self.0.is_empty() {
            self.0.retain(|suspect| suspect.opcode != opcode);
        }
    }

    /// Notes the end of a connection to a server of this family, over these unanswered operations.
    ///
    /// Apache ZooKeeper would have answered, so there it was chance, however often. A plain form is no
    /// full replacement: `create` reports no metadata, and the znode may be gone when the client looks.
    pub(crate) fn connection_ended(
        &mut self,
        family: ServerFamily,
        unanswered: impl Iterator<Item = OpCode>,
    ) {
        match family {
            ServerFamily::ZooKeeper => self.0.clear(),
            ServerFamily::KeeperLike => self.suspect(&unanswered.collect::<Vec<_>>()),
        }
    }

    /// Suspects the operations that can be replaced, or done without.
    fn suspect(&mut self, unanswered: &[OpCode]) {
        self.0.retain(|suspect| suspect.losses >= ENOUGH || unanswered.contains(&suspect.opcode));
        for &opcode in unanswered.iter().filter(|opcode| may_be_unknown(**opcode)) {
            match self.0.iter_mut().find(|suspect| suspect.opcode == opcode) {
                Some(suspect) => suspect.losses = suspect.losses.saturating_add(1),
                None => self.0.push(Suspect { opcode, losses: 1 }),
            }
        }
    }
}

/// Returns whether an operation is one that servers of this kind may lack, and a client can do without.
/// `create2` has a form that all servers know.
const fn may_be_unknown(opcode: OpCode) -> bool {
    matches!(
        opcode,
        OpCode::CREATE2
            | OpCode::CREATE_CONTAINER
            | OpCode::CREATE_TTL
            | OpCode::ADD_WATCH
            | OpCode::CHECK_WATCHES
            | OpCode::REMOVE_WATCHES
            | OpCode::SET_WATCHES2
            | OpCode::MULTI_READ
            | OpCode::GET_ALL_CHILDREN_NUMBER
            | OpCode::GET_EPHEMERALS
            | OpCode::WHO_AM_I
            | OpCode::RECONFIG
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATE: OpCode = OpCode::CREATE2;
    const KEEPER: ServerFamily = ServerFamily::KeeperLike;

    fn lose(unanswered: &mut Unanswered, family: ServerFamily, opcodes: &[OpCode]) {
        unanswered.connection_ended(family, opcodes.iter().copied());
    }

    #[test]
    fn two_connections_in_a_row_condemn_an_operation() {
        let mut unanswered = Unanswered::default();
        for _ in 0..5 {
            lose(&mut unanswered, KEEPER, &[CREATE]);
            lose(&mut unanswered, KEEPER, &[]);
            lose(&mut unanswered, KEEPER, &[CREATE, OpCode::SYNC]);
            unanswered.answered(CREATE);
            assert!(!unanswered.condemns(CREATE));
        }
        lose(&mut unanswered, KEEPER, &[CREATE]);
        lose(&mut unanswered, KEEPER, &[CREATE, OpCode::CREATE]);
        assert!(unanswered.condemns(CREATE));
        assert!(!unanswered.condemns(OpCode::CREATE), "it has no plainer form");
        lose(&mut unanswered, KEEPER, &[]);
        assert!(unanswered.condemns(CREATE), "it is not tried again");
    }

    #[test]
    fn nothing_is_suspected_of_apache_zookeeper() {
        let mut unanswered = Unanswered::default();
        for _ in 0..9 {
            lose(&mut unanswered, ServerFamily::ZooKeeper, &[CREATE, OpCode::ADD_WATCH]);
        }
        assert!(!unanswered.condemns(CREATE));
        assert!(!unanswered.condemns(OpCode::ADD_WATCH));
    }
}
