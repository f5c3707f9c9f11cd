//! A run of cached trees alone: a storm in which all processes write to one, and a calm in which they keep it.

use tokio::time::sleep;
use zk_embedded::Profile;

use crate::laws::Tally;
use crate::scene::{CALM, Cast, PROCESSES, Scene};
use crate::setting::LONGEST;

pub(crate) struct Caching {
    scene: Scene,
}

impl Caching {
    pub(crate) async fn pass(servers: Profile, seed: u64) -> Result<Tally, String> {
        let mut scene = Scene::begin(servers, seed, Cast::Trees);
        scene.add_processes();
        let (laws, mut caching) = (scene.laws.clone(), Self { scene });
        caching.scene.rage().await;
        caching.clear_up().await;
        caching.scene.end_processes().await;
        caching.scene.all_is_over();
        let setting = &caching.scene.setting;
        laws.what_is_broken()
            .map_or_else(|| Ok(laws.tally()), |law| Err(format!("{law} ({setting:?})")))
    }

    /// Mends everything, and checks the calm: all caches show the tree, also after their connections are cut, of which
    /// their streams tell nothing where sessions go on.
    async fn clear_up(&mut self) {
        self.scene.laws.tell(|| "it clears up".to_owned());
        self.scene.laws.trees_are_to_rest();
        self.scene.mend().await;
        sleep(CALM).await;
        self.scene.caches_show_the_tree();
        let told = self.scene.laws.told_of_trees();
        self.scene.ways.iter().for_each(crate::network::Way::cut);
        sleep(LONGEST * 4).await;
        self.scene.caches_show_the_tree();
        let later = self.scene.laws.told_of_trees();
        // A session that does not go on takes its ephemeral znodes with it.
        if later != told && self.scene.setting.sessions_go_on() {
            self.scene.laws.broken(format!("in the calm caches tell {told:?}, then {later:?}"));
        }
    }
}

impl Scene {
    /// Checks, where there are trees, that each process has a cache, and that its stream has yielded all that stands
    /// there, and nothing else.
    pub(crate) fn caches_show_the_tree(&self) {
        if !matches!(self.cast, Cast::Trees | Cast::AllAndTrees) {
            return;
        }
        let shown = self.servers.show(|data| self.laws.caches_are_the_tree(data, PROCESSES));
        if shown.is_none() {
            self.laws.broken("there is no server".to_owned());
        }
    }
}
