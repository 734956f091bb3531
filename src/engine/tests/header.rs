//! Faults of a header, and the order of the rules.

use super::*;

const NONE: u16 = 0;

fn refused(frames: &str, kind: ErrorKind, detail: u16) {
    assert_eq!(server(frames).last(), Some(&Seen::Error(kind, detail)), "{frames}");
}

/// F02: RFC 6455, section 5.2: RSV2 and RSV3 are for extensions that we do not have.
#[test]
fn rsv2_and_rsv3() {
    for first in ["a1", "91", "b1", "a8", "90"] {
        decides(&Config::default(), &format!("{first}80"), ErrorKind::UnexpectedRsv23, NONE);
    }
}

/// F02: RFC 6455, section 5.2: RSV1 has a meaning only once an extension was agreed on.
#[test]
fn rsv1() {
    for first in ["c1", "c2", "c9", "c0"] {
        decides(&Config::default(), &format!("{first}80"), ErrorKind::UnexpectedRsv1, NONE);
    }
}

/// F04: RFC 6455, section 5.2: opcodes 3 to 7 and 0xb to 0xf are reserved.
#[test]
fn reserved_opcodes() {
    for opcode in [3, 4, 5, 6, 7, 0xb, 0xc, 0xd, 0xe, 0xf] {
        decides(&Config::default(), &format!("{:02x}80", 0x80 | opcode), ErrorKind::InvalidOpcode, opcode);
        decides(&Config::default(), &format!("{opcode:02x}80"), ErrorKind::InvalidOpcode, opcode);
    }
}

/// F10: RFC 6455, section 5.4: a continuation frame continues something.
#[test]
fn continuation_of_nothing() {
    decides(&Config::default(), "8080", ErrorKind::InvalidOpcode, 0);
    decides(&Config::default(), "0080", ErrorKind::InvalidOpcode, 0);
    refused("0181 00000000 61 8081 00000000 62 8080", ErrorKind::InvalidOpcode, 0);
    refused("8181 00000000 61 8080", ErrorKind::InvalidOpcode, 0);
}

/// F10: RFC 6455, section 5.4: the fragments of one message are not interleaved with another.
#[test]
fn new_message_inside_a_message() {
    decides(&Config::default(), "0181 00000000 61 8180", ErrorKind::InvalidOpcode, 1);
    decides(&Config::default(), "0180 00000000 0280", ErrorKind::InvalidOpcode, 2);
}

/// F06: RFC 6455, section 5.5: control frames are not fragmented.
#[test]
fn control_without_fin() {
    for first in ["08", "09", "0a"] {
        decides(&Config::default(), &format!("{first}80"), ErrorKind::ExpectedFin, NONE);
    }
}

/// F06: RFC 6455, section 5.5: control frames have at most 125 bytes. Detail: the 7-bit length.
#[test]
fn long_control() {
    for first in ["88", "89", "8a"] {
        decides(&Config::default(), &format!("{first}fe"), ErrorKind::InvalidControlPayloadLength, 126);
        decides(&Config::default(), &format!("{first}ff"), ErrorKind::InvalidControlPayloadLength, 127);
    }
}

/// F19: RFC 6455, section 5.5.1: a close frame has no body or a whole status code.
#[test]
fn close_of_one_byte() {
    decides(&Config::default(), "8881", ErrorKind::InvalidControlPayloadLength, 1);
    assert_eq!(server("8981 00000000 61"), [Seen::Ping(b"a".into())]);
}

/// F03: RFC 6455, section 5.1: a client masks.
#[test]
fn unmasked_to_server() {
    for header in ["8105", "8900", "8800", "827e", "827f"] {
        decides(&Config::default(), header, ErrorKind::ExpectedMask, NONE);
    }
}

/// RFC 6455, section 5.1: a server does not mask.
#[test]
fn masked_to_client() {
    let config = Config { role: Role::Client, ..Config::default() };
    for header in ["8185", "8980", "8880", "82fe"] {
        decides(&config, header, ErrorKind::UnexpectedMask, NONE);
    }
}

/// The order of ws where a header breaks more rules: RSV2/3, RSV1, opcode, FIN, length, MASK.
#[test]
fn first_rule_wins() {
    refused("ff01", ErrorKind::UnexpectedRsv23, NONE);
    refused("4301", ErrorKind::UnexpectedRsv1, NONE);
    refused("487f", ErrorKind::UnexpectedRsv1, NONE);
    refused("0301", ErrorKind::InvalidOpcode, 3);
    refused("0801", ErrorKind::ExpectedFin, NONE);
    refused("8801", ErrorKind::InvalidControlPayloadLength, 1);
    refused("897e", ErrorKind::InvalidControlPayloadLength, 126);
    refused("817f ffffffffffffffff", ErrorKind::ExpectedMask, NONE);
}

/// One byte decides nothing, as in ws, which reads two.
#[test]
fn one_byte() {
    assert_eq!(server("ff"), []);
}

/// RFC 6455, section 7.1.7: messages before an error are delivered, those after it are not.
#[test]
fn error_between_messages() {
    let mut engine = Engine::new();
    let stream = hex("8181 00000000 61 8100 8181 00000000 62");
    let seen = feed(&mut engine, &Config::default(), &stream);
    assert_eq!(seen, [text("a"), Seen::Error(ErrorKind::ExpectedMask, NONE)]);
    assert_eq!(feed(&mut engine, &Config::default(), &hex("8181 00000000 62")), []);
    assert!(engine.failure().is_some() && !engine.close_received());
}
