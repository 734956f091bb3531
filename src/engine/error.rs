//! The mistakes that a peer can make, and their consequences: one table.

use super::close_code::CloseCode;

macro_rules! errors {
    ($($(#[doc = $doc:literal])* $kind:ident = $number:literal, $close:ident, $class:ident, $code:literal,
        $sentence:literal $(+ $detail:ident)?;)*) => {
        /// The rule that was broken. The numbers are part of the interface to JavaScript: append,
        /// never renumber.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum ErrorKind {
            $($(#[doc = $doc])* $kind = $number,)*
        }

        static TABLE: &[ErrorRow] = &[$(ErrorRow {
            kind: ErrorKind::$kind,
            close_code: CloseCode::$close,
            code: $code,
            sentence: $sentence,
            detailed: !stringify!($($detail)?).is_empty(),
            class: stringify!($class),
        },)*];
    };
}

errors! {
    /// RFC 6455, section 5.2.
    UnexpectedRsv23 = 1, PROTOCOL_ERROR, RangeError, "WS_ERR_UNEXPECTED_RSV_2_3",
        "Invalid WebSocket frame: RSV2 and RSV3 must be clear";
    /// No extension gives it a meaning (RFC 7692, section 6).
    UnexpectedRsv1 = 2, PROTOCOL_ERROR, RangeError, "WS_ERR_UNEXPECTED_RSV_1",
        "Invalid WebSocket frame: RSV1 must be clear";
    /// Reserved or out of place (RFC 6455, sections 5.2 and 5.4).
    InvalidOpcode = 3, PROTOCOL_ERROR, RangeError, "WS_ERR_INVALID_OPCODE",
        "Invalid WebSocket frame: invalid opcode " + detail;
    /// In a control frame (RFC 6455, section 5.5).
    ExpectedFin = 4, PROTOCOL_ERROR, RangeError, "WS_ERR_EXPECTED_FIN",
        "Invalid WebSocket frame: FIN must be set";
    /// A control frame of more than 125 bytes, or a close frame of one (RFC 6455, sections 5.5 and
    /// 5.5.1). The detail is the 7-bit length.
    InvalidControlPayloadLength = 5, PROTOCOL_ERROR, RangeError, "WS_ERR_INVALID_CONTROL_PAYLOAD_LENGTH",
        "Invalid WebSocket frame: invalid payload length " + detail;
    /// In a client's frame (RFC 6455, section 5.1).
    ExpectedMask = 6, PROTOCOL_ERROR, RangeError, "WS_ERR_EXPECTED_MASK",
        "Invalid WebSocket frame: MASK must be set";
    /// In a server's frame (RFC 6455, section 5.1).
    UnexpectedMask = 7, PROTOCOL_ERROR, RangeError, "WS_ERR_UNEXPECTED_MASK",
        "Invalid WebSocket frame: MASK must be clear";
    /// Must not be sent (RFC 6455, section 7.4).
    InvalidCloseCode = 8, PROTOCOL_ERROR, RangeError, "WS_ERR_INVALID_CLOSE_CODE",
        "Invalid WebSocket frame: invalid status code " + detail;
    /// In a text message or close reason (RFC 6455, section 8.1).
    InvalidUtf8 = 9, INVALID_PAYLOAD_DATA, Error, "WS_ERR_INVALID_UTF8",
        "Invalid WebSocket frame: invalid UTF-8 sequence";
    UnsupportedDataPayloadLength = 10, MESSAGE_TOO_BIG, RangeError, "WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH",
        "Unsupported WebSocket frame: payload length > 2^53 - 1";
    /// More than [`Config::max_payload`](super::Config::max_payload).
    UnsupportedMessageLength = 11, MESSAGE_TOO_BIG, RangeError, "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH",
        "Max payload size exceeded";
    /// More than [`Config::max_fragments`](super::Config::max_fragments).
    TooManyFragments = 12, POLICY_VIOLATION, RangeError, "WS_ERR_TOO_MANY_BUFFERED_PARTS",
        "Too many message fragments";
    /// RFC 1951. The sentences up to number 24 are zlib's.
    DeflateInvalidBlockType = 13, INVALID_PAYLOAD_DATA, Error, "Z_DATA_ERROR",
        "invalid block type";
    DeflateInvalidStoredLengths = 14, INVALID_PAYLOAD_DATA, Error, "Z_DATA_ERROR",
        "invalid stored block lengths";
    DeflateTooManySymbols = 15, INVALID_PAYLOAD_DATA, Error, "Z_DATA_ERROR",
        "too many length or distance symbols";
    DeflateInvalidCodeLengths = 16, INVALID_PAYLOAD_DATA, Error, "Z_DATA_ERROR",
        "invalid code lengths set";
    DeflateInvalidBitLengthRepeat = 17, INVALID_PAYLOAD_DATA, Error, "Z_DATA_ERROR",
        "invalid bit length repeat";
    DeflateMissingEndOfBlock = 18, INVALID_PAYLOAD_DATA, Error, "Z_DATA_ERROR",
        "invalid code -- missing end-of-block";
    DeflateInvalidLiterals = 19, INVALID_PAYLOAD_DATA, Error, "Z_DATA_ERROR",
        "invalid literal/lengths set";
    DeflateInvalidDistances = 20, INVALID_PAYLOAD_DATA, Error, "Z_DATA_ERROR",
        "invalid distances set";
    DeflateInvalidLiteral = 21, INVALID_PAYLOAD_DATA, Error, "Z_DATA_ERROR",
        "invalid literal/length code";
    DeflateInvalidDistance = 22, INVALID_PAYLOAD_DATA, Error, "Z_DATA_ERROR",
        "invalid distance code";
    DeflateDistanceTooFar = 23, INVALID_PAYLOAD_DATA, Error, "Z_DATA_ERROR",
        "invalid distance too far back";
    /// Inside a block (RFC 7692, section 7.2.2).
    DeflateUnexpectedEnd = 24, INVALID_PAYLOAD_DATA, Error, "Z_BUF_ERROR",
        "unexpected end of file";
    /// The memory of the message is needed for others.
    Unfinished = 25, TRY_AGAIN_LATER, RangeError, "WS_ERR_UNFINISHED_MESSAGE",
        "Unfinished message given up to make room for others";
    TooManyMessages = 26, POLICY_VIOLATION, RangeError, "WS_ERR_TOO_MANY_MESSAGES",
        "Too many messages per second";
    TooManyBytes = 27, POLICY_VIOLATION, RangeError, "WS_ERR_TOO_MANY_BYTES",
        "Too many bytes per second";
    SendBudget = 28, TRY_AGAIN_LATER, RangeError, "WS_ERR_SEND_BUDGET",
        "Too much waits to be sent to a peer that does not read";
}

#[derive(Debug, PartialEq, Eq)]
pub struct ErrorRow {
    pub kind: ErrorKind,
    /// Code of the close frame that answers it (RFC 6455, section 7.4.1).
    pub close_code: CloseCode,
    /// The `code` property of the JavaScript error.
    pub code: &'static str,
    /// The message of the JavaScript error, up to the detail.
    pub sentence: &'static str,
    /// Whether the detail number ends the sentence.
    pub detailed: bool,
    /// `code` of the JavaScript error.
    pub class: &'static str,
}

impl ErrorKind {
    /// The row of the kind with number n is at n - 1.
    pub fn table() -> &'static [ErrorRow] {
        TABLE
    }

    /// The kind with this sentence.
    pub(in crate::engine) fn of(sentence: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.sentence == sentence).map(|row| row.kind)
    }

    pub fn row(self) -> &'static ErrorRow {
        // In bounds: a test compares the table with the largest number.
        &TABLE[self as usize - 1]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtocolError {
    pub kind: ErrorKind,
    /// Opcode, payload length or status code where the row says `detailed`, else 0.
    pub detail: u16,
}

impl ProtocolError {
    pub(in crate::engine) fn with_detail(kind: ErrorKind, detail: u16) -> Self {
        Self { kind, detail }
    }
}

impl From<ErrorKind> for ProtocolError {
    fn from(kind: ErrorKind) -> Self {
        Self { kind, detail: 0 }
    }
}
