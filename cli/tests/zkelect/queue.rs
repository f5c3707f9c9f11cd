//! `zkelect queue put`, `take`, `peek` and `len`.

use std::io;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use election_tokio::Client;
use election_tokio::queue::QueueFormat;
use rustix::process::{Pid, Signal, kill_process};
use zk_test_kit::opcode::Opcode;
use zk_test_kit::proxy::{Cut, Proxy};

use crate::lock::stand;
use crate::served::Served;
use crate::support::{
    LISTS, QUEUE, finished, observed, output, output_of, servers, spawned, text, wait_for_replies,
    zkelect,
};

fn line<'a>(servers: &'a str, action: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["queue", action, "--servers", servers], options, &[QUEUE]].concat()
}

fn queue(servers: &str, action: &str, options: &[&str]) -> Output {
    output(&line(servers, action, options))
}

pub(crate) fn put(servers: &str, data: &str) {
    let put = output(&["queue", "put", "--servers", servers, QUEUE, data]);
    assert_eq!(put.status.code(), Some(0), "{}", text(&put.stderr));
}

fn taker(servers: &str, options: &[&str]) -> Child {
    spawned(&line(servers, "take", options), Stdio::null())
}

/// Returns the exit code and the output.
fn ended(taker: Child) -> (Option<i32>, String) {
    let output = finished(taker);
    (output.status.code(), text(&output.stdout))
}

fn assert_is(output: &Output, code: i32, stdout: &str) {
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), stdout);
}

#[test]
fn items_go_out_as_they_came_in() {
    let served = Served::start("queue", &[]);
    for servers in [served.address().to_owned(), servers("queue")] {
        assert_is(&queue(&servers, "len", &[]), 0, "0\n");
        assert_is(&queue(&servers, "take", &[]), 1, "");
        assert_is(&queue(&servers, "peek", &[]), 1, "");
        let of_argument = output(&["queue", "put", "--servers", &servers, QUEUE, "-x 1\n"]);
        assert_is(&of_argument, 0, "queue-0000000000\n");
        let bytes = [b"\0\xff\n".as_slice(), &vec![b'z'; 300_000]].concat();
        let of_input = output_of(&line(&servers, "put", &[]), &bytes);
        assert_is(&of_input, 0, "queue-0000000001\n");
        assert_is(&output_of(&line(&servers, "put", &[]), b""), 0, "queue-0000000002\n");
        assert_is(&queue(&servers, "len", &[]), 0, "3\n");
        let json = format!("{{\"path\":\"{QUEUE}\",\"length\":3}}\n");
        assert_is(&queue(&servers, "len", &["--json"]), 0, &json);
        for _ in 0..2 {
            assert_is(&queue(&servers, "peek", &[]), 0, "-x 1\n");
        }
        assert_is(&queue(&servers, "take", &[]), 0, "-x 1\n");
        let taken = queue(&servers, "take", &[]);
        assert!(taken.stdout == bytes && taken.status.code() == Some(0));
        let json = "{\"name\":\"queue-0000000002\",\"priority\":0,\"data\":\"\"}\n";
        assert_is(&queue(&servers, "peek", &["--json"]), 0, json);
        assert_is(&queue(&servers, "take", &["--json"]), 0, json);
        assert_is(&queue(&servers, "take", &[]), 1, "");
    }
}

