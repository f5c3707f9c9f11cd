//! Apache ZooKeeper's own command line client, `zkCli.sh`.

use zk_embedded::ExtendedTypes;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::on_both_servers;
use zk_test_kit::server::{ServerKind, Settings, TestServer};
use zk_test_kit::zookeeper::{CommandLine, ServerVersion};

on_both_servers! {
    #[test]
    znodes_of_every_mode_are_created,
    data_is_read_and_written_by_version,
    lists_show_all_and_deletions_reach_down,
    one_shot_watches_tell_once,
    lasting_watches_tell_until_they_are_removed,
    ephemeral_znodes_are_listed_and_go_with_the_session,
    access_lists_are_shown_set_and_obeyed;
}

/// Returns a client with a root znode of its own.
fn connect(server: &TestServer) -> Result<CommandLine, TestFailure> {
    let chroot = server.fresh_chroot("cli")?;
    Ok(CommandLine::connect(&format!("{}{chroot}", server.connect_string()))?)
}

/// Runs the commands, each of which is to print the text beside it.
fn prints(cli: &mut CommandLine, commands: &[(&str, &str)]) -> TestResult {
    for (command, expected) in commands {
        let printed = cli.run(command)?;
        assert!(printed.contains(expected), "{command}: expected {expected:?} in\n{printed}");
    }
    Ok(())
}

fn znodes_of_every_mode_are_created(server: ServerKind) -> TestResult {
    let extended_types = ExtendedTypes::Enabled;
    let server = server.start_with(&Settings { extended_types, ..Settings::default() })?;
    let mut cli = connect(&server)?;
    prints(
        &mut cli,
        &[
            ("create /plain data", "Created /plain"),
            ("create -e /ephemeral data", "Created /ephemeral"),
            ("create -s /n- data", "Created /n-0000000002"),
            ("create -s -e /n- data", "Created /n-0000000003"),
            ("create -c /container data", "Created /container"),
            ("create -t 60000 /ttl data", "Created /ttl"),
            ("create -s -t 60000 /ttl- data", "Created /ttl-0000000006"),
            ("create /plain/child", "Created /plain/child"),
            ("create /plain", "Node already exists: /plain"),
            ("create /none/child", "Node does not exist: /none/child"),
            ("create /ephemeral/child", "Ephemerals cannot have children: /ephemeral/child"),
            ("stat /plain", "ephemeralOwner = 0x0\n"),
            ("stat /ephemeral", "ephemeralOwner = 0x1"),
            (
                "ls /",
                "[container, ephemeral, n-0000000002, n-0000000003, plain, ttl, ttl-0000000006]",
            ),
        ],
    )
}

fn data_is_read_and_written_by_version(server: ServerKind) -> TestResult {
    let mut cli = connect(server.shared()?)?;
    prints(
        &mut cli,
        &[
            ("create /znode one", "Created /znode"),
            ("get /znode", "one"),
            ("get -s /znode", "dataVersion = 0"),
            ("set -s -v 0 /znode three", "dataVersion = 1"),
            ("set -v 0 /znode four", "version No is not valid : /znode"),
            ("get -s /znode", "three"),
            ("stat /znode", "dataLength = 5"),
            ("set /none x", "Node does not exist: /none"),
            ("get /none", "Node does not exist: /none"),
            ("stat /none", "Node does not exist: /none"),
            ("delete -v 0 /znode", "version No is not valid : /znode"),
            ("delete -v 1 /znode", ""),
            ("stat /znode", "Node does not exist: /znode"),
            ("delete /zookeeper/quota", "Node does not exist: /zookeeper/quota"),
            ("sync /", "Sync is OK"),
            ("reconfig -add server.2=host:1:2;3", "Reconfig is disabled"),
        ],
    )
}

fn lists_show_all_and_deletions_reach_down(server: ServerKind) -> TestResult {
    let mut cli = connect(server.shared()?)?;
    for path in ["/a", "/a/b", "/a/b/c", "/a/d", "/e"] {
        cli.run(&format!("create {path}"))?;
    }
    prints(
        &mut cli,
        &[
            ("ls /", "[a, e]"),
            ("ls -s /a", "numChildren = 2"),
            ("ls -R /a", "/a\n/a/b\n/a/d\n/a/b/c"),
            ("ls /none", "Node does not exist: /none"),
            ("getAllChildrenNumber /", "5"),
            ("getAllChildrenNumber /a", "3"),
            ("delete /a", "Node not empty: /a"),
            ("deleteall /a", ""),
            ("ls /", "[e]"),
        ],
    )
}

fn one_shot_watches_tell_once(server: ServerKind) -> TestResult {
    let mut cli = connect(server.shared()?)?;
    cli.run("create /znode one")?;
    for command in ["get -w /znode", "ls -w /znode", "stat -w /none"] {
        cli.run(command)?;
    }
    for command in [
        "set /znode two",
        "set /znode three",
        "create /znode/child",
        "create /znode/other",
        "create /none",
        "set /none x",
    ] {
        cli.run(command)?;
    }
    let events = [
        ("NodeDataChanged", "/znode"),
        ("NodeChildrenChanged", "/znode"),
        ("NodeCreated", "/none"),
    ];
    for (kind, path) in events {
        cli.wait_for_event(kind, path)?;
    }
    cli.run("stat -w /none")?;
    cli.run("delete /none")?;
    cli.wait_for_event("NodeDeleted", "/none")?;
    for (kind, path) in events {
        assert_eq!(cli.count_events(kind, path), 1, "{kind} {path}");
    }
    assert_eq!(cli.count_events("NodeDataChanged", "/none"), 0);
    Ok(())
}

