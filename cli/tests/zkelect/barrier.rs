//! `zkelect barrier set`, `lift` and `wait`.

use std::process::Stdio;

use election_tokio::Client;
use rustix::process::{Pid, Signal, kill_process};
use zk_test_kit::opcode::Opcode;

use crate::served::Served;
use crate::support::{
    BARRIER, finished, observed, output, servers, spawned, text, wait_for_replies,
};

fn barrier(servers: &str, action: &str, options: &[&str]) -> (Option<i32>, String) {
    let line = ["barrier", action, "--servers", servers, BARRIER];
    let output = output(&[&line, options].concat());
    (output.status.code(), text(&output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn those_that_wait_go_on_once_it_is_lifted() {
    let served = Served::start("barrier", &[]);
    for servers in [served.address().to_owned(), servers("barrier")] {
        let client = Client::builder(&servers).connect().await.expect("a session");
        assert_eq!(barrier(&servers, "wait", &[]).0, Some(0), "it was never set");
        // Both may be repeated.
        for _ in 0..2 {
            assert_eq!(barrier(&servers, "set", &[]).0, Some(0));
        }
        assert!(client.barrier(BARRIER).is_set().await.expect("it is asked"));
        for wait in ["0s", "4s"] {
            let (code, said) = barrier(&servers, "wait", &["--wait", wait]);
            assert_eq!(code, Some(1), "{wait}: {said}");
            assert!(said.contains("`zkelect barrier lift` lifts it"), "{said}");
        }
        let (proxy, by_proxy) = observed(&servers);
        let line = ["barrier", "wait", "--servers", &by_proxy, BARRIER];
        let mut waiters = [(); 2].map(|()| spawned(&line, Stdio::null()));
        wait_for_replies(&proxy, &[Opcode::EXISTS], 2);
        for waiter in &mut waiters {
            assert!(waiter.try_wait().expect("it is asked").is_none(), "it waits");
        }
        for _ in 0..2 {
            assert_eq!(barrier(&servers, "lift", &[]).0, Some(0));
        }
        for waiter in waiters {
            assert_eq!(finished(waiter).status.code(), Some(0));
        }
        assert_eq!(barrier(&servers, "wait", &["--wait", "0s"]), (Some(0), String::new()));
        assert!(client.exists(BARRIER).await.expect("it is asked").is_none());
    }
}

#[test]
fn a_wait_that_is_told_to_end_does() {
    let server = Served::start("barrier-signal", &[]);
    assert_eq!(barrier(server.address(), "set", &[]).0, Some(0));
    let (proxy, by_proxy) = observed(server.address());
    let line = ["barrier", "wait", "--servers", &by_proxy, BARRIER];
    let waiter = spawned(&line, Stdio::null());
    wait_for_replies(&proxy, &[Opcode::EXISTS], 1);
    kill_process(Pid::from_child(&waiter), Signal::TERM).expect("it runs");
    assert_eq!(finished(waiter).status.code(), Some(128 + 15));
}

#[test]
fn what_cannot_be_done_is_told_with_what_to_do() {
    let server = Served::start("barrier-refused", &[]);
    let put = output(&["queue", "put", "--servers", server.address(), BARRIER, "x"]);
    assert_eq!(put.status.code(), Some(0));
    let (code, said) = barrier(server.address(), "lift", &[]);
    assert_eq!(code, Some(78), "{said}");
    assert!(said.contains("has children") && said.contains("`zkelect list` shows"), "{said}");
    let relative = output(&["barrier", "set", "--servers", server.address(), "barrier"]);
    assert_eq!(relative.status.code(), Some(2));
    assert!(text(&relative.stderr).contains("such as /app/migration"), "{relative:?}");
    for action in ["set", "lift"] {
        let (code, said) = barrier("127.0.0.1:1", action, &["--timeout", "300ms"]);
        assert_eq!(code, Some(69), "{said}");
    }
    let (code, said) = barrier("127.0.0.1:1", "wait", &["--wait", "300ms"]);
    assert_eq!(code, Some(69), "{said}");
}
