//! Each fault of the proxy, between hand-written protocol bytes and a real server.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Instant;

use zk_test_kit::failure::TestResult;
use zk_test_kit::proxy::{Cut, Direction, Directions, FrameKind, Opcode, Proxy};
use zk_test_kit::raw::{CreateMode, RawClient, RawError};
use zk_test_kit::wait::{SOON, eventually};
use zk_test_kit::zookeeper::{Options, Server, StartError, shared};

/// The longest that the server grants: the clients of these tests do not ping by themselves.
const SESSION: Duration = Duration::from_secs(60);
const CREATE: FrameKind = FrameKind::Request(Opcode::CREATE);

/// A proxy in front of the shared server, a client behind it, a client beside it, and a znode.
struct Bench {
    server: &'static Server,
    proxy: Proxy,
    client: RawClient,
    witness: RawClient,
    chroot: String,
}

impl Bench {
    fn set_up() -> Result<Self, RawError> {
        let server = shared().map_err(|error: &StartError| io::Error::other(error))?;
        let proxy = Proxy::to(server.addr())?;
        let client = RawClient::connect(proxy.addr(), SESSION)?;
        let witness = RawClient::connect(server.addr(), SESSION)?;
        let chroot = server.fresh_chroot("proxy")?;
        Ok(Self { server, proxy, client, witness, chroot })
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.chroot)
    }

    fn create(&mut self, name: &str) -> Result<String, RawError> {
        let path = self.path(name);
        self.client.create(&path, CreateMode::Persistent)
    }

    fn was_created(&mut self, name: &str) -> Result<bool, RawError> {
        let path = self.path(name);
        self.witness.exists(&path)
    }
}

#[test]
fn it_counts_what_passes_by_kind() -> TestResult {
    let mut bench = Bench::set_up()?;
    bench.client.ping()?;
    bench.client.ping()?;
    let path = bench.create("counted")?;
    bench.create("counted").expect_err("it is there already");
    bench.client.watch(&path)?;
    bench.witness.delete(&path)?;
    assert_eq!(bench.client.next_notification()?.path, path);

    let counters = bench.proxy.counters();
    assert_eq!(counters.accepted, 1);
    assert_eq!(counters.passed(FrameKind::ConnectRequest), 1);
    assert_eq!(counters.passed(FrameKind::ConnectResponse), 1);
    assert_eq!((counters.requests(Opcode::PING), counters.replies(Opcode::PING)), (2, 2));
    assert_eq!((counters.requests(Opcode::CREATE), counters.replies(Opcode::CREATE)), (2, 2));
    assert_eq!(counters.errors(Opcode::CREATE, -110), 1);
    assert_eq!(counters.all_requests(), 5);
    assert_eq!(counters.notifications(), 1);
    let by_connection: Vec<_> = counters.notifications_by_connection().iter().collect();
    assert_eq!(by_connection, [(&bench.proxy.connections()[0], &1)]);
    assert_eq!(counters.passed(FrameKind::StrayReply), 0);
    // A connect request of 49 bytes, two pings of 12, and what else was sent.
    assert!(counters.bytes(Direction::ToServer) > 49 + 2 * 12);
    Ok(())
}

#[test]
fn a_cut_ends_all_connections_and_new_ones_are_welcome() -> TestResult {
    let bench = Bench::set_up()?;
    let other = RawClient::connect(bench.proxy.addr(), SESSION)?;
    bench.proxy.cut();
    let session = bench.client.session().clone();
    bench.client.wait_for_end()?;
    other.wait_for_end()?;
    assert_eq!(bench.proxy.connections(), []);
    RawClient::resume(bench.proxy.addr(), &session)?.ping()?;
    Ok(())
}

#[test]
fn one_connection_can_be_cut_alone() -> TestResult {
    let mut bench = Bench::set_up()?;
    let other = RawClient::connect(bench.proxy.addr(), SESSION)?;
    let connections = bench.proxy.connections();
    assert_eq!(connections.len(), 2);
    bench.proxy.cut_connection(connections[1]);
    other.wait_for_end()?;
    bench.client.ping()?;
    Ok(())
}

