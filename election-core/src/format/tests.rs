//! Golden tables: names as each library makes and reads them.

extern crate alloc;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use Access::{Exclusive, Shared};

const ID: NomineeId = NomineeId::from_bytes([0xab; 16]);
const UUID: &str = "abababab-abab-abab-abab-abababababab";
const HEX: &str = "abababababababababababababababab";

const ALL: [(&str, Format); 9] = [
    ("Format(_c_<uuid>-latch-#)", Format::curator_latch()),
    ("Format(_c_<uuid>-lock-#)", Format::curator_lock()),
    ("Format(_c_<uuid>-__WRIT__|__READ__#)", Format::curator_read_write()),
    ("Format(<hex>__lock__|__rlock__#)", Format::kazoo()),
    ("Format(_c_<hex>-lock-|__#)", Format::go_zookeeper()),
    ("Format(n_#)", Format::leader_election_support()),
    ("Format(le_#)", Format::go_leaderelection()),
    ("Format(_c_<hex>-p_#)", Format::zk_election()),
    ("Format(x-<session>-#)", Format::zookeeper_write_lock()),
];

/// Replaces `U` by the uuid, and `H` by its hexadecimal digits.
fn expand(name: &str) -> String {
    name.replace("{U}", UUID).replace("{H}", HEX)
}

/// A listing, in the order of the contenders, and then the other children.
struct Golden {
    format: Format,
    queue: &'static [(&'static str, Access)],
    exhausted: &'static [&'static str],
    foreign: &'static [&'static str],
    other: &'static [&'static str],
}

const GOLDEN: [Golden; 9] = [
    Golden {
        format: Format::curator_latch(),
        queue: &[
            ("_c_{U}-latch-0000000000", Exclusive),
            // An older Curator without protection, or a participant of another language.
            ("latch-0000000001", Exclusive),
            ("x-100-latch-0000000004", Exclusive),
            ("latch-9-latch-0000000005", Exclusive),
            ("_c_00000000-0000-0000-0000-000000000000-latch-0000000010", Exclusive),
            ("_c_{U}-latch-2147483646", Exclusive),
        ],
        exhausted: &["_c_{U}-latch-2147483647", "_c_{U}-latch--2147483648", "latch--000000005"],
        foreign: &["_c_{U}-lock-0000000000", "{H}__lock__0000000000", "n_0000000000", "0000000005"],
        other: &["latch-", "latch-7", "latch-00000000007", "leader", "", "latch-+000000005"],
    },
    Golden {
        format: Format::curator_lock(),
        queue: &[
            ("_c_{U}-lock-0000000000", Exclusive),
            // Of go-zookeeper's lock: the key is what follows `lock-`.
            ("_c_{H}-lock-0000000001", Exclusive),
            ("lock-0000000002", Exclusive),
        ],
        exhausted: &["_c_{U}-lock--000000001"],
        foreign: &["{H}__lock__0000000000", "_c_{U}-latch-0000000000"],
        other: &["locks", "leases", "lock-1"],
    },
    Golden {
        format: Format::curator_read_write(),
        queue: &[
            ("_c_{U}-__READ__0000000000", Shared),
            ("_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000001", Exclusive),
            ("_c_{U}-__READ__0000000002", Shared),
            ("_c_{U}-__WRIT__0000000003", Exclusive),
        ],
        exhausted: &["_c_{U}-__WRIT__-2147483648", "_c_{U}-__READ__2147483647"],
        foreign: &["_c_{U}-lock-0000000000", "{H}__rlock__0000000000"],
        other: &["__WRIT__", "__READ__5"],
    },
    Golden {
        format: Format::kazoo(),
        queue: &[
            ("{H}__lock__0000000000", Exclusive),
            ("{H}__rlock__0000000001", Shared),
            ("00000000000000000000000000000000__lock__0000000002", Exclusive),
        ],
        exhausted: &["{H}__lock__-2147483648", "{H}__rlock__2147483647"],
        foreign: &["_c_{U}-lock-0000000000", "entry-100-0000000000"],
        other: &["{H}__party__", "{H}", "{H}__lock__5"],
    },
    Golden {
        format: Format::go_zookeeper(),
        queue: &[
            ("_c_{H}-lock-0000000000", Exclusive),
            ("_c_{U}-lock-0000000001", Exclusive),
            // Of kazoo: the number after the last `__`.
            ("{H}__lock__0000000002", Exclusive),
            ("lock-0000000003", Exclusive),
        ],
        exhausted: &["_c_{H}-lock--000000005"],
        foreign: &["n_0000000000"],
        other: &["leader"],
    },
    Golden {
        format: Format::leader_election_support(),
        queue: &[("n_0000000000", Exclusive), ("n_0000000017", Exclusive)],
        exhausted: &["n_-2147483648", "n_2147483647"],
        foreign: &["xn_0000000000", "_c_{U}-latch-0000000000", "le_0000000000"],
        other: &["n_", "n_17", "DONE"],
    },
    Golden {
        format: Format::go_leaderelection(),
        queue: &[("le_0000000000", Exclusive), ("le_0000000009", Exclusive)],
        exhausted: &["le_-2147483648"],
        foreign: &["_c_{U}-latch-0000000000", "xle_0000000000"],
        other: &["le_", "done"],
    },
    Golden {
        format: Format::zk_election(),
        queue: &[("_c_{H}-p_0000000000", Exclusive), ("_c_{H}-p_0000000004", Exclusive)],
        exhausted: &["_c_{H}-p_-2147483648"],
        foreign: &["n_0000000000", "{H}__lock__0000000000"],
        other: &["_c_{H}-p_"],
    },
    Golden {
        format: Format::zookeeper_write_lock(),
        queue: &[
            ("x-72057594037927936-0000000000", Exclusive),
            ("x--8646911284551352320-0000000001", Exclusive),
            ("x-0100000000000000-0000000002", Exclusive),
        ],
        exhausted: &["x-72057594037927936--2147483648", "x-1-2147483647"],
        foreign: &["n_0000000000", "{H}__lock__0000000000"],
        other: &["x-", "x-1-5"],
    },
];

