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

/// The same of an operation that a server has answered before: the servers know it, unless older ones have taken their
/// place since.
const ENOUGH_OF_ANSWERED: u8 = 8;

/// The operations that servers have answered, of those that they may not know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answered(u16);

impl Answered {
    pub(crate) const fn note(&mut self, opcode: OpCode) {
        self.0 |= bit(opcode);
    }

    /// Whether servers take watches down, by what they have answered: Keeper has learnt that together with `addWatch`, and
    /// before `create2`; `RaftKeeper` has learnt none of these.
    pub(crate) const fn show_removal_of_watches(self) -> bool {
        let later = bit(OpCode::ADD_WATCH) | bit(OpCode::CHECK_WATCHES) | bit(OpCode::CREATE2);
        self.0 & (later | bit(OpCode::REMOVE_WATCHES)) != 0
    }

    const fn enough(self, opcode: OpCode) -> u8 {
        if self.0 & bit(opcode) == 0 { ENOUGH } else { ENOUGH_OF_ANSWERED }
    }
}

/// The operations that are suspected, with the connections in a row that have ended over each. Mostly there
/// are none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unanswered(Vec<Suspect>);

#[derive(Clone, Copy, Debug)]
struct Suspect {
    opcode: OpCode,
    losses: u8,
    enough: u8,
}

impl Suspect {
    const fn is_condemned(self) -> bool {
        self.losses >= self.enough
    }
}

impl Unanswered {
    /// Returns whether an operation is not to be sent any more.
    pub(crate) fn condemns(&self, opcode: OpCode) -> bool {
        self.0.iter().any(|suspect| suspect.opcode == opcode && suspect.is_condemned())
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
        answered: Answered,
        unanswered: impl Iterator<Item = OpCode>,
    ) {
        match family {
            ServerFamily::ZooKeeper => self.0.clear(),
            ServerFamily::KeeperLike => self.suspect(answered, &unanswered.collect::<Vec<_>>()),
        }
    }

    /// Suspects the operations that can be replaced, or done without.
    fn suspect(&mut self, answered: Answered, unanswered: &[OpCode]) {
        self.0.retain(|suspect| suspect.is_condemned() || unanswered.contains(&suspect.opcode));
        for &opcode in unanswered.iter().filter(|opcode| may_be_unknown(**opcode)) {
            if let Some(suspect) = self.0.iter_mut().find(|suspect| suspect.opcode == opcode) {
                suspect.losses = suspect.losses.saturating_add(1);
            } else {
                let enough = answered.enough(opcode);
                self.0.push(Suspect { opcode, losses: 1, enough });
            }
        }
    }
}

/// Returns whether an operation is one that servers of this kind may lack, and a client can do without.
/// `create2` has a form that all servers know.
const fn may_be_unknown(opcode: OpCode) -> bool {
    bit(opcode) != 0
}

/// Returns the bit of an operation that may be unknown; none of any other.
const fn bit(opcode: OpCode) -> u16 {
    match opcode {
        OpCode::CREATE2 => 1,
        OpCode::CREATE_CONTAINER => 1 << 1,
        OpCode::CREATE_TTL => 1 << 2,
        OpCode::ADD_WATCH => 1 << 3,
        OpCode::CHECK_WATCHES => 1 << 4,
        OpCode::REMOVE_WATCHES => 1 << 5,
        OpCode::SET_WATCHES2 => 1 << 6,
        OpCode::MULTI_READ => 1 << 7,
        OpCode::GET_ALL_CHILDREN_NUMBER => 1 << 8,
        OpCode::GET_EPHEMERALS => 1 << 9,
        OpCode::WHO_AM_I => 1 << 10,
        OpCode::RECONFIG => 1 << 11,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATE: OpCode = OpCode::CREATE2;
    const KEEPER: ServerFamily = ServerFamily::KeeperLike;

    fn lose(unanswered: &mut Unanswered, family: ServerFamily, opcodes: &[OpCode]) {
        lose_of(unanswered, (family, Answered::default()), opcodes);
    }

    fn lose_of(
        unanswered: &mut Unanswered,
        (family, answered): (ServerFamily, Answered),
        opcodes: &[OpCode],
    ) {
        unanswered.connection_ended(family, answered, opcodes.iter().copied());
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

    /// By chance alone, connections to a Keeper that is restarted may end so twice in a row.
    #[test]
    fn an_operation_that_was_answered_before_is_not_condemned_by_a_chance_or_two() {
        let (mut unanswered, mut answered) = (Unanswered::default(), Answered::default());
        answered.note(CREATE);
        for _ in 1..ENOUGH_OF_ANSWERED {
            lose_of(&mut unanswered, (KEEPER, answered), &[CREATE]);
            assert!(!unanswered.condemns(CREATE));
        }
        lose_of(&mut unanswered, (KEEPER, answered), &[CREATE]);
        assert!(unanswered.condemns(CREATE), "older servers have taken their place");
        lose_of(&mut unanswered, (KEEPER, answered), &[OpCode::ADD_WATCH]);
        lose_of(&mut unanswered, (KEEPER, answered), &[OpCode::ADD_WATCH]);
        assert!(unanswered.condemns(OpCode::ADD_WATCH), "that was never answered");
    }
}
