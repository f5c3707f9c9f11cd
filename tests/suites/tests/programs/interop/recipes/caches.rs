//! Curator's `CuratorCache`.

use core::time::Duration;
use std::collections::BTreeSet;
use std::thread;
use std::time::Instant;

use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::raw::{CreateMode, RawClient};
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;

use super::pair::{Pair, Side, wanted_turns};
use crate::interop::programs::Library;

const TREE: &str = "/tree";
/// How many znodes come or go at a time.
const CHANGES: usize = 40;
/// How long theirs has to show what ours shows.
const PATIENCE: Duration = Duration::from_secs(3);

/// Both keep the same tree while another client writes to it and their connections are cut. Ours shows the tree
/// after each turn; a line of the output says whether theirs does.
pub(crate) fn caches(server: ServerKind) -> TestResult {
    let pair = &mut Pair::start(server, Library::Curator)?;
    let mut writer = RawClient::connect(pair.server.addr(), SOON)?;
    let root = format!("{}{TREE}", pair.chroot);
    writer.create(&root, CreateMode::Persistent)?;
    for side in [Side::Ours, Side::Peer] {
        pair.side(side).run(&format!("cache begin {TREE}"))?;
    }
    let mut tree = BTreeSet::from([TREE.to_owned()]);
    let turns = wanted_turns(server)?;
    let (mut rng, mut wrong) = (fastrand::Rng::with_seed(1), 0);
    for turn in turns.clone() {
        let chroot = pair.chroot.clone();
        let mut write = || -> TestResult {
            for _ in 0..CHANGES {
                let name = format!("{TREE}/{}", rng.u8(..20));
                let path = format!("{chroot}{name}");
                if tree.remove(&name) {
                    writer.delete(&path)?;
                } else {
                    writer.create(&path, CreateMode::Persistent)?;
                    tree.insert(name);
                }
            }
            Ok(())
        };
        if turn % 2 == 0 {
            write()?;
            pair.cut_off()?;
            write()?;
        } else {
            pair.while_cut_off(write)?;
        }
        let written = tree.iter().cloned().collect::<Vec<_>>().join(" ");
        assert!(shows(pair, Side::Ours, &written, SOON)?, "ours after turn {turn}: {written}");
        wrong += usize::from(!shows(pair, Side::Peer, &written, PATIENCE)?);
    }
    println!("CuratorCache showed another tree after {wrong} of {} turns", turns.len());
    pair.tell("cache", turns.len());
    Ok(())
}

/// Whether a participant shows this tree before so long.
fn shows(pair: &mut Pair, side: Side, tree: &str, span: Duration) -> Result<bool, TestFailure> {
    let until = Instant::now() + span;
    let order = format!("cache tree {TREE}");
    while pair.side(side).run(&order)? != tree {
        if Instant::now() > until {
            return Ok(false);
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(true)
}
