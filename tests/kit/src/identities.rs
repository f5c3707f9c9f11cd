//! The identities that a server gives a client.

use election_tokio::acl::Acls;
use election_tokio::ensemble::ServerVersion;
use election_tokio::{Client, CreateMode, Version};

use crate::failure::TestFailure;
use crate::zookeeper::unique_path;

/// The request that asks for it.
const SINCE_WHO_AM_I: ServerVersion = ServerVersion::new(3, 7, 0);

/// Returns the scheme and the user of each identity that a client has proved, in order; its address
/// is none. Servers before 3.7 are not asked: it is read from the access list of a znode that is
/// its creator's alone.
///
/// # Errors
///
/// Those of the requests; a server that knows no identity refuses that list.
pub async fn proved_by(
    client: &Client,
    release: ServerVersion,
) -> Result<Vec<(String, String)>, TestFailure> {
    let mut proved = if release >= SINCE_WHO_AM_I {
        let known = client.who_am_i().await?.into_iter();
        known.map(|identity| (identity.scheme, identity.user)).collect()
    } else {
        owners(client).await?
    };
    proved.retain(|(scheme, _)| scheme != "ip");
    proved.sort();
    Ok(proved)
}

async fn owners(client: &Client) -> Result<Vec<(String, String)>, TestFailure> {
    let path = unique_path("identities");
    let mine = Acls::creator_all();
    client.create_with_acl(&path, "", CreateMode::Persistent, &mine).await?;
    let access = client.get_acl(&path).await?;
    let owners = access.iter().map(|entry| {
        // An identity of this scheme ends with a hash, which is no part of the name.
        let user = match entry.scheme {
            "digest" => entry.id.split(':').next().unwrap_or_default(),
            _ => entry.id,
        };
        (entry.scheme.to_owned(), user.to_owned())
    });
    let owners = owners.collect();
    client.delete(&path, Version::ANY).await?;
    Ok(owners)
}
