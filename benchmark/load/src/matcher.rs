//! Compares the response stream of one connection with the expected one, byte by byte and in order,
//! without assembling messages.

use std::error::Error;

use crate::messages::Messages;
use crate::packed::Packed;

/// The state of one connection's response stream.
#[derive(Default)]
pub(crate) struct Matcher {
    /// Sequence number of the response that is due.
    pub(crate) due: u64,
    /// Bytes of it that have arrived.
    at: usize,
    /// Bytes of an unfinished control frame.
    control: Vec<u8>,
    /// Bytes of an unfinished response, if they are compressed.
    unfinished: Vec<u8>,
}

impl Matcher {
    /// Compares `input`, the next bytes of the stream, with responses before `sent`;
    /// returns how many of them it completes.
    ///
    /// # Errors
    /// The stream differs: a sentence that says where. Ping and pong frames
    /// between responses are let through.
    pub(crate) fn feed(
        &mut self,
        connection: usize,
        sent: u64,
        messages: &Messages,
        mut input: &[u8],
    ) -> Result<u64, Box<dyn Error>> {
        if let Some(packed) = messages.packed() {
            return self.feed_packed(connection, sent, packed, input);
        }
        let whole = messages.response_len();
        let mut completed = 0;
        while let Some(&first) = input.first() {
            if !self.control.is_empty() || (self.at == 0 && first & 0x08 != 0) {
                input = self.skip_control(connection, input)?;
                continue;
            }
            if self.due == sent {
                return Err(
                    format!("connection {connection}: more responses than the {sent} requests").into()
                );
            }
            let (now, rest) = input.split_at(input.len().min(whole - self.at));
            if !messages.matches(connection, self.due, self.at, now) {
                return Err(self.difference(connection, messages, now));
            }
            input = rest;
            self.at += now.len();
            if self.at == whole {
                self.at = 0;
                self.due += 1;
                completed += 1;
            }
        }
        Ok(completed)
    }

    /// Whether the stream stands between two frames.
    pub(crate) fn at_boundary(&self) -> bool {
        self.at == 0 && self.control.is_empty() && self.unfinished.is_empty()
    }

    /// As `feed`. A ping or pong between responses is an error here: no server of
    /// the compressed shapes sends any.
    fn feed_packed(
        &mut self,
        connection: usize,
        sent: u64,
        packed: &Packed,
        input: &[u8],
    ) -> Result<u64, Box<dyn Error>> {
        let mut buffer = std::mem::take(&mut self.unfinished);
        let mut rest = input;
        if !buffer.is_empty() {
            buffer.extend_from_slice(input);
            rest = &buffer;
        }
        let first = self.due;
        while let Some(len) = Packed::response_len(rest).filter(|len| *len <= rest.len()) {
            if self.due == sent {
                return Err(
                    format!("connection {connection}: more responses than the {sent} requests").into()
                );
            }
            let (response, after) = rest.split_at(len);
            packed.check(connection, self.due, response)?;
            self.due += 1;
            rest = after;
        }
        self.unfinished = rest.to_vec();
        Ok(self.due - first)
    }

    fn skip_control<'i>(&mut self, connection: usize, input: &'i [u8]) -> Result<&'i [u8], Box<dyn Error>> {
        let mut rest = input;
        while let Some((&byte, after)) = rest.split_first() {
            self.control.push(byte);
            rest = after;
            if self.control.len() >= 2 && self.control.len() == 2 + usize::from(self.control[1] & 0x7f) {
                if !matches!(self.control[0], 0x89 | 0x8a) {
                    let frame = &self.control;
                    return Err(format!("connection {connection}: unexpected frame {frame:02x?}").into());
                }
                self.control.clear();
                break;
            }
        }
        Ok(rest)
    }

    fn difference(&self, connection: usize, messages: &Messages, found: &[u8]) -> Box<dyn Error> {
        let differs = |&at: &usize| !messages.matches(connection, self.due, self.at + at, &found[at..=at]);
        let at = (0..found.len()).find(differs).unwrap_or_default();
        let shown = &found[at..found.len().min(at + 16)];
        format!(
            "connection {connection}, message {}: the response differs from byte {} of {} on: {shown:02x?}",
            self.due,
            self.at + at,
            messages.response_len()
        )
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::push_masked;

    fn responses(messages: &mut Messages, count: u64) -> Vec<u8> {
        let mut out = Vec::new();
        for sequence in 0..count {
            let mut request = Vec::new();
            messages.push_request(5, sequence, &mut request);
            out.extend_from_slice(&[0x81, 20]);
            let mask = request[2..6].try_into().unwrap();
            push_masked(&mut out, &request[6..], mask);
        }
        out
    }

    #[test]
    fn counts_responses_at_every_cut() {
        let mut messages = Messages::new(20, false, 1);
        let stream = responses(&mut messages, 3);
        for cut in 0..=stream.len() {
            let mut matcher = Matcher::default();
            let first = matcher.feed(5, 3, &messages, &stream[..cut]).unwrap();
            let second = matcher.feed(5, 3, &messages, &stream[cut..]).unwrap();
            assert_eq!((first + second, matcher.due, matcher.at_boundary()), (3, 3, true), "cut at {cut}");
        }
    }

    #[test]
    fn lets_pings_through_and_refuses_close() {
        let mut messages = Messages::new(20, false, 1);
        let mut stream = vec![0x89, 1, b'x'];
        stream.extend(responses(&mut messages, 1));
        assert_eq!(Matcher::default().feed(5, 1, &messages, &stream).unwrap(), 1);
        assert!(Matcher::default().feed(5, 1, &messages, &[0x88, 2, 3, 0xe8]).is_err());
    }

    #[test]
    fn finds_reordering_duplicates_surplus_and_damage() {
        let mut messages = Messages::new(20, false, 1);
        let stream = responses(&mut messages, 3);
        let swapped = [&stream[22..44], &stream[..22]].concat();
        assert!(Matcher::default().feed(5, 3, &messages, &swapped).is_err());
        let twice = [&stream[..22], &stream[..22]].concat();
        assert!(Matcher::default().feed(5, 3, &messages, &twice).is_err());
        assert!(Matcher::default().feed(5, 2, &messages, &stream).is_err());
        let mut damaged = stream;
        damaged[40] ^= 0x20;
        let error = Matcher::default().feed(5, 3, &messages, &damaged).unwrap_err().to_string();
        assert!(error.contains("message 1: the response differs from byte 18 of 22"), "{error}");
    }
}
