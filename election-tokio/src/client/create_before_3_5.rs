//! Creating on servers before ZooKeeper 3.5. They do not know `create2`, and their reply to
//! `create` has only the path.

use core::time::Duration;

use zk_jute::records::{CreateRequest, CreateResponse, ExistsRequest, Stat};
use zk_jute::{ErrorCode, OpCode};

use super::operations::{decoded_as, existence};
use super::reconnected::Obstacle;
use super::{Client, Created};
use crate::state::ConnectionState;
use crate::updates::Updates;
use crate::{Error, ErrorKind};

/// How long to wait for the end of the connection, which servers close right after a refusal.
const END_OF_CONNECTION: Duration = Duration::from_secs(1);

impl Client {
    /// Creates a znode by `create`, and reads its metadata.
    ///
    /// # Errors
    ///
    /// Those of [`Client::create`]; `NoNode` of the look if the znode has gone meanwhile;
    /// [`ErrorKind::ConnectionLoss`] if there is no look, since the client ends.
    pub(super) async fn create_before_3_5(
        &self,
        path: &str,
        create: &CreateRequest<'_>,
    ) -> Result<Created, Error> {
        let reply = self.call(path, create).await?;
        let response: CreateResponse<'_> = decoded_as(OpCode::CREATE, path, &reply)?;
        let path = self.shared().chroot.leave(response.path).to_owned();
        match self.look(&path, response.path).await {
            Ok(Some(stat)) => Ok(Created { path, stat }),
            Ok(None) => {
                Err(Error::new(OpCode::EXISTS, &path, ErrorKind::Refused(ErrorCode::NO_NODE)))
            }
            // The look failed, and the create did not: an error of the look would say that nothing happened.
            Err(_) => Err(Error::new(OpCode::CREATE, &path, ErrorKind::ConnectionLoss)),
        }
    }

    /// Waits for the next connection, after the server has refused `create2`. All known servers end
    /// the present one, so a `create` on it would stay in doubt.
    pub(super) async fn pass_refusal(&self, mut connection: Updates<ConnectionState>) {
        let is_over = connection.changed();
        let _ = tokio::time::timeout(END_OF_CONNECTION, is_over).await;
        self.pass(Obstacle::NotConnected).await;
    }

    /// Reads a znode's metadata, over as many connections as it takes.
    async fn look(&self, path: &str, server_path: &str) -> Result<Option<Stat>, Error> {
        let request = ExistsRequest { path: server_path, watch: false };
        self.repeated(async || existence(path, self.call(path, &request).await)).await
    }
}
