//! The types that may cross threads, checked when this is compiled.

use core::future::Future;
use core::time::Duration;

use election_tokio::acl::{Access, AclError, Acls};
use election_tokio::election::{
    Candidate, Election, ElectionError, EndReason, Leadership, LostReason, Nomination, Status,
    WithdrawError,
};
use election_tokio::ensemble::{EnsembleConfig, EnsembleMember, Reconfiguration};
use election_tokio::error::SharedError;
use election_tokio::sasl::{SaslError, SaslMechanism, Secret};
use election_tokio::session::SessionTicket;
use election_tokio::source::{ServerFile, ServerSource};
use election_tokio::transport::{Connector, TcpConnector};
use election_tokio::watch::{OneshotWatch, PersistentWatch, WatchMode};
use election_tokio::{
    Children, Client, ClientBuilder, CloseError, ConnectError, ConnectionState, CreateMode, Error,
    GuardedTransaction, MultiRead, Transaction, TransactionError, Updates, Version,
};

const fn crosses_threads<T: Send + Sync + 'static>() {}

/// Fails to compile if a handle cannot cross threads; never called.
#[expect(dead_code, reason = "its types count")]
const fn handles_cross_threads() {
    crosses_threads::<Client>();
    crosses_threads::<ClientBuilder>();
    crosses_threads::<Election>();
    crosses_threads::<Nomination>();
    crosses_threads::<Leadership>();
    crosses_threads::<GuardedTransaction>();
    crosses_threads::<Transaction>();
    crosses_threads::<MultiRead>();
    crosses_threads::<OneshotWatch>();
    crosses_threads::<PersistentWatch>();
    crosses_threads::<Updates<ConnectionState>>();
    crosses_threads::<Updates<Status>>();
    crosses_threads::<SessionTicket>();
    crosses_threads::<Children>();
    crosses_threads::<Candidate>();
    crosses_threads::<Access>();
    crosses_threads::<Acls>();
    crosses_threads::<EnsembleConfig>();
    crosses_threads::<EnsembleMember>();
    crosses_threads::<Reconfiguration>();
    crosses_threads::<Secret>();
    crosses_threads::<ServerFile>();
    crosses_threads::<TcpConnector>();
    crosses_threads::<Box<dyn Connector>>();
    crosses_threads::<Box<dyn SaslMechanism>>();
    crosses_threads::<Box<dyn ServerSource>>();
    crosses_threads::<Error>();
    crosses_threads::<AclError>();
    crosses_threads::<SharedError>();
    crosses_threads::<ConnectError>();
    crosses_threads::<CloseError>();
    crosses_threads::<ElectionError>();
    crosses_threads::<TransactionError>();
    crosses_threads::<WithdrawError>();
    crosses_threads::<SaslError>();
    crosses_threads::<EndReason>();
    crosses_threads::<LostReason>();
}

/// Takes a future that a task of its own may await.
fn may_be_spawned<F: Future + Send + Sync + 'static>(_: F) {}

/// Fails to compile if a future cannot be spawned; never called.
#[expect(dead_code, reason = "its types count")]
fn futures_may_be_spawned(
    builder: ClientBuilder,
    client: fn() -> Client,
    nomination: fn() -> Nomination,
    leadership: fn() -> Leadership,
) {
    const PATH: &str = "/a";
    may_be_spawned(builder.connect());
    may_be_spawned(client().close());
    may_be_spawned(async move {
        let client = client();
        let acls = Acls::open();
        let _ = client.create(PATH, "", CreateMode::Persistent).await;
        let _ = client.create_with_acl(PATH, "", CreateMode::Persistent, &acls).await;
        let _ = client.create_with_parents(PATH, "", CreateMode::Persistent, &acls).await;
        let _ = client.create_chroot(&acls).await;
        let _ = client.delete(PATH, Version::ANY).await;
        let _ = client.delete_tree(PATH).await;
        let _ = client.delete_ephemerals(PATH, |_| true).await;
        let _ = client.exists(PATH).await;
        let _ = client.exists_and_watch(PATH).await;
        let _ = client.get_data(PATH).await;
        let _ = client.get_data_and_watch(PATH).await;
        let _ = client.set_data(PATH, "", Version::ANY).await;
        let _ = client.get_children(PATH).await;
        let _ = client.get_children_and_watch(PATH).await;
        let _ = client.get_acl(PATH).await;
        let _ = client.set_acl(PATH, &acls, Version::ANY).await;
        let _ = client.get_ephemerals(PATH).await;
        let _ = client.get_all_children_number(PATH).await;
        let _ = client.get_config().await;
        let _ = client.get_config_and_watch().await;
        let _ = client.reconfigure(&Reconfiguration::incremental()).await;
        let _ = client.who_am_i().await;
        let _ = client.sync(PATH).await;
        let _ = client.transaction().check(PATH, Version::ANY).commit().await;
        let _ = client.multi_read().get_data(PATH).send().await;
        let _ = client.election(PATH).candidates().await;
    });
    may_be_spawned(async move {
        let client = client();
        if let Ok(mut watch) = client.add_watch(PATH, WatchMode::Persistent).await {
            let _ = watch.next().await;
            let _ = watch.remove().await;
        }
        let mut updates = client.connection_updates();
        let _ = updates.changed().await;
        let _ = updates.next().await;
        let _ = updates.wait_for(|_| true).await;
    });
    may_be_spawned(async move { nomination().elected().await });
    may_be_spawned(nomination().withdraw());
    may_be_spawned(leadership().resign());
    may_be_spawned(async move {
        let leadership = leadership();
        let _ = leadership.guard(core::future::pending::<()>()).await;
        let _ = leadership.lost().await;
        let _ = leadership.confirm().await;
        let _ = leadership.acknowledge(b"").await;
        let _ = leadership.transaction().commit().await;
        tokio::time::sleep(Duration::ZERO).await;
    });
}
