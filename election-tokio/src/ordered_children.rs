//! The children of a node that stand in a queue, read one after another in their order.

use std::vec;

use bytes::Bytes;
use election_core::name::Sequence;
use zk_jute::OpCode;
use zk_jute::records::Stat;

use crate::client::Client;
use crate::path::child_path;
use crate::{Error, ErrorKind};

/// Names of children, with what each says besides its number.
#[derive(Debug)]
pub(crate) struct OrderedChildren<X> {
    client: Client,
    path: String,
    names: vec::IntoIter<(Sequence, X, String)>,
}

/// A child, as it was read.
#[derive(Debug)]
pub(crate) struct OrderedChild<X> {
    pub(crate) name: String,
    pub(crate) sequence: Sequence,
    /// The parts of its name besides its number.
    pub(crate) said: X,
    pub(crate) data: Bytes,
    pub(crate) stat: Stat,
}

impl<X: Ord> OrderedChildren<X> {
    /// Lists the children to which `placed` gives a place; a missing node has none. Children with
    /// the same number are in the order of what their names say.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_children`], except that of a missing node.
    pub(crate) async fn list(
        client: &Client,
        path: &str,
        placed: impl Fn(&str) -> Option<(Sequence, X)>,
    ) -> Result<Self, Error> {
        let mut names: Vec<_> = match client.get_children(path).await {
            Err(error) if error.is_no_node() => Vec::new(),
            children => {
                let placed = |name: &str| {
                    let (sequence, said) = placed(name)?;
                    Some((sequence, said, name.to_owned()))
                };
                children?.iter().filter_map(placed).collect()
            }
        };
        names.sort_unstable();
        let (client, path) = (client.clone(), path.to_owned());
        Ok(Self { client, path, names: names.into_iter() })
    }
}

impl<X> OrderedChildren<X> {
    /// Reads the next child; `None` after the last one. It passes over a child that has gone.
    ///
    /// Cancel safe: the child that was being read is then passed over.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_data`], except that of a missing znode.
    pub(crate) async fn next(&mut self) -> Result<Option<OrderedChild<X>>, Error> {
        for (sequence, said, name) in self.names.by_ref() {
            match self.client.get_data(&child_path(&self.path, &name)).await {
                Ok((data, stat)) => {
                    return Ok(Some(OrderedChild { name, sequence, said, data, stat }));
                }
                Err(error) if error.is_no_node() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Returns how many were listed and not read yet.
    pub(crate) fn remaining(&self) -> usize {
        self.names.len()
    }

    /// Reads all that are left.
    ///
    /// # Errors
    ///
    /// Those of [`OrderedChildren::next`], and [`ErrorKind::ReplyTooLarge`] if the data of all
    /// children is above what the client keeps of one reply: participants decide how much they
    /// write.
    pub(crate) async fn read_all(&mut self) -> Result<Vec<OrderedChild<X>>, Error> {
        let limit = self.client.shared().max_reply;
        let (mut all, mut length) = (Vec::new(), 0);
        while let Some(child) = self.next().await? {
            length += child.data.len();
            if length > limit {
                let kind = ErrorKind::ReplyTooLarge { length, limit };
                return Err(Error::new(OpCode::GET_DATA, &self.path, kind));
            }
            all.push(child);
        }
        Ok(all)
    }
}