#[test]
fn refused_connections_leave_the_open_ones_alone() -> TestResult {
    let mut bench = Bench::set_up()?;
    bench.proxy.refuse();
    let refused = TcpStream::connect(bench.proxy.addr()).expect_err("it is refused");
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    bench.client.ping()?;
    bench.proxy.accept()?;
    RawClient::connect(bench.proxy.addr(), SESSION)?.ping()?;
    Ok(())
}

#[test]
fn a_black_hole_to_the_server_delivers_late_when_healed() -> TestResult {
    let mut bench = Bench::set_up()?;
    bench.proxy.black_hole(Directions::ToServer);
    let path = bench.path("late");
    bench.client.send_create(&path, CreateMode::Persistent)?;
    bench.proxy.wait_for(SOON, "the create arrives", |counters| counters.arrived(CREATE) == 1)?;
    assert!(!bench.was_created("late")?);
    bench.proxy.heal();
    eventually(SOON, "the create is done", || bench.was_created("late").unwrap_or(false))?;
    Ok(())
}

#[test]
fn a_black_hole_to_the_client_holds_back_replies_only() -> TestResult {
    let mut bench = Bench::set_up()?;
    bench.proxy.black_hole(Directions::ToClient);
    let path = bench.path("done");
    bench.client.send_create(&path, CreateMode::Persistent)?;
    let reply = FrameKind::Reply(Opcode::CREATE);
    let counters =
        bench.proxy.wait_for(SOON, "the reply arrives", |counters| counters.arrived(reply) == 1)?;
    assert!(bench.was_created("done")?);
    assert_eq!(counters.passed(reply), 0);
    bench.proxy.heal();
    bench.proxy.wait_for(SOON, "the reply passes", |counters| counters.passed(reply) == 1)?;
    Ok(())
}

#[test]
fn a_black_hole_healed_by_cutting_loses_what_it_held() -> TestResult {
    let mut bench = Bench::set_up()?;
    bench.proxy.black_hole(Directions::Both);
    let path = bench.path("lost");
    bench.client.send_create(&path, CreateMode::Persistent)?;
    bench.proxy.wait_for(SOON, "the create arrives", |counters| counters.arrived(CREATE) == 1)?;
    bench.proxy.heal_by_cutting();
    let session = bench.client.session().clone();
    bench.client.wait_for_end()?;
    // Resumed at the server, the session's later requests come after whatever came before.
    let mut resumed = RawClient::resume(bench.proxy.addr(), &session)?;
    assert!(!resumed.exists(&path)?);
    assert_eq!(bench.proxy.counters().requests(Opcode::CREATE), 0);
    Ok(())
}

#[test]
fn a_black_hole_hides_the_end_of_a_connection_too() -> TestResult {
    let server = Options::new().start_server()?;
    let proxy = Proxy::to(server.addr())?;
    let client = RawClient::connect(proxy.addr(), SESSION)?;
    proxy.black_hole(Directions::ToClient);
    server.kill()?;
    let ended = thread::spawn(move || client.wait_for_end());
    assert_eq!(proxy.connections().len(), 1);
    assert!(!ended.is_finished());
    proxy.heal();
    ended.join().expect("it does not panic")?;
    Ok(())
}

/// The server goes on as if the client had only fallen silent: it learns of a later end first.
#[test]
fn a_server_can_be_left_in_the_dark_about_the_end() -> TestResult {
    let bench = Bench::set_up()?;
    let server = bench.server;
    let is_connected = |session: i64| {
        server.four_letter("cons").is_ok_and(|cons| cons.contains(&format!("0x{session:x}")))
    };
    let (abandoned, later) = (bench.client.session().id, bench.witness.session().id);
    bench.proxy.abandon_server();
    bench.client.wait_for_end()?;
    assert_eq!(bench.proxy.connections(), []);
    drop(bench.witness);
    eventually(SOON, "the server has seen a later end", || !is_connected(later))?;
    assert!(is_connected(abandoned));
    bench.proxy.cut();
    eventually(SOON, "the server has seen the end", || !is_connected(abandoned))?;
    Ok(())
}

