//! Changes that no prepared transaction makes.

use alloc::vec::Vec;

use zk_jute::Zxid;

use super::*;

const AT: Moment = Moment { zxid: Zxid::new(1), time: Timestamp::from_millis(0) };

fn create(tree: &mut Tree, path: &str) -> Result<Stat, Diverged> {
    let access = AccessList::open();
    let lifetime = Lifetime::Persistent;
    tree.create(NewZnode { path, data: None, access: &access, lifetime }, AT)
}

#[test]
fn a_change_that_does_not_fit_changes_nothing() {
    let mut tree = Tree::new(CounterEnd::Sticks);
    create(&mut tree, "/a").expect("the root is there");
    create(&mut tree, "/a/b").expect("its parent is there");
    let before = tree.clone();
    let access = AccessList::open();
    assert_eq!(create(&mut tree, "/a"), Err(Diverged));
    assert_eq!(create(&mut tree, "/none/a"), Err(Diverged));
    assert_eq!(create(&mut tree, "a"), Err(Diverged));
    for path in ["/a", "/none", "/", "/zookeeper/config", ""] {
        assert_eq!(tree.delete(path, Zxid::new(2)).map(drop), Err(Diverged), "{path}");
    }
    assert_eq!(tree.set_data("/none", None, AT).map(drop), Err(Diverged));
    assert_eq!(tree.set_acl("/none", &access), Err(Diverged));
    assert_eq!(tree, before);
}

#[test]
fn the_bytes_of_data_and_paths_are_counted() {
    let mut tree = Tree::new(CounterEnd::Sticks);
    assert_eq!(tree.data_bytes(), 0);
    create(&mut tree, "/abc").expect("the root is there");
    tree.set_data("/abc", Some(&Bytes::from_static(b"12345")), AT).expect("just created");
    assert_eq!(tree.data_bytes(), 9);
    tree.set_data("/abc", Some(&Bytes::from_static(b"1")), AT).expect("just created");
    assert_eq!(tree.data_bytes(), 5);
    tree.delete("/abc", Zxid::new(2)).expect("just created");
    assert_eq!(tree.data_bytes(), 0);
    let paths: Vec<&str> = tree.iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"]);
}
