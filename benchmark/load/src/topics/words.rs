//! The messages of a room, and their wrapping.
//!
//! A payload is `<8 digits: number of the message><6 digits: the speaker>` and letters that depend
//! on both, so a delivery can be compared byte by byte without keeping the message. The wrapping is
//! the server's protocol.

use std::error::Error;
use std::str;

use crate::args::Protocol;
use crate::connection::push_small_frame;
use crate::messages::{Header, Random, push_masked};

/// Digits of the number, and of both.
const NUMBER: usize = 8;
const DIGITS: usize = NUMBER + 6;
/// Number of offsets into the letters; a power of two.
const OFFSETS: usize = 1 << 14;
const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
const MASK: [u8; 4] = [0x5a, 0xa5, 0x3c, 0xc3];

/// Makes messages and compares them.
pub(crate) struct Words {
    protocol: Protocol,
    payload: usize,
    letters: Vec<u8>,
}

/// The kinds of frames of the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard<'a> {
    /// A message, and the position to go on from, if there is one.
    Said { speaker: usize, number: u32, position: Option<&'a str> },
    /// Socket.IO is open: the member asks for the namespace next.
    Open,
    /// The namespace is there, with the id that a recovery begins with, if there is one.
    Joined { id: Option<&'a str> },
    /// A ping of Socket.IO.
    Ping,
}

impl Words {
    /// Messages of `payload` bytes.
    ///
    /// # Errors
    /// The payload has no room for the digits.
    pub(crate) fn new(protocol: Protocol, payload: usize, seed: u64) -> Result<Self, Box<dyn Error>> {
        if payload < DIGITS {
            return Err(format!("--payload must be at least {DIGITS}: messages begin with numbers").into());
        }
        let mut random = Random::new(seed ^ 0x746f_7069);
        let letters =
            (0..OFFSETS + payload).map(|_| ALPHABET[(random.next() >> 40) as usize % ALPHABET.len()]);
        Ok(Self { protocol, payload, letters: letters.collect() })
    }

    /// The request target of a member of `room`, which goes on from `position`.
    pub(crate) fn path(&self, room: usize, position: Option<&str>) -> String {
        match (self.protocol, position) {
            (Protocol::SocketIo, _) => format!("/socket.io/?EIO=4&transport=websocket&room={room}"),
            (_, Some(position)) => format!("/?room={room}&since={}", position.replace("\",", ":")),
            (_, None) => format!("/?room={room}"),
        }
    }

    /// Whether a connection is a member as soon as the handshake is done.
    pub(crate) fn joins_at_once(&self) -> bool {
        self.protocol != Protocol::SocketIo
    }

    /// Appends the frame with which a member says message `number`.
    pub(crate) fn push_said(&self, speaker: usize, number: u32, out: &mut Vec<u8>) {
        let fill = self.fill(speaker, number);
        let said = format!("{number:08}{speaker:06}");
        let (before, after): (&[u8], &[u8]) = match self.protocol {
            Protocol::SocketIo => (b"42[\"say\",\"", b"\"]"),
            _ => (b"", b""),
        };
        let text = [before, said.as_bytes(), fill, after].concat();
        out.extend_from_slice(Header::new(0x81, text.len(), Some(MASK)).as_slice());
        push_masked(out, &text, MASK);
    }

    /// Appends the frame with which Socket.IO's namespace is asked
    /// for, or a session is taken up again.
    pub(crate) fn push_join(id: Option<&str>, position: Option<&str>, out: &mut Vec<u8>) {
        let text = match (id, position) {
            (Some(id), Some(position)) => format!("40{{\"pid\":\"{id}\",\"offset\":\"{position}\"}}"),
            _ => "40".to_owned(),
        };
        push_small_frame(out, 0x81, text.as_bytes(), MASK);
    }

    /// Appends the answer to a ping of Socket.IO.
    pub(crate) fn push_pong(out: &mut Vec<u8>) {
        push_small_frame(out, 0x81, b"3", MASK);
    }

    /// Reads a text message of the server.
    ///
    /// # Errors
    /// The message is none that a server sends, or its bytes are not those that were sent.
    pub(crate) fn hear<'a>(&self, text: &'a [u8]) -> Result<Heard<'a>, Box<dyn Error>> {
        let wrong = || {
            let shown = String::from_utf8_lossy(&text[..text.len().min(60)]);
            format!("not what was said, {} bytes: {shown:?}", text.len())
        };
        let (said, position) = match self.protocol {
            Protocol::Plain => (text, None),
            Protocol::Topics => after_line(text).ok_or_else(wrong)?,
            Protocol::SocketIo => match event(text).ok_or_else(wrong)? {
                Event::Said(said, position) => (said, position),
                Event::Other(heard) => return Ok(heard),
            },
        };
        let (number, speaker) = self.compare(said).ok_or_else(wrong)?;
        Ok(Heard::Said { speaker, number, position })
    }

    fn compare(&self, said: &[u8]) -> Option<(u32, usize)> {
        if said.len() != self.payload {
            return None;
        }
        let (digits, fill) = said.split_at(DIGITS);
        let digits = str::from_utf8(digits).ok()?;
        let number = digits[..NUMBER].parse().ok()?;
        let speaker = digits[NUMBER..].parse().ok()?;
        (fill == self.fill(speaker, number)).then_some((number, speaker))
    }

    fn fill(&self, speaker: usize, number: u32) -> &[u8] {
        let at = (number as usize * 31 + speaker * 17) % OFFSETS;
        &self.letters[at..at + self.payload - DIGITS]
    }
}

