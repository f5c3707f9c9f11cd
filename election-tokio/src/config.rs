//! Configuration: a value that clients watch and replace.
//!
//! Begin with [`Client::config`]. Costs and limits: [configuration](https://github.com/zk-election/zk-election/blob/main/docs/configuration.md).

mod error;
mod value;
mod watch;
mod write;

use core::fmt;
use core::marker::PhantomData;

use bytes::Bytes;
use zk_jute::Version;
use zk_jute::records::Stat;

pub use error::ConfigError;
pub use value::{ConfigValue, Configured};
pub use watch::ConfigWatch;
pub use write::CreateIfMissing;

use self::error::{CREATE, SET, place};
use self::write::Written;
use crate::acl::Acls;
use crate::client::Client;
use crate::error::SharedError;

/// A value at a path that clients watch and replace; made by [`Client::config`].
#[must_use = "a configuration does nothing until it is asked for something"]
pub struct Config<T> {
    client: Client,
    path: String,
    acls: Acls,
    value: PhantomData<fn() -> T>,
}

/// The outcome of [`Config::set`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigSet {
    /// The value was replaced; the metadata after it.
    Set(Stat),
    /// Another client was faster: the value has another version, and is unchanged.
    Differs,
}

impl Client {
    /// Returns the value at a path.
    pub fn config<T: ConfigValue>(&self, path: &str) -> Config<T> {
        let (client, path) = (self.clone(), path.to_owned());
        Config { client, path, acls: Acls::open(), value: PhantomData }
    }
}

impl<T: ConfigValue> Config<T> {
    /// Reads the value, as one server knows it; it may be out of date. Without a connection this
    /// waits for one.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Request`].
    pub async fn get(&self) -> Result<Configured<T>, ConfigError> {
        let failed = |error| ConfigError::Request { at: place(&self.path, "get"), error };
        Ok(Configured::of(self.client.find_data(&self.path).await.map_err(failed)?))
    }

    /// Watches the value, from a task of its own on the current runtime.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn watch(&self) -> ConfigWatch<T> {
        ConfigWatch::begin(&self.client, &self.path)
    }

    /// Replaces the value, if its znode has this version. If the reply is lost, it sends the same
    /// write again.
    ///
    /// Cancel safe: the value is replaced or not, once.
    ///
    /// # Errors
    ///
    /// [`ConfigError::may_have_happened`] says whether the value may have been replaced;
    /// [`ConfigError::Missing`].
    pub async fn set(&self, expected: Version, value: &T) -> Result<ConfigSet, ConfigError> {
        let data = self.encoded(value, SET)?;
        Ok(match write::replace(&self.client, &self.path, &data, expected).await? {
            Written::Set(stat) => ConfigSet::Set(stat),
            Written::Differs => ConfigSet::Differs,
        })
    }

    /// Replaces the value by the result of `change` on the present one. If another client is
    /// faster, it begins again.
    ///
    /// Cancel safe, as [`Config::set`].
    ///
    /// # Errors
    ///
    /// Those of [`Config::set`].
    pub async fn update(
        &self,
        mut change: impl FnMut(&Configured<T>) -> T,
    ) -> Result<Stat, ConfigError> {
        loop {
            let present = self.get().await?;
            let version = present
                .version()
                .ok_or_else(|| ConfigError::Missing { at: place(&self.path, "update") })?;
            if let ConfigSet::Set(stat) = self.set(version, &change(&present)).await? {
                return Ok(stat);
            }
        }
    }

    /// Creates the znode with this value, and its ancestors, unless it exists.
    ///
    /// Cancel safe: it is created or not.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Encode`], [`ConfigError::InvalidAcl`] and [`ConfigError::Request`].
    pub async fn create_if_missing(&self, value: &T) -> Result<CreateIfMissing, ConfigError> {
        let invalid = |error| ConfigError::InvalidAcl { at: place(&self.path, CREATE), error };
        self.acls.checked().map_err(invalid)?;
        write::create(&self.client, &self.path, &self.encoded(value, CREATE)?, &self.acls).await
    }

    fn encoded(&self, value: &T, step: &'static str) -> Result<Bytes, ConfigError> {
        let at = || place(&self.path, step);
        value
            .encode()
            .map_err(|error| ConfigError::Encode { at: at(), error: SharedError::new(error) })
    }
}

/// Settings.
impl<T: ConfigValue> Config<T> {
    /// Sets the access list of the znode, and of its ancestors if they have to be created (default:
    /// every client may do everything).
    pub fn acls(mut self, acls: Acls) -> Self {
        self.acls = acls;
        self
    }
}

impl<T> Clone for Config<T> {
    fn clone(&self) -> Self {
        let Self { client, path, acls, value } = self;
        Self { client: client.clone(), path: path.clone(), acls: acls.clone(), value: *value }
    }
}

impl<T> fmt::Debug for Config<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").field("path", &self.path).finish_non_exhaustive()
    }
}
