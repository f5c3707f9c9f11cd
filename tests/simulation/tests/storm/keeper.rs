//! An operator of slots: it drains members and admits them, spoils the plan, and deletes what members have made.

use core::future::Future;
use core::time::Duration;
use std::sync::Arc;

use election_tokio::slots::{SlotPlan, Slots};
use election_tokio::{Client, Version};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::laws::Laws;
use crate::life::LONG;
use crate::network::Way;
use crate::scene::PROCESSES;
use crate::servers::TICK;
use crate::slots::{SLOTS, member};

pub(crate) struct Keeper {
    client: Client,
    laws: Laws,
    rng: fastrand::Rng,
}

impl Keeper {
    /// Begins before anything is broken.
    pub(crate) fn begin(way: &Way, laws: &Laws, mut rng: fastrand::Rng) -> Self {
        let builder = Client::builder(&way.addresses()).connector(way.connector());
        let builder = builder.seed(rng.u64(..)).id_seed(rng.u64(..));
        let client = builder.start().expect("the options are good");
        Self { client, laws: laws.clone(), rng }
    }

    /// Interferes until it is to end, and admits all members.
    pub(crate) async fn keep(mut self, end: Arc<Notify>) -> Self {
        loop {
            let pause = Duration::from_millis(self.rng.u64(200..4_000));
            tokio::select! {
                biased;
                () = end.notified() => break,
                () = sleep(pause) => self.interfere().await,
            }
        }
        for process in 0..PROCESSES {
            self.admit(process).await;
        }
        self
    }

    async fn interfere(&mut self) {
        let victim = self.rng.usize(..PROCESSES);
        let what = self.rng.u8(..9);
        self.laws.tell(|| format!("the operator interferes: {what}, with {victim}"));
        let patience = Duration::from_millis(self.rng.u64(1..2_000));
        let acted = async {
            match what {
                0 | 1 => drop(self.slots().drain(&member(victim)).await),
                2 | 3 => drop(self.slots().admit(&member(victim)).await),
                4 => self.overwrite("slots/1\nnonsense").await,
                5 => self.delete_plan().await,
                6 => self.favour(victim).await,
                7 => self.delete_a_child("members", victim).await,
                _ => self.break_the_lock_of(victim).await,
            }
        };
        // What is given up may happen still.
        let _ = timeout(patience, acted).await;
    }

    fn slots(&self) -> Slots {
        self.client.slots(SLOTS, 0)
    }

    pub(crate) async fn drain(&self, process: usize) {
        self.repeat(|| async { self.slots().drain(&member(process)).await.is_ok() }).await;
    }

    pub(crate) async fn admit(&self, process: usize) {
        self.repeat(|| async { self.slots().admit(&member(process)).await.is_ok() }).await;
    }

    pub(crate) async fn overwrite(&self, text: &str) {
        self.laws.operator_writes_a_plan(text);
        let _ = self.client.set_data(&plan_path(), text.to_owned(), Version::ANY).await;
    }

    pub(crate) async fn delete_plan(&self) {
        let _ = self.client.delete(&plan_path(), Version::ANY).await;
    }

    /// Overwrites the plan by one that gives all slots to one of its members.
    async fn favour(&self, process: usize) {
        let Ok((data, stat)) = self.client.get_data(&plan_path()).await else { return };
        let Ok(plan) = SlotPlan::decode(&data) else { return };
        let all: Vec<_> = plan.owners().keys().map(ToString::to_string).collect();
        let text = format!("slots/1\nmember {} 1 {}\nfree\n", member(process), all.join(" "));
        self.laws.operator_writes_a_plan(&text);
        let _ = self.client.set_data(&plan_path(), text, stat.version).await;
    }

    /// Deletes the znode of the holder of a slot. The next one holds it at once, and the holder hears of it later.
    async fn break_the_lock_of(&self, slot: usize) {
        let path = format!("{SLOTS}/slots/{slot}");
        let Ok(contenders) = self.client.get_children(&path).await else { return };
        let suffix = |name: &&str| name.rsplit("__").next().unwrap_or_default().to_owned();
        let Some(first) = contenders.iter().min_by_key(suffix) else { return };
        let path = format!("{path}/{first}");
        let Ok(Some(stat)) = self.client.exists(&path).await else { return };
        self.laws.operator_breaks_a_slot(stat.czxid);
        let _ = self.client.delete(&path, Version::ANY).await;
    }

    /// Deletes one of those that stand there: a member's candidate.
    async fn delete_a_child(&self, node: &str, at: usize) {
        let path = format!("{SLOTS}/{node}");
        let Ok(children) = self.client.get_children(&path).await else { return };
        if let Some(child) = children.iter().nth(at) {
            let _ = self.client.delete(&format!("{path}/{child}"), Version::ANY).await;
        }
    }

    async fn repeat<F: Future<Output = bool>>(&self, act: impl Fn() -> F) {
        let acted = async {
            while !act().await {
                sleep(TICK).await;
            }
        };
        if timeout(LONG * 2, acted).await.is_err() {
            self.laws.broken("an operator of slots gets nowhere".to_owned());
        }
    }
}

fn plan_path() -> String {
    format!("{SLOTS}/plan")
}
