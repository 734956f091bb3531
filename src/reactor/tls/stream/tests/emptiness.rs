//! Records that bring no byte, however many come.
#![expect(clippy::disallowed_types, reason = "clients block")]

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA384, KeyType, Prk};
use rustls::KeyLog;

use super::client::{Secured, config};
use crate::reactor::tests::Client;
use crate::reactor::tls::stream::{HandshakeStep, SCRATCH_BYTES, TlsStream};
use crate::reactor::tls::tests::server;
use crate::reactor::transport::stream::{Ahead, Received, Stream as _};

const APPLICATION_DATA: u8 = 23;
/// A key update without a question, and the kind of its record.
const KEY_UPDATE: [u8; 6] = [24, 0, 0, 1, 0, 22];
/// Most pairs of an empty record and a key update that are not judged yet: each record has 21 bytes of its own.
const MOST: usize = SCRATCH_BYTES / (21 + 1 + 21 + KEY_UPDATE.len());

#[derive(Debug, Default)]
struct Secret(Mutex<Vec<u8>>);

impl KeyLog for Secret {
    fn log(&self, label: &str, _random: &[u8], secret: &[u8]) {
        if label == "CLIENT_TRAFFIC_SECRET_0" {
            *self.0.lock().unwrap() = secret.to_vec();
        }
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// HKDF-Expand-Label (RFC 8446, 7.1).
fn expand(secret: &[u8], label: &str, length: usize) -> Vec<u8> {
    let label = format!("tls13 {label}");
    let info = [&[0, length as u8, label.len() as u8], label.as_bytes(), &[0]];
    let mut out = vec![0; length];
    Prk::new_less_safe(HKDF_SHA384, secret).expand(&info, Length(length)).unwrap().fill(&mut out).unwrap();
    out
}

/// The record of that number. `inner`: its contents, and their kind.
fn seal(secret: &[u8], number: u8, inner: &[u8]) -> Vec<u8> {
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &expand(secret, "key", 32)).unwrap());
    let mut nonce: [u8; 12] = expand(secret, "iv", 12).try_into().unwrap();
    nonce[11] ^= number;
    let header = [APPLICATION_DATA, 3, 3, 0, inner.len() as u8 + 16];
    let mut sealed = inner.to_vec();
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(header), &mut sealed)
        .unwrap();
    [&header[..], &sealed].concat()
}

/// A stream after its handshake, and records that a client of rustls would not send: rustls counts only as
/// many of a kind as come in a row.
fn open() -> (TlsStream, TcpStream, impl Iterator<Item = Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let staying = socket.try_clone().unwrap();
    let log = Arc::new(Secret::default());
    let mut config = config(&[&rustls::version::TLS13], None);
    config.key_log = log.clone();
    let client =
        thread::spawn(|| Secured::over(Client::of(socket), config, "localhost").handshake().unwrap());
    let (accepted, _) = listener.accept().unwrap();
    accepted.set_nonblocking(true).unwrap();
    let mut stream = TlsStream::new(mio::net::TcpStream::from_std(accepted), server(), false);
    while !matches!(stream.handshake(), HandshakeStep::Done) {
        thread::yield_now();
    }
    client.join().unwrap();
    let mut secret = log.0.lock().unwrap().clone();
    let pairs = std::iter::repeat_with(move || {
        let pair = [seal(&secret, 0, &[APPLICATION_DATA]), seal(&secret, 1, &KEY_UPDATE)].concat();
        secret = expand(&secret, "traffic upd", secret.len());
        pair
    });
    (stream, staying, pairs)
}

#[test]
fn a_peer_that_sends_nothing_but_empty_records_and_key_updates_is_ended() {
    for is_looked_at in [false, true] {
        let (mut stream, _staying, mut pairs) = open();
        for count in [MOST, MOST, MOST + 1] {
            stream.unfed = pairs.by_ref().take(count).flatten().collect();
            let goes_on = if is_looked_at {
                stream.look_ahead() == Ahead::Nothing
            } else {
                matches!(stream.receive(&mut [0; 100]), Received::Empty)
            };
            assert_eq!(goes_on, count == MOST, "{is_looked_at} {count}");
        }
        assert!(stream.look_ahead() == Ahead::Dead);
    }
}
