//! `zkelect semaphore`.

use core::num::NonZeroU32;

use election_tokio::{Client, Version};
use rustix::process::Signal;
use zk_test_kit::wait::{SOON, eventually};

use crate::lock::{HOLDING, stand};
use crate::served::Served;
use crate::support::{BEATING, Folder, Plan, Run, SEMAPHORE, output, text, token};

fn plan<'a>(servers: &'a str, id: &'a str, options: &'a [&'a str]) -> Plan<'a> {
    Plan { servers, id, options, script: HOLDING }
}

#[tokio::test]
async fn as_many_hold_as_there_are_permits_and_the_next_one_when_one_has_ended() {
    let server = Served::start("semaphore", &[]);
    let folder = Folder::new("semaphore-runs");
    let start = |id| Run::semaphore(&folder, &plan(server.address(), id, &[]));
    let mut first = start("a");
    first.wait_for_log("up a");
    let second = start("b");
    second.wait_for_log("up b");
    let third = start("c");
    stand(server.address(), "/semaphore/leases", 3).await;
    let mut in_vain =
        Run::semaphore(&folder, &plan(server.address(), "d", &["--wait", "4s", "-E", "42"]));
    assert_eq!(in_vain.ended().code(), Some(42), "{}", in_vain.said());
    let mut tried = Run::semaphore(&folder, &plan(server.address(), "e", &["--try"]));
    assert_eq!(tried.ended().code(), Some(1), "{}", tried.said());
    assert_eq!((third.names(), in_vain.names()), (vec![], vec!["ended".to_owned()]));
    first.signal(Signal::TERM);
    assert_eq!(first.ended().code(), Some(3), "{}", first.said());
    third.wait_for_log("up c");
    let told = |log: &[String]| log.iter().position(|line| line == "told a").expect("it was told");
    let up = |log: &[String]| log.iter().position(|line| line == "up c").expect("it is up");
    assert!(told(&third.log()) < up(&third.log()), "{:?}", third.log());
    assert_eq!(second.names(), ["acquired"]);
    assert_eq!(first.names(), ["acquired", "released", "ended"]);
}

#[test]
fn the_command_knows_its_token_and_what_it_holds() {
    let server = Served::start("semaphore-environment", &[]);
    let folder = Folder::new("semaphore-environment-run");
    let script = r#"echo "env $ZKELECT_TOKEN $ZKELECT_ID $ZKELECT_SEMAPHORE $ZKELECT_ZNODE" >>"$LOG"
        exit 7"#;
    let plan = Plan { servers: server.address(), id: "a", options: &[], script };
    let mut run = Run::semaphore(&folder, &plan);
    assert_eq!(run.ended().code(), Some(7), "{}", run.said());
    let acquired = run.wait_for("acquired", 1);
    let znode = acquired["znode"].as_str().expect("a name");
    assert_eq!(run.log(), [format!("env {} a /semaphore {znode}", token(&acquired))]);
    assert!(znode.contains("-lease-"), "{znode}");
    assert_eq!(acquired["semaphore"], SEMAPHORE);
}

/// A permit of a holder that is killed, and of one that is stopped, goes on.
#[tokio::test]
async fn the_permits_of_holders_that_are_killed_and_stopped_go_to_the_next() {
    let server = Served::start("semaphore-killed", &["--tick-time", "300ms"]);
    let folder = Folder::new("semaphore-killed-runs");
    let start = |id| {
        let options = &["--session-timeout", "6s", "--grace", "1s"];
        let plan = Plan { servers: server.address(), id, options, script: BEATING };
        Run::semaphore(&folder, &plan)
    };
    let killed = start("a");
    killed.wait_for("acquired", 1);
    let mut stopped = start("b");
    stopped.wait_for("acquired", 1);
    let waiters = [start("c"), start("d")];
    stand(server.address(), "/semaphore/locks", 2).await;
    killed.signal(Signal::KILL);
    stopped.signal(Signal::STOP);
    for waiter in &waiters {
        waiter.wait_for("acquired", 1);
        let token = token(&waiter.wait_for("acquired", 1));
        waiter.wait_for_log(&format!("beat {token} "));
    }
    stopped.signal(Signal::CONT);
    assert_eq!(stopped.ended().code(), Some(75), "{}", stopped.said());
    assert_eq!(stopped.count("acquired"), 1);
}

#[tokio::test]
async fn a_permit_that_is_taken_away_stops_the_command() {
    let server = Served::start("semaphore-broken", &[]);
    let folder = Folder::new("semaphore-broken-run");
    let mut run = Run::semaphore(&folder, &plan(server.address(), "a", &[]));
    run.wait_for_log("up a");
    let acquired = run.wait_for("acquired", 1);
    let znode = acquired["znode"].as_str().expect("a name");
    let client = Client::builder(server.address()).connect().await.expect("a session");
    let path = format!("{SEMAPHORE}/leases/{znode}");
    client.delete(&path, Version::ANY).await.expect("it is deleted");
    assert_eq!(run.ended().code(), Some(75), "{}", run.said());
    assert_eq!(run.log(), ["up a", "told a"]);
    assert_eq!(run.names(), ["acquired", "lost", "ended"]);
}

/// Permits of this library beside those of the command line.
#[tokio::test]
async fn it_shares_its_permits_with_clients_of_the_library() {
    let server = Served::start("semaphore-library", &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    let two = NonZeroU32::new(2).expect("it is not zero");
    let semaphore = client.semaphore(SEMAPHORE, two);
    let permit = semaphore.acquire().await.expect("a permit");
    let folder = Folder::new("semaphore-library-runs");
    let holder = Run::semaphore(&folder, &plan(server.address(), "a", &[]));
    holder.wait_for_log("up a");
    // Its turn is over once it holds.
    stand(server.address(), "/semaphore/locks", 0).await;
    assert!(semaphore.try_acquire().await.expect("it is asked").is_none());
    let waiter = Run::semaphore(&folder, &plan(server.address(), "b", &[]));
    stand(server.address(), "/semaphore/leases", 3).await;
    assert_eq!(waiter.names(), Vec::<String>::new());
    permit.release().await.expect("it is released");
    waiter.wait_for_log("up b");
    eventually(SOON, "one holds besides", || holder.names() == ["acquired"]).expect("it holds on");
}

#[test]
fn what_cannot_be_used_is_refused_before_anything_is_done() {
    for (options, said) in [
        (&["/s"][..], "--permits"),
        (&["-n", "0", "/s"], "zero"),
        (&["-n", "1", "s"], "begin with a slash"),
    ] {
        let line = [&["semaphore", "--servers=127.0.0.1:1"], options, &["--", "true"]].concat();
        let output = output(&line);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line:?}: {stderr}");
        assert!(stderr.contains(said), "{said:?} is not in: {stderr}");
    }
}