fn lasting_watches_tell_until_they_are_removed(server: ServerKind) -> TestResult {
    let mut cli = connect(server.shared()?)?;
    for command in [
        "create /a",
        "create /b",
        "addWatch -m PERSISTENT /a",
        "addWatch -m PERSISTENT_RECURSIVE /b",
    ] {
        cli.run(command)?;
    }
    for path in ["/a", "/b"] {
        for number in 1..=2 {
            cli.run(&format!("create {path}/{number}"))?;
            cli.run(&format!("create {path}/{number}/below"))?;
            cli.run(&format!("set {path} {number}"))?;
        }
    }
    cli.wait_for_event("NodeCreated", "/b/2/below")?;
    cli.run("deleteall /b")?;
    cli.wait_for_event("NodeDeleted", "/b")?;
    // All events of one client come in order.
    let count = |kind, path| cli.count_events(kind, path);
    assert_eq!((count("NodeChildrenChanged", "/a"), count("NodeDataChanged", "/a")), (2, 2));
    assert_eq!((count("NodeCreated", "/a/1"), count("NodeCreated", "/b/1")), (0, 1));
    assert_eq!((count("NodeChildrenChanged", "/b"), count("NodeDataChanged", "/b")), (0, 2));
    assert_eq!((count("NodeDeleted", "/b/1/below"), count("NodeDeleted", "/b/1")), (1, 1));

    prints(
        &mut cli,
        &[
            ("removewatches /a", ""),
            ("removewatches /a", "No such watcher for /a"),
            ("set /a x", ""),
        ],
    )?;
    cli.wait_for_event("PersistentWatchRemoved", "/a")?;
    cli.run("stat -w /after")?;
    cli.run("create /after")?;
    cli.wait_for_event("NodeCreated", "/after")?;
    assert_eq!(cli.count_events("NodeDataChanged", "/a"), 2);
    Ok(())
}

/// Without a chroot: the client of 3.8 forgets it when it lists these.
fn ephemeral_znodes_are_listed_and_go_with_the_session(server: ServerKind) -> TestResult {
    let server = server.shared()?;
    let parent = server.fresh_chroot("ephemeral")?;
    let mut cli = CommandLine::connect(&server.connect_string())?;
    for name in ["one", "two"] {
        cli.run(&format!("create -e {parent}/{name}"))?;
    }
    prints(
        &mut cli,
        &[
            (&format!("getEphemerals {parent}/one"), &format!("[{parent}/one]")),
            (&format!("getEphemerals {parent}/none"), "[]"),
            (&format!("ls {parent}"), "[one, two]"),
        ],
    )?;
    let all = cli.run("getEphemerals")?;
    assert!(["one", "two"].iter().all(|name| all.contains(&format!("{parent}/{name}"))), "{all}");
    cli.quit()?;
    let mut next = CommandLine::connect(&server.connect_string())?;
    prints(&mut next, &[(&format!("ls {parent}"), "[]")])
}

fn access_lists_are_shown_set_and_obeyed(server: ServerKind) -> TestResult {
    let server = server.shared()?;
    let chroot = server.fresh_chroot("acl")?;
    let servers = format!("{}{chroot}", server.connect_string());
    let mut owner = CommandLine::connect(&servers)?;
    let owner_release = owner.release();
    let mut stranger = CommandLine::connect(&servers)?;
    // Older clients do not know the command, and print all that they know.
    let whoami = |known| match owner_release {
        Some(release) if release >= ServerVersion::new(3, 7, 0) => known,
        _ => "addauth scheme auth",
    };
    prints(
        &mut owner,
        &[
            ("whoami", whoami("ip: 127.0.0.1")),
            ("addauth digest ann:one", ""),
            ("whoami", whoami("digest: ann")),
            ("create /private secret auth::cdrwa", "Created /private"),
            ("getAcl /private", "'digest,'ann:grDcJ7OS1jCu/cG2TyJHw/I9L8o=\n: cdrwa"),
            ("get /private", "secret"),
            ("setAcl /private world:nobody:r", "Acl is not valid : /private"),
        ],
    )?;
    prints(
        &mut stranger,
        &[
            ("get /private", "Insufficient permission : /private"),
            ("set /private x", "Insufficient permission : /private"),
            ("getAcl /private", "Insufficient permission : /private"),
            ("create /private/child", "Insufficient permission : /private/child"),
        ],
    )?;
    prints(
        &mut owner,
        &[
            (
                "setAcl -s /private world:anyone:r,digest:ann:grDcJ7OS1jCu/cG2TyJHw/I9L8o=:a",
                "aclVersion = 1",
            ),
            ("set /private x", "Insufficient permission : /private"),
        ],
    )?;
    prints(&mut stranger, &[("get /private", "secret"), ("getAcl /private", "'digest,'ann:x\n: a")])
}
