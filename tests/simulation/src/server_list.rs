//! The lists of servers that clients are given.

use core::fmt;

use super::links::NodeId;

/// A list of servers for a client: a part of the ensemble, all of it, or more than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerList {
    /// The members in it, a bit each.
    pub members: u8,
    /// The place of the first member in the list that has all.
    pub first: u8,
    /// Addresses at which no server listens, behind the members.
    pub nowhere: u8,
}

impl ServerList {
    /// Returns the processes at the addresses of the list.
    pub(super) fn nodes(self, members: usize) -> Vec<NodeId> {
        let in_order = (0..members).map(|place| (place + usize::from(self.first)) % members.max(1));
        let listed = in_order.filter(|member| self.members >> member & 1 == 1);
        let nowhere = (0..self.nowhere).map(|_| NodeId::NOWHERE);
        listed.map(NodeId).chain(nowhere).collect()
    }
}

impl fmt::Display for ServerList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members = usize::try_from(u8::BITS).unwrap_or(8);
        for (place, NodeId(node)) in self.nodes(members).into_iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            match node {
                node if node < members => write!(f, "{comma}server {}", node + 1)?,
                _ => write!(f, "{comma}nowhere")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_its_members_in_its_order_and_dead_addresses_behind() {
        let list = ServerList { members: 0b101, first: 1, nowhere: 1 };
        assert_eq!(list.nodes(3), [NodeId(2), NodeId(0), NodeId::NOWHERE]);
        let all = ServerList { members: 0b11_1111, first: 0, nowhere: 0 };
        assert_eq!(all.nodes(3), [NodeId(0), NodeId(1), NodeId(2)], "there are three");
    }
}