#[test]
fn delayed_frames_come_late_and_do_not_wait_for_each_other() -> TestResult {
    const DELAY: Duration = Duration::from_millis(300);
    const REQUESTS: u32 = 20;
    let mut bench = Bench::set_up()?;
    bench.proxy.delay(DELAY);
    let start = Instant::now();
    bench.client.ping()?;
    assert!(start.elapsed() >= 2 * DELAY, "both ways");

    let start = Instant::now();
    for number in 0..REQUESTS {
        let path = bench.path(&number.to_string());
        bench.client.send_create(&path, CreateMode::Persistent)?;
    }
    let replies = u64::from(REQUESTS);
    bench.proxy.wait_for(SOON, "all replies pass", |counters| {
        counters.replies(Opcode::CREATE) == replies
    })?;
    assert!(start.elapsed() < 2 * DELAY * REQUESTS, "one after the other it would take longer");

    bench.proxy.delay(Duration::ZERO);
    Ok(())
}

#[test]
fn a_cut_after_bytes_may_fall_into_a_frame() -> TestResult {
    let mut bench = Bench::set_up()?;
    let before = bench.proxy.counters();
    let planned = bench.proxy.cut_after_bytes(Direction::ToServer, 12 + 5);
    bench.client.ping()?;
    bench.create("half").expect_err("it is cut");
    planned.wait(SOON)?;
    let after = bench.proxy.counters();
    assert_eq!(after.bytes_to_server - before.bytes_to_server, 17);
    assert_eq!(after.requests(Opcode::CREATE), 0);
    assert!(!bench.was_created("half")?);
    Ok(())
}

#[test]
fn a_cut_before_the_third_create_lets_two_be_done() -> TestResult {
    let mut bench = Bench::set_up()?;
    let mut other = RawClient::connect(bench.proxy.addr(), SESSION)?;
    let planned = bench.proxy.cut_when(Cut::before(CREATE).skipping(2));
    bench.create("1")?;
    bench.client.ping()?;
    bench.create("2")?;
    assert_eq!(planned.cut_connection(), None);
    bench.create("3").expect_err("it is cut");
    planned.wait(SOON)?;
    assert!(bench.was_created("2")?);
    assert!(!bench.was_created("3")?);
    other.ping()?;
    Ok(())
}

/// The cut that a client cannot tell from the one before.
#[test]
fn a_cut_instead_of_a_reply_leaves_the_request_done() -> TestResult {
    let mut bench = Bench::set_up()?;
    let mut other = RawClient::connect(bench.proxy.addr(), SESSION)?;
    let planned = bench.proxy.cut_when(Cut::instead_of_reply_to(Opcode::CREATE).skipping(1));
    bench.create("1")?;
    bench.create("2").expect_err("its reply is lost");
    assert_eq!(planned.wait(SOON)?, planned.cut_connection().expect("it was cut"));
    assert!(bench.was_created("2")?);
    let counters = bench.proxy.counters();
    assert_eq!((counters.requests(Opcode::CREATE), counters.replies(Opcode::CREATE)), (2, 1));
    assert_eq!(counters.arrived(FrameKind::Reply(Opcode::CREATE)), 2);
    other.ping()?;
    Ok(())
}

#[test]
fn a_cut_after_a_create_was_forwarded_leaves_it_done() -> TestResult {
    let mut bench = Bench::set_up()?;
    let planned = bench.proxy.cut_when(Cut::after(CREATE));
    let path = bench.path("forwarded");
    bench.client.send_create(&path, CreateMode::Persistent)?;
    planned.wait(SOON)?;
    eventually(SOON, "the create is done", || bench.was_created("forwarded").unwrap_or(false))?;
    bench.client.wait_for_end()?;
    Ok(())
}

#[test]
fn a_cut_before_a_notification_keeps_it_from_the_client() -> TestResult {
    let mut bench = Bench::set_up()?;
    let path = bench.create("watched")?;
    bench.client.watch(&path)?;
    let planned = bench.proxy.cut_when(Cut::before(FrameKind::Notification));
    bench.witness.delete(&path)?;
    planned.wait(SOON)?;
    assert_eq!(bench.proxy.counters().notifications(), 0);
    bench.client.next_notification().expect_err("the connection was cut");
    Ok(())
}

#[test]
fn a_cut_after_the_connect_response_meets_every_client_but_once() -> TestResult {
    let bench = Bench::set_up()?;
    let planned = bench.proxy.cut_when(Cut::after(FrameKind::ConnectResponse));
    let client = RawClient::connect(bench.proxy.addr(), SESSION)?;
    planned.wait(SOON)?;
    client.wait_for_end()?;
    RawClient::connect(bench.proxy.addr(), SESSION)?.ping()?;
    Ok(())
}

