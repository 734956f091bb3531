//! Payloads that several records share.

use crate::bridge::chunk::Chunk;
use crate::bridge::large::Large;
use crate::bridge::layout::{
    OUT_BINARY, OUT_FLAG_COMPRESS, OUT_FLAG_FIN, OUT_FLAG_SHARED, OUT_FLAG_WANT_SENT, OUT_PING,
    OUT_TERMINATE, OUT_TEXT, OUT_WRITE, SHARED_OTHER, SHARED_TEXT,
};
use crate::reactor::tests::*;
use crate::reactor::{Command, ConnectionId};

const READERS: usize = 4;
const MESSAGE: u8 = OUT_FLAG_FIN | OUT_FLAG_COMPRESS;

fn open() -> (Server, Vec<(Client, ConnectionId)>) {
    let server = Server::echo();
    let open = || (Client::open(server.address), server.opened());
    let readers = std::iter::repeat_with(open).take(READERS).collect();
    (server, readers)
}

fn name(id: ConnectionId) -> (u32, u32) {
    (id.slot, id.generation)
}

/// The number of a shared payload.
fn number(kind: u8) -> u32 {
    if kind == OUT_TEXT { SHARED_TEXT } else { SHARED_OTHER }
}

/// One record with the payload, and for all other connections a record that refers to it.
fn push(chunk: &mut Chunk, readers: &[(Client, ConnectionId)], kind: u8, flags: u8, payload: &[u8]) {
    for (n, (_, id)) in readers.iter().enumerate() {
        match n {
            0 => chunk.push_record(name(*id), kind, flags | OUT_FLAG_SHARED, 0, payload),
            _ => chunk.push_same(name(*id), kind, flags, 0, number(kind)),
        }
    }
}

fn push_large(chunk: &mut Chunk, readers: &[(Client, ConnectionId)], payload: &[u8]) {
    let mut first = Some(Large::copy(payload));
    for (_, id) in readers {
        match first.take() {
            Some(bytes) => chunk.push_large(name(*id), OUT_BINARY, MESSAGE | OUT_FLAG_SHARED, 0, bytes),
            None => chunk.push_same(name(*id), OUT_BINARY, MESSAGE, 0, SHARED_OTHER),
        }
    }
}

/// No client reads before everything has been sent, so that most of it is kept for a while; the
/// third is gone by then.
#[test]
fn everybody_gets_it_in_its_place() {
    let (server, mut readers) = open();
    let mut expected = Vec::new();
    for round in 0..40_u8 {
        let mut chunk = Chunk::default();
        for len in [5, 2000, 3000, 60_000] {
            let payload = vec![round; len];
            push(&mut chunk, &readers, OUT_BINARY, MESSAGE, &payload);
            expected.extend(frame(0x82, None, &payload));
        }
        push(&mut chunk, &readers, OUT_PING, 0, b"ping");
        expected.extend(bytes("89 04 'ping'"));
        for len in [1000, 5000] {
            let raw = frame(0x82, None, &vec![round; len]);
            push(&mut chunk, &readers, OUT_WRITE, OUT_FLAG_FIN, &raw);
            expected.extend(raw);
        }
        if round == 20 {
            chunk.push_record(name(readers[2].1), OUT_TERMINATE, 0, 0, b"");
        }
        let large = vec![round; 200_000];
        push_large(&mut chunk, &readers, &large);
        expected.extend(frame(0x82, None, &large));
        push(&mut chunk, &readers, OUT_TEXT, MESSAGE | OUT_FLAG_WANT_SENT, &[b'x'; 2500]);
        expected.extend(frame(0x81, None, &[b'x'; 2500]));
        server.submit(Command::Chunk(chunk));
    }
    let gone = readers.remove(2).0;
    for (client, _) in &mut readers {
        assert!(client.read(expected.len()) == expected);
    }
    drop(gone);
    let mut sent = [0; READERS];
    while sent.iter().enumerate().any(|(n, count)| *count < 40 && n != 2) {
        if let (id, Seen::Sent(count)) = server.next_of() {
            sent[id.slot as usize] += count;
        }
    }
}

/// The payload is sent as it is, where a whole message would have another form.
#[test]
fn inside_a_message_of_fragments_it_is_one_of_them() {
    let (server, mut readers) = open();
    let payload = vec![7; 3000];
    let mut chunk = Chunk::default();
    push(&mut chunk, &readers, OUT_BINARY, 0, &payload);
    for _ in 0..2 {
        push(&mut chunk, &readers, OUT_BINARY, MESSAGE, &payload);
    }
    server.submit(Command::Chunk(chunk));
    let expected = [0x02, 0x80, 0x82].map(|first| frame(first, None, &payload)).concat();
    for (client, _) in &mut readers {
        assert!(client.read(expected.len()) == expected);
    }
}
