//! The numbers of the operations, written independently of the codec.

use core::fmt;

/// An operation, as its number on the wire. Unknown numbers are values too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opcode(pub i32);

macro_rules! opcodes {
    ($($name:ident = $number:literal, $text:literal;)*) => {
        impl Opcode {
            $(#[doc = concat!("`", $text, "`, ", stringify!($number), ".")]
              pub const $name: Self = Self($number);)*

            const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($text),)*
                    _ => None,
                }
            }
        }
    };
}

opcodes! {
    CREATE = 1, "create";
    DELETE = 2, "delete";
    EXISTS = 3, "exists";
    GET_DATA = 4, "getData";
    SET_DATA = 5, "setData";
    GET_ACL = 6, "getACL";
    SET_ACL = 7, "setACL";
    GET_CHILDREN = 8, "getChildren";
    SYNC = 9, "sync";
    PING = 11, "ping";
    GET_CHILDREN2 = 12, "getChildren2";
    CHECK = 13, "check";
    MULTI = 14, "multi";
    CREATE2 = 15, "create2";
    RECONFIG = 16, "reconfig";
    CHECK_WATCHES = 17, "checkWatches";
    REMOVE_WATCHES = 18, "removeWatches";
    CREATE_CONTAINER = 19, "createContainer";
    CREATE_TTL = 21, "createTTL";
    MULTI_READ = 22, "multiRead";
    AUTH = 100, "auth";
    SET_WATCHES = 101, "setWatches";
    SASL = 102, "sasl";
    GET_EPHEMERALS = 103, "getEphemerals";
    GET_ALL_CHILDREN_NUMBER = 104, "getAllChildrenNumber";
    SET_WATCHES2 = 105, "setWatches2";
    ADD_WATCH = 106, "addWatch";
    WHO_AM_I = 107, "whoAmI";
    CLOSE_SESSION = -11, "closeSession";
}

impl fmt::Debug for Opcode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => formatter.write_str(name),
            None => write!(formatter, "opcode {}", self.0),
        }
    }
}