/// The client could not go on, and the wait would be for what it prevents.
#[tokio::test]
#[should_panic(expected = "the planned cut happens: the client may wait for the thread")]
async fn the_only_thread_of_a_runtime_is_not_blocked() {
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let proxy = Proxy::to(nowhere).expect("a proxy asks for no server before a client comes");
    let _ = proxy.cut_when(Cut::before(CREATE)).wait(Duration::ZERO);
}

#[test]
fn a_plan_that_was_given_up_does_nothing() -> TestResult {
    let mut bench = Bench::set_up()?;
    bench.proxy.cut_when(Cut::before(FrameKind::Request(Opcode::PING))).cancel();
    bench.client.ping()?;
    Ok(())
}

#[test]
fn the_target_can_be_changed() -> TestResult {
    let bench = Bench::set_up()?;
    let elsewhere = Options::new().start_server()?;
    bench.proxy.set_target(elsewhere.addr());
    let mut client = RawClient::connect(bench.proxy.addr(), SESSION)?;
    assert!(!client.exists(&bench.chroot)?);
    elsewhere.kill()?;
    RawClient::connect(bench.proxy.addr(), SESSION).expect_err("nobody is there");
    assert_eq!(bench.proxy.counters().unreachable, 1);
    bench.proxy.set_target(bench.server.addr());
    let mut client = RawClient::connect(bench.proxy.addr(), SESSION)?;
    assert!(client.exists(&bench.chroot)?);
    Ok(())
}

#[test]
fn four_letter_words_and_opaque_protocols_pass() -> TestResult {
    use std::io::{Read as _, Write as _};
    let bench = Bench::set_up()?;
    for proxy in [Proxy::to(bench.server.addr())?, Proxy::opaque_to(bench.server.addr())?] {
        let mut stream = TcpStream::connect(proxy.addr())?;
        stream.write_all(b"ruok")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        assert_eq!(answer, "imok");
        assert_eq!(proxy.counters().bytes_to_server, 4);
        assert_eq!(proxy.counters().passed(FrameKind::Opaque(Direction::ToClient)), 1);
    }
    Ok(())
}

#[test]
fn an_address_that_a_client_names_can_be_replaced() -> TestResult {
    use std::io::{Read as _, Write as _};
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let proxy = Proxy::opaque_to(listener.local_addr()?)?;
    let [named, read] = [20_001, 20_002].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    proxy.alias(named, read)?;
    let mut stream = TcpStream::connect(proxy.addr())?;
    stream.write_all(format!("call {named} or {named}").as_bytes())?;
    drop(stream);
    let mut heard = String::new();
    listener.accept()?.0.read_to_string(&mut heard)?;
    assert_eq!(heard, format!("call {read} or {read}"));
    let longer = SocketAddr::from(([127, 0, 0, 10], 20_002));
    proxy.alias(named, longer).expect_err("what follows would move");
    Ok(())
}

#[test]
fn two_hundred_connections_pass_at_once() -> TestResult {
    let mut bench = Bench::set_up()?;
    let path = bench.create("all-watch")?;
    let watching = || -> Result<RawClient, RawError> {
        let mut client = RawClient::connect(bench.proxy.addr(), SESSION)?;
        client.watch(&path)?;
        Ok(client)
    };
    // Some at a time: one after another, the first of them would wait for long on a busy machine.
    let mut clients = Vec::new();
    thread::scope(|scope| -> Result<(), RawError> {
        let openers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| (0..25).map(|_| watching()).collect::<Result<Vec<_>, _>>()))
            .collect();
        for opener in openers {
            clients.extend(opener.join().expect("no panic")?);
        }
        Ok(())
    })?;
    assert_eq!(clients.len(), 200);
    bench.witness.delete(&path)?;
    for client in &mut clients {
        client.next_notification()?;
    }
    let counters = bench.proxy.counters();
    assert_eq!((counters.accepted, counters.notifications()), (201, 200));
    assert!(counters.notifications_by_connection().values().all(|count| *count == 1));
    Ok(())
}
