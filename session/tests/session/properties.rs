//! Laws that hold whatever happens, in whatever order.

use core::num::NonZeroUsize;
use core::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use zk_jute::ErrorCode;
use zk_session::lease::LeaseGrade;
use zk_session::sasl::{Sasl, SaslFailure};
use zk_session::{Config, ProbeAnswer, SilentServers, WatchMode, WhileDisconnected};

use crate::world::{Answer, Ask, Ending, Happening, Journal, Read, Receive, Word, run};

fn zxid() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..1000_i64, 1 => Just(-1), 1 => any::<i64>()]
}

fn error() -> impl Strategy<Value = ErrorCode> {
    prop_oneof![12 => Just(0), 4 => Just(-101), 1 => -128..0].prop_map(ErrorCode::new)
}

fn servers() -> impl Strategy<Value = NonZeroUsize> {
    (1..4_usize).prop_map(|count| NonZeroUsize::new(count).expect("not zero"))
}

fn path() -> impl Strategy<Value = String> {
    prop_oneof![Just("/a"), Just("/b"), Just("/a/c")].prop_map(str::to_owned)
}

fn read() -> impl Strategy<Value = Read> {
    prop_oneof![Just(Read::Exists), Just(Read::GetData), Just(Read::GetChildren)]
}

fn mode() -> impl Strategy<Value = WatchMode> {
    prop_oneof![Just(WatchMode::Persistent), Just(WatchMode::PersistentRecursive)]
}

fn from_the_caller() -> impl Strategy<Value = Happening> {
    let authenticate =
        Ask::Authenticate { scheme: "digest".to_owned(), credential: b"a:b".to_vec() };
    prop_oneof![
        8 => path().prop_map(|path| Ask::Submit { path }),
        8 => (path(), read()).prop_map(|(path, read)| Ask::Watch { path, read }),
        3 => (path(), mode()).prop_map(|(path, mode)| Ask::AddWatch { path, mode }),
        2 => any::<usize>().prop_map(|nth| Ask::Forget { nth }),
        1 => any::<usize>().prop_map(|nth| Ask::Disregard { nth }),
        4 => Just(Ask::KeepLease { znode: "/e/c".to_owned() }),
        2 => Just(Ask::KeepLeaseReady),
        1 => Just(Ask::LetLeaseLapse),
        1 => Just(authenticate),
        1 => Just(Ask::Close),
        1 => Just(Ask::Detach),
        1 => any::<u64>().prop_map(|seed| Ask::Resume { seed }),
    ]
    .prop_map(Happening::Ask)
}

fn from_the_driver() -> impl Strategy<Value = Happening> {
    let word = prop_oneof![
        3 => Just(Word::Token(b"token".to_vec())),
        1 => Just(Word::LastToken(b"token".to_vec())),
        3 => Just(Word::Done),
        1 => Just(Word::Failed(SaslFailure::Challenge)),
    ];
    let probed = prop_oneof![Just(ProbeAnswer::ReadWrite), Just(ProbeAnswer::Other)];
    prop_oneof![
        1 => servers().prop_map(|count| Happening::Servers { count }),
        4 => word.prop_map(Happening::Mechanism),
        4 => Just(Happening::Opened),
        2 => Just(Happening::Closed),
        2 => probed.prop_map(|answer| Happening::Probed { answer }),
        6 => Just(Happening::Connect),
    ]
}

fn from_the_clock() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => (0..2500_u64).prop_map(|millis| Happening::Wait { millis }),
        1 => (0..100_000_u64).prop_map(|millis| Happening::Wait { millis }),
        5 => Just(Happening::Timeout),
        1 => Just(Happening::Sleep),
    ]
}

fn from_an_honest_server() -> impl Strategy<Value = Happening> {
    let timeout = prop_oneof![Just(4000), 1..20_000];
    let read_only = prop_oneof![3 => Just(Some(false)), 1 => Just(Some(true))];
    prop_oneof![
        4 => (timeout, read_only).prop_map(
            |(timeout, read_only)| Receive::Accept { session: 1, timeout, read_only },
        ),
        12 => (zxid(), error()).prop_map(
            |(zxid, error)| Receive::Answer { zxid, answer: Answer::Sound(error) },
        ),
        4 => zxid().prop_map(|zxid| Receive::Pong { zxid, error: ErrorCode::OK }),
        4 => prop::option::weighted(0.9, vec(any::<u8>(), 1))
            .prop_map(|token| Receive::Token { token }),
        1 => Just(Receive::Authenticated { error: ErrorCode::OK }),
        4 => (zxid(), 1..5, path())
            .prop_map(|(zxid, kind, path)| Receive::Notify { zxid, kind, path }),
    ]
    .prop_map(Happening::Receive)
}