#[test]
fn each_format_tells_contenders_from_other_children() {
    for Golden { format, queue, exhausted, foreign, other } in &GOLDEN {
        for (name, access) in *queue {
            let name = expand(name);
            let child = format.child(&name);
            assert!(
                matches!(child, Child::Contender { access: found, .. } if found == *access),
                "{format:?}: {name}: {child:?}"
            );
            assert_eq!(format.parse(&name).map(|parsed| parsed.to_string()), Ok(name));
        }
        let told = |names: &[&str], child| {
            for name in names {
                assert_eq!(format.child(&expand(name)), child, "{format:?}: {name}");
                assert!(format.parse(&expand(name)).is_err());
            }
        };
        told(exhausted, Child::Exhausted);
        told(foreign, Child::Foreign);
        told(other, Child::Other);
    }
}

/// As the other libraries order them: by the text of the number, which goes as far as the numbers that
/// can be distinguished.
#[test]
fn each_format_orders_contenders_by_their_numbers() {
    for Golden { format, queue, .. } in &GOLDEN {
        let mut shuffled: Vec<_> =
            queue.iter().rev().map(|(name, _)| format.parse(&expand(name)).unwrap()).collect();
        shuffled.sort_by_key(CandidateName::sequence);
        let sorted: Vec<_> = shuffled.iter().map(CandidateName::to_string).collect();
        let expected: Vec<_> = queue.iter().map(|(name, _)| expand(name)).collect();
        assert_eq!(sorted, expected, "{format:?}");
        let as_text = |name: &String| name[name.len() - DIGITS..].to_string();
        assert!(sorted.is_sorted_by_key(as_text), "{format:?}");
    }
}

#[test]
fn a_format_is_shown_by_what_its_names_look_like() {
    for (shown, format) in ALL {
        assert_eq!(format!("{format:?}"), shown);
        assert_eq!(Format::custom(format.layout()), Ok(format), "it keeps the rules of its own");
    }
}

/// The parts of the name decide how a create in doubt is cleared up, and how many contenders a session may have.
#[test]
fn a_create_in_doubt_is_cleared_up_by_what_is_in_the_name() {
    let recovery: Vec<_> = ALL.iter().map(|(_, format)| format.recovery()).collect();
    let expected = [
        Recovery::Id,
        Recovery::Id,
        Recovery::Id,
        Recovery::Id,
        Recovery::Id,
        Recovery::Owner,
        Recovery::Owner,
        Recovery::Id,
        Recovery::SessionInName,
    ];
    assert_eq!(recovery, expected);
}

#[test]
fn each_format_makes_the_names_that_its_library_makes() {
    const CASES: [(Format, Access, Option<&str>); 12] = [
        (Format::curator_latch(), Exclusive, Some("_c_{U}-latch-")),
        (Format::curator_latch(), Shared, None),
        (Format::curator_lock(), Exclusive, Some("_c_{U}-lock-")),
        (Format::curator_read_write(), Exclusive, Some("_c_{U}-__WRIT__")),
        (Format::curator_read_write(), Shared, Some("_c_{U}-__READ__")),
        (Format::kazoo(), Exclusive, Some("{H}__lock__")),
        (Format::kazoo(), Shared, Some("{H}__rlock__")),
        (Format::go_zookeeper(), Exclusive, Some("_c_{H}-lock-")),
        (Format::zk_election(), Exclusive, Some("_c_{H}-p_")),
        (Format::leader_election_support(), Exclusive, None),
        (Format::go_leaderelection(), Exclusive, None),
        (Format::zookeeper_write_lock(), Exclusive, None),
    ];
    for (format, access, expected) in CASES {
        let prefix = format.prefix(access, ID, 0).map(|prefix| prefix.to_string());
        assert_eq!(prefix, expected.map(expand), "{format:?}, {access:?}");
    }
}

