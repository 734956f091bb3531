//! A client and a server with a wire between them.

use proptest::prelude::*;

use super::splits::{pieces, sizes};
use super::*;

/// One end: an engine, its settings, and what it has written.
struct End {
    engine: Engine,
    config: Config,
    wire: Vec<u8>,
}

impl End {
    fn new(role: Role) -> Self {
        Self { engine: Engine::new(), config: Config { role, ..Config::default() }, wire: Vec::new() }
    }

    fn send(&mut self, kind: FrameKind, fin: bool, payload: &[u8], key: [u8; 4]) {
        let mask = (self.config.role == Role::Client).then_some(key);
        self.wire.extend_from_slice(&self.engine.encode(kind, fin, payload.len(), mask));
        let start = self.wire.len();
        self.wire.extend_from_slice(payload);
        if let Some(key) = mask {
            mask::unmask(key, 0, &mut self.wire[start..]);
        }
    }

    /// Reads what the other end wrote, in inputs of the given sizes.
    fn receive(&mut self, from: &mut Self, sizes: &[usize]) -> Vec<Seen> {
        let wire = std::mem::take(&mut from.wire);
        let pieces = pieces(&wire, sizes);
        pieces.into_iter().flat_map(|piece| feed(&mut self.engine, &self.config, piece)).collect()
    }
}

/// Something that an application sends.
#[derive(Clone, Debug)]
enum Sent {
    Message { text: bool, fragments: Vec<String> },
    Ping(Vec<u8>),
    Pong(Vec<u8>),
}

fn sent() -> impl Strategy<Value = Sent> {
    let fragments = prop::collection::vec("[a-c\u{e4}\u{20ac}\u{1f642}]{0,200}", 1..5);
    let body = || prop::collection::vec(any::<u8>(), 0..=125);
    prop_oneof![
        (any::<bool>(), fragments).prop_map(|(text, fragments)| Sent::Message { text, fragments }),
        body().prop_map(Sent::Ping),
        body().prop_map(Sent::Pong),
    ]
}

/// Sends everything and returns the events that the other end has to see.
fn send_all(end: &mut End, sent: &[Sent], key: [u8; 4]) -> Vec<Seen> {
    let mut expected = Vec::new();
    for item in sent {
        match item {
            Sent::Ping(body) => {
                end.send(FrameKind::Ping, true, body, key);
                expected.push(Seen::Ping(body.clone()));
            }
            Sent::Pong(body) => {
                end.send(FrameKind::Pong, true, body, key);
                expected.push(Seen::Pong(body.clone()));
            }
            Sent::Message { text, fragments } => {
                let kind = if *text { FrameKind::Text } else { FrameKind::Binary };
                for (i, fragment) in fragments.iter().enumerate() {
                    end.send(kind, i + 1 == fragments.len(), fragment.as_bytes(), key);
                }
                let data = fragments.concat().into_bytes();
                expected.push(if *text { Seen::Text(data) } else { Seen::Binary(data) });
            }
        }
    }
    expected
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 512 }, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Each end sees what the other sends, in both directions.
    #[test]
    fn sent_is_received(
        to_server in prop::collection::vec(sent(), 0..8),
        to_client in prop::collection::vec(sent(), 0..8),
        key: [u8; 4],
        sizes in sizes(),
    ) {
        let (mut client, mut server) = (End::new(Role::Client), End::new(Role::Server));
        let at_server = send_all(&mut client, &to_server, key);
        let at_client = send_all(&mut server, &to_client, key);
        prop_assert_eq!(server.receive(&mut client, &sizes), at_server);
        prop_assert_eq!(client.receive(&mut server, &sizes), at_client);
    }
}

/// RFC 6455, section 1.4: the closing handshake, begun by the client.
#[test]
fn closing_handshake() {
    let (mut client, mut server) = (End::new(Role::Client), End::new(Role::Server));
    let body = [&CloseCode::NORMAL_CLOSURE.to_bytes()[..], b"by"].concat();
    client.send(FrameKind::Close, true, &body, [1, 2, 3, 4]);
    assert_eq!(server.receive(&mut client, &[3]), [Seen::Close(Some(1000), b"by".into())]);
    server.send(FrameKind::Close, true, &body, [0; 4]);
    assert_eq!(client.receive(&mut server, &[3]), [Seen::Close(Some(1000), b"by".into())]);
    for end in [client, server] {
        assert!(end.engine.close_sent() && end.engine.close_received() && end.engine.failure().is_none());
    }
}
