//! Writes that are made again after a lost connection, and executed at most once.

use bytes::Bytes;
use zk_jute::Version;
use zk_jute::records::Stat;

use super::error::{CREATE, ConfigError, SET, place};
use crate::Error;
use crate::acl::Acls;
use crate::client::{Client, CreateMode, Obstacle};

/// An earlier sending of the same write, with a lost reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Earlier {
    None,
    Lost,
}

impl Earlier {
    /// Waits until the write can be made again.
    ///
    /// # Errors
    ///
    /// Making it again does not help.
    async fn pass(self, client: &Client, error: Error) -> Result<Self, Error> {
        let Some(obstacle) = Obstacle::of(&error) else {
            return Err(error);
        };
        client.pass(obstacle).await;
        Ok(if obstacle == Obstacle::ConnectionLoss { Self::Lost } else { self })
    }
}

/// The outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Set(Stat),
    Differs,
}

/// Replaces data of this version. If the same write succeeds when it is sent again, the first one
/// was not executed, and never will be.
pub(super) async fn replace(
    client: &Client,
    path: &str,
    data: &Bytes,
    version: Version,
) -> Result<Written, ConfigError> {
    if version == Version::ANY {
        return Err(ConfigError::VersionUnusable { at: place(path, SET) });
    }
    let mut earlier = Earlier::None;
    loop {
        let error = match client.set_data(path, data.clone(), version).await {
            Ok(stat) => return Ok(Written::Set(stat)),
            Err(error) => error,
        };
        earlier = match (earlier.pass(client, error).await, earlier) {
            (Ok(earlier), _) => earlier,
            (Err(_), Earlier::Lost) => {
                return Err(ConfigError::Unknown { at: place(path, SET) });
            }
            (Err(error), Earlier::None) if error.is_bad_version() => return Ok(Written::Differs),
            (Err(error), Earlier::None) if error.is_no_node() => {
                return Err(ConfigError::Missing { at: place(path, SET) });
            }
            (Err(error), Earlier::None) => {
                return Err(ConfigError::Request { at: place(path, SET), error });
            }
        };
    }
}

/// The outcome of [`Config::create_if_missing`](crate::config::Config::create_if_missing).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CreateIfMissing {
    /// It was created, with this value.
    Created,
    /// It existed, and is unchanged.
    Existed,
    /// It exists. A reply was lost, so this call may have created it, or another client.
    Unknown,
}

pub(super) async fn create(
    client: &Client,
    path: &str,
    data: &Bytes,
    acls: &Acls,
) -> Result<CreateIfMissing, ConfigError> {
    let mut earlier = Earlier::None;
    loop {
        let mode = CreateMode::Persistent;
        let created = client.create_with_parents(path, data.clone(), mode, acls).await;
        let Err(error) = created else {
            return Ok(CreateIfMissing::Created);
        };
        earlier = match (error.is_node_exists(), earlier) {
            (true, Earlier::None) => return Ok(CreateIfMissing::Existed),
            (true, Earlier::Lost) => return Ok(CreateIfMissing::Unknown),
            (false, earlier) => earlier
                .pass(client, error)
                .await
                .map_err(|error| ConfigError::Request { at: place(path, CREATE), error })?,
        };
    }
}
