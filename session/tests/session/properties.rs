//! Laws that hold whatever happens, in whatever order.

use core::num::NonZeroUsize;

use proptest::collection::vec;
use proptest::prelude::*;
use zk_session::{LeaseGrade, ProbeAnswer, Sasl, WatchMode, WhileDisconnected};

use crate::happening::{Happening, Setting};
use crate::world::run;

fn zxid() -> impl Strategy<Value = i64> {
    prop_oneof![4 => 0..1000_i64, 1 => Just(-1), 1 => any::<i64>()]
}

fn error() -> impl Strategy<Value = i32> {
    prop_oneof![12 => Just(0), 4 => Just(-101), 1 => -128..0]
}

fn servers() -> impl Strategy<Value = NonZeroUsize> {
    (1..4_usize).prop_map(|count| NonZeroUsize::new(count).expect("not zero"))
}

fn from_the_caller() -> impl Strategy<Value = Happening> {
    prop_oneof![
        8 => Just(Happening::Submit),
        8 => (any::<u8>(), any::<u8>()).prop_map(|(read, path)| Happening::Watch { read, path }),
        3 => (any::<bool>(), any::<u8>()).prop_map(|(recursive, path)| {
            let mode =
                if recursive { WatchMode::PersistentRecursive } else { WatchMode::Persistent };
            Happening::AddWatch { mode, path }
        }),
        2 => any::<usize>().prop_map(|nth| Happening::Forget { nth }),
        4 => Just(Happening::KeepLease),
        2 => Just(Happening::KeepLeaseReady),
        1 => Just(Happening::LetLeaseLapse),
        1 => servers().prop_map(|count| Happening::Servers { count }),
        1 => Just(Happening::Authenticate),
        4 => any::<u8>().prop_map(|answer| Happening::Mechanism { answer }),
        1 => Just(Happening::Close),
        1 => Just(Happening::Detach),
    ]
}

fn from_the_clock() -> impl Strategy<Value = Happening> {
    prop_oneof![
        6 => (0..2500_u64).prop_map(|millis| Happening::Wait { millis }),
        1 => (0..100_000_u64).prop_map(|millis| Happening::Wait { millis }),
        6 => Just(Happening::Timeout),
    ]
}

fn from_an_honest_server() -> impl Strategy<Value = Happening> {
    let millis = prop_oneof![Just(4000), 1..20_000];
    prop_oneof![
        4 => Just(Happening::Opened),
        2 => Just(Happening::Closed),
        4 => (millis, prop_oneof![3 => Just(false), 1 => Just(true)]).prop_map(
            |(millis, read_only)| Happening::Accept { session: 1, millis, read_only },
        ),
        2 => prop_oneof![Just(ProbeAnswer::ReadWrite), Just(ProbeAnswer::Other)]
            .prop_map(|answer| Happening::Probed { answer }),
        6 => Just(Happening::Connect),
        12 => (zxid(), error()).prop_map(|(zxid, error)| Happening::Answer { zxid, error }),
        4 => zxid().prop_map(|zxid| Happening::Pong { zxid }),
        4 => prop::option::weighted(0.9, any::<u8>()).prop_map(|token| Happening::Token { token }),
        4 => (zxid(), 1..5, any::<u8>())
            .prop_map(|(zxid, kind, path)| Happening::Notify { zxid, kind, path }),
    ]
}

fn from_a_hostile_server() -> impl Strategy<Value = Happening> {
    prop_oneof![
        (-1..4_i64, any::<i32>(), any::<bool>()).prop_map(|(session, millis, read_only)| {
            Happening::Accept { session, millis, read_only }
        }),
        Just(Happening::Refuse),
        (any::<usize>(), any::<u8>()).prop_map(|(at, byte)| Happening::Mangled { at, byte }),
        (-5..40, error()).prop_map(|(xid, error)| Happening::Stray { xid, error }),
        (zxid(), any::<i32>(), any::<u8>()).prop_map(|(zxid, kind, path)| Happening::Notify {
            zxid,
            kind,
            path
        }),
        vec(any::<u8>(), 0..60).prop_map(Happening::Bytes),
    ]
}

fn setting() -> impl Strategy<Value = Setting> {
    let while_disconnected =
        prop_oneof![Just(WhileDisconnected::Refuse), Just(WhileDisconnected::Queue)];
    let grade =
        prop_oneof![Just(LeaseGrade::Contact), Just(LeaseGrade::Sync), Just(LeaseGrade::Quorum)];
    let sasl = prop_oneof![2 => Just(Sasl::Off), 1 => Just(Sasl::Required)];
    (any::<u64>(), servers(), any::<u16>(), while_disconnected, grade, sasl).prop_map(
        |(seed, servers, timeout, while_disconnected, grade, sasl)| Setting {
            seed,
            servers,
            timeout,
            while_disconnected,
            grade,
            sasl,
        },
    )
}

proptest! {
    /// The laws are those that `World` asserts.
    #[test]
    fn the_laws_hold_with_an_honest_server(
        setting in setting(),
        happenings in vec(
            prop_oneof![
                2 => from_the_caller(),
                2 => from_the_clock(),
                3 => from_an_honest_server(),
            ],
            0..120,
        ),
    ) {
        run(&setting, &happenings);
    }

    /// A peer that sends anything, at any time.
    #[test]
    fn the_laws_hold_with_a_hostile_server(
        setting in setting(),
        happenings in vec(
            prop_oneof![
                4 => from_the_caller(),
                4 => from_the_clock(),
                6 => from_an_honest_server(),
                1 => from_a_hostile_server(),
            ],
            0..120,
        ),
    ) {
        run(&setting, &happenings);
    }

    /// A clock that goes back, or to the end of time, is no reason to panic (kazoo #722).
    #[test]
    fn a_wild_clock_does_no_harm(
        setting in setting(),
        happenings in vec(
            prop_oneof![
                4 => from_the_caller(),
                4 => from_an_honest_server(),
                1 => from_a_hostile_server(),
                2 => prop_oneof![0..100_000_u64, any::<u64>()]
                    .prop_map(|millis| Happening::Jump { millis }),
            ],
            0..120,
        ),
    ) {
        run(&setting, &happenings);
    }

    #[test]
    fn the_same_inputs_give_the_same_outputs(
        setting in setting(),
        happenings in vec(
            prop_oneof![from_the_caller(), from_the_clock(), from_an_honest_server()],
            0..60,
        ),
    ) {
        prop_assert_eq!(run(&setting, &happenings), run(&setting, &happenings));
    }
}
