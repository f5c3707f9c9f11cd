//! Bytes that no honest peer sends: exactly which error, and at which offset.

use core::fmt::Debug;

use bytes::BytesMut;
use zk_jute::records::{
    Acl, ConnectResponse, CreateRequest, GetChildrenResponse, GetDataRequest, GetDataResponse,
    MultiRequest, MultiResponse, SetWatches, WatcherEvent,
};
use zk_jute::{
    BufferTooSmall, Counter, DEFAULT_MAX_FRAME, Decode, DecodeError, DecodeErrorKind, Encode,
    FrameError, Reader, SliceWriter, Vector, Writer, frame_len, put_frame,
};

use DecodeErrorKind::{
    InvalidUtf8, NegativeLength, Oversized, Trailing, Truncated, UnexpectedNull, UnknownKind,
};

#[track_caller]
fn refuses<'a, T: Decode<'a> + PartialEq + Debug>(
    input: &'a [u8],
    kind: DecodeErrorKind,
    offset: usize,
) {
    assert_eq!(T::decode_exact(input), Err(DecodeError { kind, offset }));
}

/// Returns a length, and the five bytes `/demo` behind it.
fn demo(length: i32) -> Vec<u8> {
    [&length.to_be_bytes()[..], b"/demo"].concat()
}

#[test]
fn a_length_is_checked_before_it_is_used() {
    let left = 5;
    let cases = [
        (i32::MIN, NegativeLength(i32::MIN), 0),
        (-2, NegativeLength(-2), 0),
        (-1, UnexpectedNull, 0),
        (0, Trailing { extra: 5 }, 4),
        (4, Trailing { extra: 1 }, 8),
        (6, Oversized { length: 6, left }, 0),
        (i32::MAX, Oversized { length: i32::MAX, left }, 0),
    ];
    for (length, kind, offset) in cases {
        refuses::<&str>(&demo(length), kind, offset);
        refuses::<&[u8]>(&demo(length), kind, offset);
    }
    assert_eq!(<&str>::decode_exact(&demo(5)), Ok("/demo"));
    assert_eq!(<&[u8]>::decode_exact(&demo(5)), Ok(&b"/demo"[..]));
}

#[test]
fn null_is_not_empty_where_both_are_allowed() {
    let null = (-1_i32).to_be_bytes();
    let empty = 0_i32.to_be_bytes();
    assert_eq!(Option::<&str>::decode_exact(&null), Ok(None));
    assert_eq!(Option::<&str>::decode_exact(&empty), Ok(Some("")));
    assert_eq!(Option::<&[u8]>::decode_exact(&null), Ok(None));
    assert_eq!(Option::<&[u8]>::decode_exact(&empty), Ok(Some(&b""[..])));
    assert_eq!(Vector::<&str>::decode_exact(&null), Ok(Vector::NULL));
    assert_eq!(Vector::<&str>::decode_exact(&empty), Ok(Vector::EMPTY));
    assert_ne!(Vector::<&str>::NULL, Vector::EMPTY);
    assert!(Vector::<&str>::NULL.is_empty());
}

#[test]
fn a_count_is_checked_against_the_smallest_elements() {
    // Eight bytes are left: room for two strings, for no access list entry, for one long.
    let count = |count: i32| [&count.to_be_bytes()[..], &[0; 8]].concat();
    let left = 8;
    for length in [3, 4, i32::MAX] {
        refuses::<Vector<'_, &str>>(&count(length), Oversized { length, left }, 0);
    }
    assert_eq!(Vector::<&str>::decode_exact(&count(2)), Ok(Vector::new(&["", ""])));
    let length = 1;
    refuses::<Vector<'_, Acl<'_>>>(&count(1), Oversized { length, left }, 0);
    let length = 2;
    refuses::<Vector<'_, i64>>(&count(2), Oversized { length, left }, 0);
    for length in [i32::MIN, -2] {
        refuses::<Vector<'_, &str>>(&count(length), NegativeLength(length), 0);
    }
    refuses::<Vector<'_, &str>>(&count(-1), Trailing { extra: 8 }, 4);
    // Elements without a size cannot make the reader spin: one byte each has to be there.
    let length = 9;
    refuses::<Vector<'_, ()>>(&count(9), Oversized { length, left }, 0);
}