#[test]
fn the_lowest_priority_goes_first_and_formats_are_not_mixed_unnoticed() {
    let server = Served::start("queue-priority", &[]);
    let servers = server.address();
    for (priority, data) in [("7", "later"), ("3", "sooner")] {
        let options = ["queue", "put", "--servers", servers, "--priority", priority, QUEUE, data];
        assert_eq!(output(&options).status.code(), Some(0));
    }
    for action in ["take", "peek", "len"] {
        let other = queue(servers, action, &[]);
        let stderr = text(&other.stderr);
        assert_eq!(other.status.code(), Some(78), "{stderr}");
        assert!(stderr.contains("guide-priority"), "{stderr}");
        assert!(stderr.contains("give --format"), "{stderr}");
    }
    let by_priority = ["--format", "guide-priority"];
    let waits = queue(servers, "take", &["--wait"]);
    assert_eq!(waits.status.code(), Some(78), "it would wait for ever");
    assert_is(&queue(servers, "take", &by_priority), 0, "sooner");
    assert_is(&queue(servers, "take", &by_priority), 0, "later");
    let too_great =
        output(&["queue", "put", "--servers=127.0.0.1:1", "--priority", "100", QUEUE, "x"]);
    let stderr = text(&too_great.stderr);
    assert_eq!(too_great.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("99 is the greatest") && stderr.contains("kazoo"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn formats_are_those_of_the_library() {
    let server = Served::start("queue-formats", &[]);
    let servers = server.address();
    let client = Client::builder(servers).connect().await.expect("a session");
    for (name, format) in [
        ("guide", QueueFormat::guide()),
        ("guide-priority", QueueFormat::guide_with_priority()),
        ("distributed-queue", QueueFormat::distributed_queue()),
        ("kazoo", QueueFormat::kazoo()),
    ] {
        let library = client.queue(QUEUE).format(format);
        library.put("from the library").await.expect("it is put");
        assert_is(&queue(servers, "take", &["--format", name]), 0, "from the library");
        let put = output_of(&line(servers, "put", &["--format", name]), b"from the shell");
        assert_eq!(put.status.code(), Some(0), "{}", text(&put.stderr));
        let taken = library.try_take().await.expect("it is asked").expect("an item");
        assert_eq!(taken.data.as_ref(), b"from the shell");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_take_that_waits_gets_what_is_put() {
    let server = Served::start("queue-wait", &[]);
    let servers = server.address();
    let (proxy, by_proxy) = observed(servers);
    let patient = taker(&by_proxy, &["--wait"]);
    let bounded = taker(&by_proxy, &["--wait=1m"]);
    wait_for_replies(&proxy, LISTS, 4);
    put(servers, "one");
    put(servers, "two");
    let mut taken = [ended(patient), ended(bounded)];
    taken.sort_unstable();
    assert_eq!(taken, [(Some(0), "one".to_owned()), (Some(0), "two".to_owned())]);
    assert_is(&queue(servers, "take", &["--wait=4s"]), 1, "");
    assert_is(&queue(servers, "take", &["--wait=0s"]), 1, "");
    let (proxy, by_proxy) = observed(servers);
    let told = taker(&by_proxy, &["--wait"]);
    wait_for_replies(&proxy, LISTS, 2);
    kill_process(Pid::from_child(&told), Signal::TERM).expect("it runs");
    assert_eq!(ended(told), (Some(128 + 15), String::new()));
    put(servers, "three");
    stand(servers, QUEUE, 1).await;
}

/// The item is gone from the queue, so it is printed.
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_loses_no_item_that_is_being_taken() {
    let server = Served::start("queue-signal", &[]);
    let (proxy, by_proxy) = observed(server.address());
    let taker = taker(&by_proxy, &["--wait"]);
    wait_for_replies(&proxy, LISTS, 2);
    proxy.delay(Duration::from_millis(700));
    put(server.address(), "held on to");
    // Its deletion is answered only after the signal.
    stand(server.address(), QUEUE, 0).await;
    kill_process(Pid::from_child(&taker), Signal::TERM).expect("it runs");
    assert_eq!(ended(taker), (Some(0), "held on to".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_whose_deletion_was_not_answered_is_printed_with_a_code_of_its_own() {
    let server = Served::start("queue-unknown", &[]);
    let proxy = Proxy::to(server.address().parse().expect("an address")).expect("a proxy");
    put(server.address(), "whose");
    let _cut = proxy.cut_when(Cut::instead_of_reply_to(Opcode::DELETE));
    let taken = queue(&proxy.connect_string(), "take", &[]);
    assert_is(&taken, 75, "whose");
    let stderr = text(&taken.stderr);
    assert!(stderr.contains("queue-0000000000 may have been taken"), "{stderr}");
    let _cut = proxy.cut_when(Cut::instead_of_reply_to(Opcode::CREATE2));
    let put = output_of(&line(&proxy.connect_string(), "put", &[]), b"once more");
    let stderr = text(&put.stderr);
    assert_eq!(put.status.code(), Some(75), "{stderr}");
    assert!(stderr.contains("the item may be in the queue"), "{stderr}");
    stand(server.address(), QUEUE, 1).await;
}

#[test]
fn a_reader_that_has_gone_is_told_of() {
    let server = Served::start("queue-unread", &[]);
    put(server.address(), "into the void");
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let mut take = zkelect();
    take.args(line(server.address(), "take", &[])).stdin(Stdio::null()).stdout(writer);
    let taken = take.stderr(Stdio::piped()).output().expect("zkelect runs");
    let stderr = text(&taken.stderr);
    assert!(stderr.contains("queue-0000000000 was taken, and is lost"), "{stderr}");
    assert_eq!(taken.status.code(), Some(71), "{stderr}");
}

#[test]
fn without_a_server_it_says_so() {
    for options in [&["--timeout=300ms"][..], &["--wait=300ms"]] {
        let taken = queue("127.0.0.1:1", "take", options);
        assert_is(&taken, 69, "");
    }
    for action in ["len", "peek"] {
        assert_is(&queue("127.0.0.1:1", action, &["--timeout=300ms"]), 69, "");
    }
    let relative = output(&["queue", "len", "--servers=127.0.0.1:1", "queue"]);
    assert_is(&relative, 2, "");
    assert!(text(&relative.stderr).contains("such as /app/jobs"), "{relative:?}");
}