/// Without an id of the contender; a session's id may have a sign.
#[test]
fn each_format_without_ids_makes_the_names_that_its_library_makes() {
    let session = SessionId::new(0x0100_0000_0000_0000);
    let negative = SessionId::new(-8_646_911_284_551_352_320);
    for (format, made) in [
        (Format::leader_election_support(), ["n_", "n_"]),
        (Format::go_leaderelection(), ["le_", "le_"]),
        (Format::zookeeper_write_lock(), ["x-72057594037927936-", "x--8646911284551352320-"]),
    ] {
        for (session, made) in [session, negative].into_iter().zip(made) {
            let prefix = format.session_prefix(Exclusive, session).unwrap();
            assert_eq!(prefix.to_string(), made);
            for number in ["0000000003", "2147483647", "-2147483648", "-000000005"] {
                let name = format!("{made}{number}");
                assert!(prefix.begins(&name) && !format.owns(ID, &name), "{name}");
            }
            for other in ["", "3", "-", "x000000003", "00000000x3"] {
                assert!(!prefix.begins(&format!("{made}{other}")), "{made}{other}");
            }
            assert!(!prefix.begins(&format!("y{made}0000000003")));
        }
        assert_eq!(format.session_prefix(Shared, session), None);
    }
    let own = Format::zookeeper_write_lock().session_prefix(Exclusive, session).unwrap();
    assert!(!own.begins("x--8646911284551352320-0000000003"), "of another session");
    for (_, format) in ALL.into_iter().filter(|(_, format)| format.recovery() == Recovery::Id) {
        assert_eq!(format.session_prefix(Exclusive, session), None, "{format:?}");
    }
}

#[test]
fn one_format_prescribes_the_data() {
    for (_, format) in ALL {
        let is_prescribed = format == Format::zookeeper_write_lock();
        let expected = is_prescribed.then_some(&[0x12, 0x34][..]);
        assert_eq!(format.layout().data, expected, "{format:?}");
    }
}

/// Which contenders of one library those of another see, and which the fold reports as foreign. A pair in which only
/// one side, or neither, sees the other has two holders.
#[test]
fn contenders_of_other_formats_are_told_as_foreign_unless_they_are_seen() {
    let session = SessionId::new(7);
    let name = |format: Format| {
        let prefix = format.prefix(Exclusive, ID, 0);
        let prefix = prefix.or_else(|| format.session_prefix(Exclusive, session));
        format!("{}0000000003", prefix.expect("either"))
    };
    let seen =
        |by: Format, theirs: Format| matches!(by.child(&name(theirs)), Child::Contender { .. });
    let mut both = Vec::new();
    for (_, by) in ALL {
        for (_, theirs) in ALL.into_iter().filter(|(_, theirs)| *theirs != by) {
            let child = by.child(&name(theirs));
            assert!(seen(by, theirs) || child == Child::Foreign, "{by:?}, {theirs:?}: {child:?}");
            if seen(by, theirs) && seen(theirs, by) {
                both.push((by, theirs));
            }
        }
    }
    let (curator, go) = (Format::curator_lock(), Format::go_zookeeper());
    assert_eq!(both, [(curator, go), (go, curator)]);
    let reader =
        format!("{}0000000003", Format::curator_read_write().prefix(Shared, ID, 0).unwrap());
    assert_eq!(curator.child(&reader), Child::Foreign, "Curator's lock beside its reader");
}

/// A name with an id of the format is the contender's own whatever it wanted; one without is never.
#[test]
fn an_id_owns_what_was_created_under_it_in_its_format() {
    for (_, format) in ALL {
        for access in [Exclusive, Shared] {
            let Some(prefix) = format.prefix(access, ID, 7) else { continue };
            let name = format!("{prefix}0000000003");
            assert!(format.owns(ID, &name) && prefix.begins(&name), "{name}");
            assert!(format.owns(ID, &format!("{prefix}-2147483648")), "{name}");
            assert!(!format.owns(NomineeId::from_bytes([0xac; 16]), &name), "{name}");
            assert!(format.prefix(access, ID, 8).is_some_and(|next| !next.begins(&name)));
            for (_, other) in ALL {
                let theirs = other.prefix(access, ID, 7);
                assert_eq!(other.owns(ID, &name), theirs == Some(prefix) || same(theirs, prefix));
            }
        }
    }
    let (read, write) = (Shared, Exclusive);
    let format = Format::curator_read_write();
    let name = format!("{}0000000003", format.prefix(read, ID, 0).unwrap());
    assert!(!format.prefix(write, ID, 0).unwrap().begins(&name), "of another access");
}