#[test]
fn the_offset_is_that_of_the_field_at_fault() {
    refuses::<i32>(b"\0\0\0", Truncated { needed: 4, left: 3 }, 0);
    refuses::<i64>(b"", Truncated { needed: 8, left: 0 }, 0);
    refuses::<bool>(b"", Truncated { needed: 1, left: 0 }, 0);
    refuses::<GetDataRequest<'_>>(b"\0\0\0\x02/a", Truncated { needed: 1, left: 0 }, 6);
    refuses::<GetDataRequest<'_>>(b"\xff\xff\xff\xff\x01", UnexpectedNull, 0);
    refuses::<GetDataRequest<'_>>(b"\0\0\0\x02/\xff\x01", InvalidUtf8, 0);
    refuses::<GetDataRequest<'_>>(b"\0\0\0\x01/\x01??", Trailing { extra: 2 }, 6);

    let data = b"\xff\xff\xff\xff\0\0\0\0\0\0\0\x01\0\0";
    // A stat has a fixed length and is there as a whole or not at all.
    refuses::<GetDataResponse<'_>>(data, Truncated { needed: 68, left: 10 }, 4);

    let event = b"\0\0\0\x02\0\0\0\x03\xff\xff\xff\xff";
    refuses::<WatcherEvent<'_>>(event, UnexpectedNull, 8);

    // In a list: the offset counts from the start of the record, not of the element.
    let children = b"\0\0\0\x02\0\0\0\x01a\0\0\0\x01\xc0";
    refuses::<GetChildrenResponse<'_>>(children, InvalidUtf8, 9);
    let children = b"\0\0\0\x02\0\0\0\x01a\xff\xff\xff\xff";
    refuses::<GetChildrenResponse<'_>>(children, UnexpectedNull, 9);
    let children = b"\0\0\0\x02\0\0\0\x05abcde";
    refuses::<GetChildrenResponse<'_>>(children, Truncated { needed: 4, left: 0 }, 13);

    let acl = b"\0\0\0\x01/\0\0\0\0\0\0\0\x01\0\0\0\x1f\xff\xff\xff\xff\0\0\0\0";
    refuses::<CreateRequest<'_>>(acl, UnexpectedNull, 17);

    let third = b"\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\xff\xff\xff\xfe";
    refuses::<SetWatches<'_>>(third, NegativeLength(-2), 16);

    let password = b"\0\0\0\0\0\0\x27\x10\0\0\0\0\0\0\0\x01\0\0\0\x10\x01\x02";
    let length = 16;
    refuses::<ConnectResponse<'_>>(password, Oversized { length, left: 2 }, 16);
}

#[test]
fn a_multi_is_refused_at_the_entry_at_fault() {
    const CHECK: &[u8] = b"\0\0\0\x0d\0\xff\xff\xff\xff\0\0\0\x01/\0\0\0\0";
    let end = b"\xff\xff\xff\xff\x01\xff\xff\xff\xff";
    let multi = |parts: &[&[u8]]| parts.concat();

    let unended = multi(&[CHECK]);
    refuses::<MultiRequest<'_>>(&unended, Truncated { needed: 4, left: 0 }, 18);
    let cut = multi(&[CHECK, &end[..7]]);
    refuses::<MultiRequest<'_>>(&cut, Truncated { needed: 4, left: 2 }, 23);
    let unknown = multi(&[CHECK, b"\0\0\0\x63\0\0\0\0\0", end]);
    refuses::<MultiRequest<'_>>(&unknown, UnknownKind(99), 18);
    let unknown = multi(&[b"\0\0\0\x0d\0\0\0\0\0", b"\0\0\0\x63\0\0\0\0\0", end]);
    refuses::<MultiResponse<'_>>(&unknown, UnknownKind(99), 9);
    let null_path = multi(&[CHECK, b"\0\0\0\x02\0\0\0\0\0\xff\xff\xff\xff", end]);
    refuses::<MultiRequest<'_>>(&null_path, UnexpectedNull, 18 + 9);
    let trailing = multi(&[CHECK, end, end]);
    refuses::<MultiRequest<'_>>(&trailing, Trailing { extra: 9 }, 27);
    // An error is a result, not an operation.
    let error = multi(&[b"\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0", end]);
    refuses::<MultiRequest<'_>>(&error, UnknownKind(-1), 0);
    assert!(MultiResponse::decode_exact(&error).is_ok());
}

