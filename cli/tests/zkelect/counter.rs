//! `zkelect counter`.

use std::process::Output;

use election_tokio::counter::CounterFormat;
use election_tokio::{Client, CreateMode};
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::{Cut, Proxy};

use crate::served::Served;
use crate::support::{output, servers, text};

const COUNTER: &str = "/app/counter";

fn counter(servers: &str, action: &str, arguments: &[&str]) -> Output {
    output(&[&["counter", action, "--servers", servers, COUNTER], arguments].concat())
}

fn assert_is(output: &Output, code: i32, stdout: &str) {
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), stdout);
}

#[test]
fn a_number_is_read_added_to_and_set() {
    let served = Served::start("counter", &[]);
    for servers in [served.address().to_owned(), servers("counter")] {
        assert_is(&counter(&servers, "get", &[]), 0, "0\n");
        assert_is(&counter(&servers, "add", &["3"]), 0, "3\n");
        assert_is(&counter(&servers, "add", &["-5"]), 0, "-2\n");
        assert_is(&counter(&servers, "set", &["7"]), 0, "");
        assert_is(&counter(&servers, "set", &["8", "--if", "7"]), 0, "");
        let other = counter(&servers, "set", &["9", "--if", "-2"]);
        assert_is(&other, 1, "");
        assert!(text(&other.stderr).contains("is at 8, and was not set"), "{other:?}");
        assert_is(&counter(&servers, "get", &[]), 0, "8\n");
        let json = |number| format!("{{\"path\":\"{COUNTER}\",\"number\":{number}}}\n");
        assert_is(&counter(&servers, "get", &["--json"]), 0, &json(8));
        assert_is(&counter(&servers, "add", &["--json", "1"]), 0, &json(9));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn formats_are_those_of_the_library() {
    let server = Served::start("counter-formats", &[]);
    let servers = server.address();
    let client = Client::builder(servers).connect().await.expect("a session");
    let curator = ["--format", "curator"];
    assert_is(&counter(servers, "add", &[&["300"][..], &curator].concat()), 0, "300\n");
    let library = client.counter(COUNTER).format(CounterFormat::BigEndian);
    assert_eq!(library.get().await.expect("it is read"), 300);
    let (data, _) = client.get_data(COUNTER).await.expect("it is read");
    assert_eq!(data.as_ref(), [0, 0, 1, 44]);
    let other = counter(servers, "get", &[]);
    assert_is(&other, 78, "");
    assert!(text(&other.stderr).contains("--format curator if"), "{other:?}");
    let too_great = counter(servers, "set", &[&["2147483648"][..], &curator].concat());
    assert_is(&too_great, 2, "");
    assert!(text(&too_great.stderr).contains("give a smaller number"), "{too_great:?}");
    client.create("/other", "no number", CreateMode::Persistent).await.expect("it is created");
    let other = output(&["counter", "add", "--servers", servers, "/other", "1"]);
    assert_is(&other, 78, "");
}

/// It is found out by another write of the same version, unless another client has written since.
#[test]
fn a_reply_that_is_lost_does_not_add_twice() {
    let server = Served::start("counter-lost", &[]);
    let proxy = Proxy::to(server.address().parse().expect("an address")).expect("a proxy");
    assert_is(&counter(server.address(), "set", &["1"]), 0, "");
    let _cut = proxy.cut_when(Cut::instead_of_reply_to(Opcode::SET_DATA));
    let added = counter(&proxy.connect_string(), "add", &["1"]);
    assert_is(&added, 75, "");
    assert!(text(&added.stderr).contains("was changed to 2, or not"), "{added:?}");
    assert_is(&counter(server.address(), "get", &[]), 0, "2\n");
}

#[test]
fn what_cannot_be_used_is_refused() {
    for (arguments, said) in
        [(&["/c", "1.5"][..], "invalid digit"), (&["/c"], "NUMBER"), (&["c", "1"], "/app/done")]
    {
        let line = [&["counter", "add", "--servers=127.0.0.1:1"], arguments].concat();
        let output = output(&line);
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said), "{said:?} is not in: {stderr}");
    }
    assert_is(&counter("127.0.0.1:1", "get", &["--timeout=300ms"]), 69, "");
}