/// `["<room>","<epoch>",<offset>]`, perhaps with an author, and the said in the next line. The position: `<epoch>",<offset>`.
fn after_line(text: &[u8]) -> Option<(&[u8], Option<&str>)> {
    let (line, said) = text.split_at(text.iter().position(|byte| *byte == b'\n')?);
    let line = str::from_utf8(line).ok()?.strip_suffix(']')?;
    let (_, rest) = line.strip_prefix("[\"")?.split_once("\",\"")?;
    let offset = rest.find("\",")? + 2;
    let end = rest[offset..].find(',').map_or(rest.len(), |at| offset + at);
    Some((&said[1..], Some(&rest[..end])))
}

enum Event<'a> {
    Said(&'a [u8], Option<&'a str>),
    Other(Heard<'a>),
}

/// A packet of Engine.IO 4 that carries one of Socket.IO 5.
fn event(text: &[u8]) -> Option<Event<'_>> {
    match text {
        b"2" => Some(Event::Other(Heard::Ping)),
        [b'0', ..] => Some(Event::Other(Heard::Open)),
        [b'4', b'0', rest @ ..] => {
            let rest = str::from_utf8(rest).ok()?;
            let id = rest.split_once("\"pid\":\"").and_then(|(_, rest)| rest.split('"').next());
            Some(Event::Other(Heard::Joined { id }))
        }
        _ => {
            let rest = text.strip_prefix(b"42[\"m\",\"")?.strip_suffix(b"\"]")?;
            let end = rest.iter().position(|byte| *byte == b'"').unwrap_or(rest.len());
            let position = rest[end..].strip_prefix(b"\",\"").and_then(|rest| str::from_utf8(rest).ok());
            Some(Event::Said(&rest[..end], position))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &Words) -> Vec<u8> {
        let mut text = b"00000007000003".to_vec();
        text.extend_from_slice(words.fill(3, 7));
        text
    }

    #[test]
    fn every_wrapping_is_taken_off_and_every_damage_found() {
        for (protocol, before, after, at) in [
            (Protocol::Plain, "", "", None),
            (Protocol::Topics, "[\"0\",\"e\",9]\n", "", Some("e\",9")),
            (Protocol::Topics, "[\"0\",\"e\",9,\"node\",1]\n", "", Some("e\",9")),
            (Protocol::SocketIo, "42[\"m\",\"", "\"]", None),
            (Protocol::SocketIo, "42[\"m\",\"", "\",\"xyz\"]", Some("xyz")),
        ] {
            let words = Words::new(protocol, 100, 1).unwrap();
            let text = [before.as_bytes(), &said(&words), after.as_bytes()].concat();
            let Heard::Said { speaker, number, position } = words.hear(&text).unwrap() else { panic!() };
            assert_eq!((speaker, number, position), (3, 7, at));
            for byte in before.len()..before.len() + 100 {
                let mut damaged = text.clone();
                damaged[byte] ^= 1;
                assert!(words.hear(&damaged).is_err(), "{protocol:?} at {byte}");
            }
        }
    }

    #[test]
    fn socket_io_opens_and_joins() {
        let words = Words::new(Protocol::SocketIo, 20, 1).unwrap();
        assert_eq!(words.hear(b"0{\"sid\":\"a\"}").unwrap(), Heard::Open);
        assert_eq!(words.hear(b"40{\"sid\":\"a\"}").unwrap(), Heard::Joined { id: None });
        assert_eq!(words.hear(b"40{\"sid\":\"a\",\"pid\":\"b\"}").unwrap(), Heard::Joined { id: Some("b") });
        assert_eq!(words.hear(b"2").unwrap(), Heard::Ping);
        assert!(words.hear(b"41").is_err());
    }
}