fn same(theirs: Option<CandidatePrefix>, own: CandidatePrefix) -> bool {
    theirs.is_some_and(|theirs| theirs.to_string() == own.to_string())
}

/// kazoo #649: a reader that waits for readers, and a writer that does not.
#[test]
fn readers_wait_for_writers_only_and_writers_for_all() {
    for format in [Format::curator_read_write(), Format::kazoo()] {
        let reader = format!("{}0000000001", format.prefix(Shared, ID, 0).unwrap());
        let writer = format!("{}0000000002", format.prefix(Exclusive, ID, 0).unwrap());
        let numbers = |own| [&reader, &writer].map(|name| format.rival(own, name).is_some());
        assert_eq!(numbers(Shared), [false, true]);
        assert_eq!(numbers(Exclusive), [true, true]);
    }
}

/// CURATOR-621: a writer that goes on as a reader.
#[test]
fn a_writer_that_is_gone_may_have_left_a_reader() {
    let format = Format::curator_read_write();
    let [reader, writer] = [Shared, Exclusive]
        .map(|access| format!("{}0000000001", format.prefix(access, ID, 0).unwrap()));
    assert!(!format.goes_for_good(Exclusive, &writer));
    assert!(format.goes_for_good(Exclusive, &reader));
    assert!(format.goes_for_good(Shared, &writer), "readers share");
    assert!(Format::kazoo().goes_for_good(Exclusive, "a__lock__0000000001"));
}

#[test]
fn the_tombstone_of_go_leaderelection_is_told() {
    let format = Format::go_leaderelection();
    assert_eq!(format.child("DONE"), Child::Tombstone);
    assert_eq!(format.child("xDONEx"), Child::Tombstone);
    assert_eq!(Format::curator_latch().child("DONE"), Child::Other);
}

#[test]
fn a_layout_whose_names_would_be_ambiguous_is_refused() {
    const fn layout(start: &'static str, labels: &'static [Label]) -> Layout {
        Layout { start, labels, ..*Format::curator_latch().layout() }
    }
    const fn label(text: &'static str, access: Access) -> Label {
        Label { text, access }
    }
    const OWN: Layout = layout("own_", &[label("queue-", Exclusive), label("look-", Shared)]);
    const SHARED: Layout = layout("_c_", &[label("look-", Shared)]);
    const DIGIT: Layout = layout("_c_", &[label("v2", Exclusive)]);
    const EMPTY: Layout = layout("_c_", &[label("a-", Exclusive), label("", Shared)]);
    const PATH: Layout = layout("a/", &[label("a-", Exclusive)]);
    const PATH_OF_LABEL: Layout = layout("_c_", &[label("/-", Exclusive)]);
    const LONG: Layout = layout("a-start-that-is-long", &[label("lock-", Exclusive)]);
    const FORMAT: Result<Format, LayoutError> = Format::custom(&OWN);
    let name = FORMAT.unwrap().prefix(Shared, ID, 0).unwrap().to_string();
    assert_eq!(name, expand("own_{U}-look-"));
    for (layout, error) in [
        (&SHARED, LayoutError::NothingExclusive),
        (&DIGIT, LayoutError::AmbiguousLabel),
        (&EMPTY, LayoutError::AmbiguousLabel),
        (&PATH, LayoutError::Slash),
        (&PATH_OF_LABEL, LayoutError::Slash),
        (&LONG, LayoutError::TooLong),
    ] {
        assert_eq!(Format::custom(layout), Err(error));
    }
}

proptest! {
    #[test]
    fn what_the_server_appends_is_read_back(
        number in 0..=Sequence::LAST.get(),
        attempt: u32,
        at in 0..ALL.len(),
        is_shared: bool,
    ) {
        let (_, format) = ALL[at];
        let access = if is_shared { Shared } else { Exclusive };
        if let Some(prefix) = format.prefix(access, ID, attempt) {
            let name = format!("{prefix}{number:010}");
            let sequence = Sequence::new(number).unwrap();
            prop_assert_eq!(format.child(&name), Child::Contender { access, sequence });
            prop_assert!(format.owns(ID, &name) && format.parse(&name).is_ok());
        }
    }

    #[test]
    fn no_text_makes_a_format_panic(text in ".{0,80}", at in 0..ALL.len()) {
        let (_, format) = ALL[at];
        let is_contender = matches!(format.child(&text), Child::Contender { .. });
        prop_assert_eq!(format.parse(&text).is_ok(), is_contender && text.len() <= CAPACITY);
        let _ = (format.owns(ID, &text), format.goes_for_good(Exclusive, &text));
    }
}
