//! The mistakes that a peer can make, and their consequences: one table.

use std::fmt;

use super::close_code::CloseCode;

/// The rule that was broken. The numbers are part of the interface to JavaScript: append, never
/// renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ErrorKind {
    /// RSV2 or RSV3 is set (RFC 6455, section 5.2).
    UnexpectedRsv23 = 1,
    /// RSV1 is set where no extension gives it a meaning (RFC 7692, section 6).
    UnexpectedRsv1 = 2,
    /// An opcode that is reserved or out of place; the detail is the opcode (RFC 6455, sections 5.2
    /// and 5.4).
    InvalidOpcode = 3,
    /// A control frame without FIN (RFC 6455, section 5.5).
    ExpectedFin = 4,
    /// A control frame of more than 125 bytes, or a close frame of one; the detail is the 7-bit
    /// length (RFC 6455, sections 5.5 and 5.5.1).
    InvalidControlPayloadLength = 5,
    /// A client's frame without a mask (RFC 6455, section 5.1).
    ExpectedMask = 6,
    /// A server's frame with a mask (RFC 6455, section 5.1).
    UnexpectedMask = 7,
    /// A close frame whose status code must not be sent; the detail is the code (RFC 6455, section
    /// 7.4).
    InvalidCloseCode = 8,
    /// A text message or close reason that is not UTF-8 (RFC 6455, section 8.1).
    InvalidUtf8 = 9,
    /// A frame longer than 2^53 - 1 bytes.
    UnsupportedDataPayloadLength = 10,
    /// A message longer than [`Config::max_payload`](super::Config::max_payload).
    UnsupportedMessageLength = 11,
    /// A message of more frames than [`Config::max_fragments`](super::Config::max_fragments).
    TooManyFragments = 12,
    /// A block of a reserved type (RFC 1951). From here on the sentences are zlib's.
    DeflateInvalidBlockType = 13,
    /// A stored block whose length and its complement differ.
    DeflateInvalidStoredLengths = 14,
    /// A block with more symbols than there are.
    DeflateTooManySymbols = 15,
    /// Code lengths that are no Huffman code.
    DeflateInvalidCodeLengths = 16,
    /// A code length that is repeated before the first or beyond the last.
    DeflateInvalidBitLengthRepeat = 17,
    /// A block that has no code for its end.
    DeflateMissingEndOfBlock = 18,
    /// Literal and length codes that are no Huffman code.
    DeflateInvalidLiterals = 19,
    /// Distance codes that are no Huffman code.
    DeflateInvalidDistances = 20,
    /// A literal or length that has no meaning.
    DeflateInvalidLiteral = 21,
    /// A distance that has no meaning.
    DeflateInvalidDistance = 22,
    /// A distance beyond the beginning of what came in.
    DeflateDistanceTooFar = 23,
    /// A compressed message that ends inside a block (RFC 7692, section 7.2.2).
    DeflateUnexpectedEnd = 24,
    /// A message is given up that its peer leaves unfinished, for memory is needed for others.
    Unfinished = 25,
    /// More messages than a connection may send in a second.
    TooManyMessages = 26,
    /// More bytes than a connection may send in a second.
    TooManyBytes = 27,
    /// The peer reads so little that too many bytes wait to be sent to all.
    SendBudget = 28,
}

/// The JavaScript class of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    Error,
    RangeError,
}

#[derive(Debug, PartialEq, Eq)]
pub struct ErrorRow {
    pub kind: ErrorKind,
    /// Of the close frame that answers it (RFC 6455, section 7.4.1).
    pub close_code: CloseCode,
    /// The `code` property of the JavaScript error.
    pub code: &'static str,
    /// The message of the JavaScript error, up to the detail.
    pub sentence: &'static str,
    /// Whether the detail number ends the sentence.
    pub detailed: bool,
    pub class: ErrorClass,
}

impl ErrorKind {
    /// The row of the kind with number n is at n - 1.
    pub fn table() -> &'static [ErrorRow] {
        &TABLE
    }

    pub(in crate::engine) fn of_zlib(sentence: &str) -> Option<Self> {
        // Where zlib-rs copies from the window, it has a sentence of its own. Where it decodes
        // without looking at the end of its input, it loses which of three errors it was: a
        // literal, a distance, or a distance too far back, the error of nearly all broken streams.
        let sentence = match sentence {
            "invalid distance code too far back" | "repeated call with bad state" => {
                Self::DeflateDistanceTooFar.row().sentence
            }
            known => known,
        };
        TABLE.iter().find(|row| row.sentence == sentence).map(|row| row.kind)
    }

    pub fn row(self) -> &'static ErrorRow {
        // In bounds: a test holds the array to the largest number.
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
    pub fn close_code(self) -> CloseCode {
        self.kind.row().close_code
    }

    pub(in crate::engine) fn with_detail(kind: ErrorKind, detail: u16) -> Self {
        Self { kind, detail }
    }
}

impl From<ErrorKind> for ProtocolError {
    fn from(kind: ErrorKind) -> Self {
        Self { kind, detail: 0 }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.kind.row();
        f.write_str(row.sentence)?;
        if row.detailed { write!(f, "{}", self.detail) } else { Ok(()) }
    }
}

impl std::error::Error for ProtocolError {}

const fn row(
    kind: ErrorKind,
    close_code: CloseCode,
    code: &'static str,
    sentence: &'static str,
    detailed: bool,
) -> ErrorRow {
    // The one error of ws's own that is no RangeError.
    let class =
        if matches!(kind, ErrorKind::InvalidUtf8) { ErrorClass::Error } else { ErrorClass::RangeError };
    ErrorRow { kind, close_code, code, sentence, detailed, class }
}

