//! Status codes of the closing handshake (RFC 6455, section 7.4).

/// A status code that can stand in a close frame: 1000 to 1003, 1007 to 1014, 3000 to 4999.
///
/// 1004 is reserved; 1005, 1006 and 1015 are for APIs and never sent (RFC 6455, section 7.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloseCode(u16);

impl CloseCode {
    pub const PROTOCOL_ERROR: Self = Self(1002);
    pub const UNSUPPORTED_DATA: Self = Self(1003);
    /// Such as text that is not UTF-8.
    pub const INVALID_PAYLOAD_DATA: Self = Self(1007);
    pub const POLICY_VIOLATION: Self = Self(1008);
    pub const MESSAGE_TOO_BIG: Self = Self(1009);
    pub const INTERNAL_ERROR: Self = Self(1011);
    pub const SERVICE_RESTART: Self = Self(1012);
    /// The client can come again later.
    pub const TRY_AGAIN_LATER: Self = Self(1013);

    /// What APIs report for a close frame without a status code.
    pub const NO_STATUS_RECEIVED: u16 = 1005;
    /// What APIs report when no close frame came.
    pub const ABNORMAL_CLOSURE: u16 = 1006;

    /// `None` if a code with this number must not be sent.
    pub const fn new(number: u16) -> Option<Self> {
        match number {
            1000..=1003 | 1007..=1014 | 3000..=4999 => Some(Self(number)),
            _ => None,
        }
    }

    pub const fn get(self) -> u16 {
        self.0
    }

    pub const fn to_bytes(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }
}