fn from_a_hostile_server() -> impl Strategy<Value = Happening> {
    let read_only = any::<Option<bool>>();
    let bytes = || vec(any::<u8>(), 0..60);
    prop_oneof![
        (-1..4_i64, any::<i32>(), read_only).prop_map(|(session, timeout, read_only)| {
            Receive::Accept { session, timeout, read_only }
        }),
        Just(Receive::Accept { session: 0, timeout: 0, read_only: Some(false) }),
        (zxid(), error(), bytes()).prop_map(|(zxid, error, body)| Receive::Answer {
            zxid,
            answer: Answer::Any(error, body)
        }),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Receive::Mangled { at, byte }),
        (-5..40, zxid(), error(), bytes()).prop_map(|(xid, zxid, error, body)| Receive::Reply {
            xid,
            zxid,
            error,
            body
        }),
        (zxid(), error()).prop_map(|(zxid, error)| Receive::Pong { zxid, error }),
        error().prop_map(|error| Receive::Authenticated { error }),
        (zxid(), any::<i32>(), path()).prop_map(|(zxid, kind, path)| Receive::Notify {
            zxid,
            kind,
            path
        }),
        bytes().prop_map(Receive::Frame),
        bytes().prop_map(Receive::Stream),
    ]
    .prop_map(Happening::Receive)
}

fn config() -> impl Strategy<Value = Config> {
    let while_disconnected =
        prop_oneof![Just(WhileDisconnected::Refuse), Just(WhileDisconnected::Queue)];
    let grade =
        prop_oneof![Just(LeaseGrade::Contact), Just(LeaseGrade::Sync), Just(LeaseGrade::Quorum)];
    let sasl = prop_oneof![2 => Just(Sasl::Off), 1 => Just(Sasl::Required)];
    let silent = prop_oneof![3 => Just(SilentServers::Leave), 1 => Just(SilentServers::Endure)];
    (servers(), any::<u16>(), while_disconnected, grade, (sasl, silent)).prop_map(
        |(servers, timeout, while_disconnected, grade, (sasl, silent))| {
            let mut config = Config::new(servers);
            config.session_timeout = Duration::from_millis(timeout.into());
            config.while_disconnected = while_disconnected;
            config.grade = grade;
            config.sasl = sasl;
            config.silent_servers = silent;
            config.limits.max_in_flight = 5;
            config.limits.max_queued_bytes = 200;
            config
        },
    )
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![Just(Ending::Cut), Just(Ending::Silence)]
}

proptest! {
    /// The laws are those that `World` asserts.
    #[test]
    fn the_laws_hold_with_an_honest_server(
        (config, seed, ending) in (config(), any::<u64>(), ending()),
        happenings in vec(
            prop_oneof![
                2 => from_the_caller(),
                1 => from_the_driver(),
                2 => from_the_clock(),
                2 => from_an_honest_server(),
            ],
            0..120,
        ),
    ) {
        run(config, seed, Journal::Off, happenings, ending);
    }

    /// A peer that sends anything, at any time.
    #[test]
    fn the_laws_hold_with_a_hostile_server(
        (config, seed, ending) in (config(), any::<u64>(), ending()),
        happenings in vec(
            prop_oneof![
                4 => from_the_caller(),
                2 => from_the_driver(),
                4 => from_the_clock(),
                4 => from_an_honest_server(),
                1 => from_a_hostile_server(),
            ],
            0..120,
        ),
    ) {
        run(config, seed, Journal::Off, happenings, ending);
    }

    /// A clock that goes back, or to the end of time, is no reason to panic (kazoo #722).
    #[test]
    fn a_wild_clock_does_no_harm(
        (config, seed, ending) in (config(), any::<u64>(), ending()),
        happenings in vec(
            prop_oneof![
                4 => from_the_caller(),
                2 => from_the_driver(),
                3 => from_an_honest_server(),
                1 => from_a_hostile_server(),
                2 => prop_oneof![0..100_000_u64, any::<u64>()]
                    .prop_map(|millis| Happening::Jump { millis }),
            ],
            0..120,
        ),
    ) {
        run(config, seed, Journal::Off, happenings, ending);
    }

    #[test]
    fn the_same_inputs_give_the_same_outputs(
        (config, seed, ending) in (config(), any::<u64>(), ending()),
        happenings in vec(
            prop_oneof![
                from_the_caller(),
                from_the_driver(),
                from_the_clock(),
                from_an_honest_server(),
            ],
            0..60,
        ),
    ) {
        let outputs = || {
            let journal = Journal::Kept(Vec::new());
            run(config.clone(), seed, journal, happenings.iter().cloned(), ending)
        };
        prop_assert_eq!(outputs(), outputs());
    }
}