/// An error of inflating, as Node's zlib reports it.
const fn zlib(kind: ErrorKind, code: &'static str, sentence: &'static str) -> ErrorRow {
    let close_code = CloseCode::INVALID_PAYLOAD_DATA;
    ErrorRow { kind, close_code, code, sentence, detailed: false, class: ErrorClass::Error }
}

#[rustfmt::skip]
static TABLE: [ErrorRow; 28] = [
    row(ErrorKind::UnexpectedRsv23, CloseCode::PROTOCOL_ERROR, "WS_ERR_UNEXPECTED_RSV_2_3",
        "Invalid WebSocket frame: RSV2 and RSV3 must be clear", false),
    row(ErrorKind::UnexpectedRsv1, CloseCode::PROTOCOL_ERROR, "WS_ERR_UNEXPECTED_RSV_1",
        "Invalid WebSocket frame: RSV1 must be clear", false),
    row(ErrorKind::InvalidOpcode, CloseCode::PROTOCOL_ERROR, "WS_ERR_INVALID_OPCODE",
        "Invalid WebSocket frame: invalid opcode ", true),
    row(ErrorKind::ExpectedFin, CloseCode::PROTOCOL_ERROR, "WS_ERR_EXPECTED_FIN",
        "Invalid WebSocket frame: FIN must be set", false),
    row(ErrorKind::InvalidControlPayloadLength, CloseCode::PROTOCOL_ERROR, "WS_ERR_INVALID_CONTROL_PAYLOAD_LENGTH",
        "Invalid WebSocket frame: invalid payload length ", true),
    row(ErrorKind::ExpectedMask, CloseCode::PROTOCOL_ERROR, "WS_ERR_EXPECTED_MASK",
        "Invalid WebSocket frame: MASK must be set", false),
    row(ErrorKind::UnexpectedMask, CloseCode::PROTOCOL_ERROR, "WS_ERR_UNEXPECTED_MASK",
        "Invalid WebSocket frame: MASK must be clear", false),
    row(ErrorKind::InvalidCloseCode, CloseCode::PROTOCOL_ERROR, "WS_ERR_INVALID_CLOSE_CODE",
        "Invalid WebSocket frame: invalid status code ", true),
    row(ErrorKind::InvalidUtf8, CloseCode::INVALID_PAYLOAD_DATA, "WS_ERR_INVALID_UTF8",
        "Invalid WebSocket frame: invalid UTF-8 sequence", false),
    row(ErrorKind::UnsupportedDataPayloadLength, CloseCode::MESSAGE_TOO_BIG, "WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH",
        "Unsupported WebSocket frame: payload length > 2^53 - 1", false),
    row(ErrorKind::UnsupportedMessageLength, CloseCode::MESSAGE_TOO_BIG, "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH",
        "Max payload size exceeded", false),
    row(ErrorKind::TooManyFragments, CloseCode::POLICY_VIOLATION, "WS_ERR_TOO_MANY_BUFFERED_PARTS",
        "Too many message fragments", false),
    zlib(ErrorKind::DeflateInvalidBlockType, "Z_DATA_ERROR", "invalid block type"),
    zlib(ErrorKind::DeflateInvalidStoredLengths, "Z_DATA_ERROR", "invalid stored block lengths"),
    zlib(ErrorKind::DeflateTooManySymbols, "Z_DATA_ERROR", "too many length or distance symbols"),
    zlib(ErrorKind::DeflateInvalidCodeLengths, "Z_DATA_ERROR", "invalid code lengths set"),
    zlib(ErrorKind::DeflateInvalidBitLengthRepeat, "Z_DATA_ERROR", "invalid bit length repeat"),
    zlib(ErrorKind::DeflateMissingEndOfBlock, "Z_DATA_ERROR", "invalid code -- missing end-of-block"),
    zlib(ErrorKind::DeflateInvalidLiterals, "Z_DATA_ERROR", "invalid literal/lengths set"),
    zlib(ErrorKind::DeflateInvalidDistances, "Z_DATA_ERROR", "invalid distances set"),
    zlib(ErrorKind::DeflateInvalidLiteral, "Z_DATA_ERROR", "invalid literal/length code"),
    zlib(ErrorKind::DeflateInvalidDistance, "Z_DATA_ERROR", "invalid distance code"),
    zlib(ErrorKind::DeflateDistanceTooFar, "Z_DATA_ERROR", "invalid distance too far back"),
    zlib(ErrorKind::DeflateUnexpectedEnd, "Z_BUF_ERROR", "unexpected end of file"),
    row(ErrorKind::Unfinished, CloseCode::TRY_AGAIN_LATER, "WS_ERR_UNFINISHED_MESSAGE",
        "Unfinished message given up to make room for others", false),
    row(ErrorKind::TooManyMessages, CloseCode::POLICY_VIOLATION, "WS_ERR_TOO_MANY_MESSAGES",
        "Too many messages per second", false),
    row(ErrorKind::TooManyBytes, CloseCode::POLICY_VIOLATION, "WS_ERR_TOO_MANY_BYTES",
        "Too many bytes per second", false),
    row(ErrorKind::SendBudget, CloseCode::TRY_AGAIN_LATER, "WS_ERR_SEND_BUDGET",
        "Too much waits to be sent to a peer that does not read", false),
];
