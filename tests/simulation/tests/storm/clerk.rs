//! A client that is spared what befalls the others, but for what befalls the servers: it changes
//! what they follow.

use core::time::Duration;
use std::sync::Arc;

use election_tokio::{Client, CreateMode, Version};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::laws::{NOTICE, ledger};
use crate::locks::Lock;
use crate::network::Way;
use crate::servers::TICK;
use crate::slots::ledgers_of_slots;

pub(crate) struct Clerk {
    client: Client,
    rng: fastrand::Rng,
}

impl Clerk {
    /// Makes what everything is written to, before anything is broken.
    pub(crate) async fn begin(way: &Way, elections: usize, mut rng: fastrand::Rng) -> Self {
        let builder = Client::builder(&way.addresses()).connector(way.connector());
        let client = builder.seed(rng.u64(..)).connect().await.expect("nothing is broken yet");
        let of_locks = Lock::ALL.into_iter().map(Lock::ledger);
        let ledgers = (0..elections).chain(of_locks).chain(ledgers_of_slots()).map(ledger);
        for path in ledgers.chain([NOTICE.to_owned()]) {
            // A server that has no `create2` ends two connections over it; then the client asks for the plain form.
            let mut attempts = 0;
            while let Err(error) = client.create(&path, "0", CreateMode::Persistent).await {
                attempts += 1;
                assert!(
                    attempts < 4 && error.may_have_happened(),
                    "nothing is broken yet: {error}"
                );
                sleep(TICK).await;
            }
        }
        Self { client, rng }
    }

    /// Changes the notice now and then, until it is to close.
    pub(crate) async fn keep_notice(mut self, closing_time: Arc<Notify>) {
        let client = self.client;
        let mut number = 0;
        let written = async {
            loop {
                sleep(Duration::from_millis(self.rng.u64(0..4000))).await;
                number += 1;
                let text = number.to_string();
                while client.set_data(NOTICE, text.clone(), Version::ANY).await.is_err() {
                    sleep(TICK).await;
                }
            }
        };
        tokio::select! {
            biased;
            () = written => {}
            () = closing_time.notified() => {}
        }
    }
}
