//! The table of errors, which is handed to JavaScript.

use super::*;

/// The row of each kind is at its number: both sides mean the same error.
#[test]
fn rows_are_in_order() {
    for (index, row) in ErrorKind::table().iter().enumerate() {
        assert_eq!(row.kind as usize, index + 1);
        assert_eq!(row.kind.row(), row);
    }
    assert_eq!(ErrorKind::table().len(), ErrorKind::SendBudget as usize, "the last kind has the last row");
}

/// The sentences, codes and close codes of ws 8.23.
#[test]
fn same_as_ws() {
    let shown = |kind, detail| ProtocolError { kind, detail }.to_string();
    assert_eq!(shown(ErrorKind::InvalidOpcode, 11), "Invalid WebSocket frame: invalid opcode 11");
    assert_eq!(shown(ErrorKind::ExpectedMask, 0), "Invalid WebSocket frame: MASK must be set");
    assert_eq!(shown(ErrorKind::UnsupportedMessageLength, 0), "Max payload size exceeded");
    let (known, ours) = ErrorKind::table().split_at(ErrorKind::DeflateUnexpectedEnd as usize);
    let (own, zlib) = known.split_at(ErrorKind::TooManyFragments as usize);
    let close_codes: Vec<u16> = own.iter().map(|row| row.close_code.get()).collect();
    assert_eq!(close_codes, [1002, 1002, 1002, 1002, 1002, 1002, 1002, 1002, 1007, 1009, 1009, 1008]);
    for row in own {
        let class = if row.kind == ErrorKind::InvalidUtf8 { "Error" } else { "RangeError" };
        assert_eq!(row.class, class);
        assert!(row.code.starts_with("WS_ERR_"));
        assert_eq!(row.detailed, row.sentence.ends_with(' '));
    }
    for row in zlib {
        assert_eq!((row.close_code.get(), row.class, row.detailed), (1007, "Error", false));
        assert!(matches!(row.code, "Z_DATA_ERROR" | "Z_BUF_ERROR"));
        assert_eq!(ErrorKind::of(row.sentence), Some(row.kind));
    }
    let ours: Vec<_> = ours.iter().map(|row| (row.code, row.close_code.get())).collect();
    let codes = [
        ("WS_ERR_UNFINISHED_MESSAGE", 1013),
        ("WS_ERR_TOO_MANY_MESSAGES", 1008),
        ("WS_ERR_TOO_MANY_BYTES", 1008),
        ("WS_ERR_SEND_BUDGET", 1013),
    ];
    assert_eq!(ours, codes);
}

/// The close frame that answers an error has the code of its row.
#[test]
fn close_code() {
    let error = ProtocolError { kind: ErrorKind::InvalidUtf8, detail: 0 };
    assert_eq!(error.close_code(), CloseCode::INVALID_PAYLOAD_DATA);
}