#[test]
fn a_failed_read_leaves_the_reader_where_it_was() {
    let input = demo(6);
    let mut reader = Reader::new(&input);
    assert!(reader.buffer().is_err());
    assert!(reader.ustring().is_err());
    assert_eq!((reader.offset(), reader.rest().len()), (0, 9));
    assert_eq!(reader.int(), Ok(6));
    assert!(reader.long().is_err());
    assert_eq!((reader.offset(), reader.rest()), (4, &b"/demo"[..]));

    let mut reader = Reader::new(b"\0\0\0\x01\xff");
    assert!(reader.ustring().is_err());
    assert_eq!(reader.buffer(), Ok(Some(&b"\xff"[..])));
}

#[test]
fn any_byte_but_zero_is_true() {
    for byte in 0..=u8::MAX {
        assert_eq!(bool::decode_exact(&[byte]), Ok(byte != 0));
    }
}

#[test]
fn errors_say_what_and_where() {
    let error = <&str>::decode_exact(b"\0\0\0\x09ab").expect_err("two bytes are left");
    assert_eq!(
        error.to_string(),
        "length or count 9 does not fit into the 2 bytes left at offset 0"
    );
}

#[test]
fn a_frame_is_measured_before_it_is_there() {
    assert_eq!(frame_len(b"", 10), Ok(None));
    assert_eq!(frame_len(b"\0\0\0", 10), Ok(None));
    assert_eq!(frame_len(b"\0\0\0\0", 0), Ok(Some(0)));
    assert_eq!(frame_len(b"\0\0\0\x0a", 10), Ok(Some(10)));
    assert_eq!(frame_len(b"\0\0\0\x0aabc", 10), Ok(Some(10)));
    let too_long = |length, limit| Err(FrameError::TooLong { length, limit });
    assert_eq!(frame_len(b"\0\0\0\x0b", 10), too_long(11, 10));
    let largest = i32::MAX.to_be_bytes();
    assert_eq!(frame_len(&largest, 10), too_long(0x7fff_ffff, 10));
    assert_eq!(frame_len(&largest, usize::MAX), Ok(Some(0x7fff_ffff)));
    assert_eq!(frame_len(b"\0\x0f\xff\xff", DEFAULT_MAX_FRAME), Ok(Some(0xf_ffff)));
    for length in [-1, -2, i32::MIN] {
        let negative = Err(FrameError::Negative(length));
        assert_eq!(frame_len(&length.to_be_bytes(), usize::MAX), negative);
    }
    // The first bytes of an HTTP server.
    assert_eq!(frame_len(b"HTTP", 10), too_long(0x4854_5450, 10));
}

#[test]
fn a_frame_above_the_limit_is_not_written() {
    let mut output = BytesMut::from(&b"before"[..]);
    let body = Some(&b"12345678"[..]);
    assert_eq!(put_frame(&mut output, 16, &7_i32, &body), Ok(()));
    assert_eq!(output, b"before\0\0\0\x10\0\0\0\x07\0\0\0\x0812345678"[..]);
    let before = output.clone();
    let (length, limit) = (16, 15);
    assert_eq!(
        put_frame(&mut output, limit, &7_i32, &body),
        Err(FrameError::TooLong { length, limit })
    );
    assert_eq!(output, before);
    assert_eq!(put_frame(&mut output, 0, &(), &()), Ok(()));
    assert_eq!(output[before.len()..], [0; 4]);
}

#[test]
fn a_short_buffer_says_what_it_should_have_had() {
    let mut buffer = [0; 4];
    let mut writer = SliceWriter::new(&mut buffer);
    writer.put(b"abc");
    writer.put(b"de");
    // Would fit into what is left, but not at its place.
    writer.put(b"f");
    assert_eq!(writer.finish(), Err(BufferTooSmall { needed: 6 }));
    assert_eq!(&buffer, b"abc\0");

    let mut counter = Counter::default();
    "abc".encode(&mut counter);
    assert_eq!(counter.count(), 7);
}
