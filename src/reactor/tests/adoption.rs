//! Sockets whose upgrade was answered elsewhere.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use super::*;
use crate::reactor::{Adoption, Command, ListenerConfig};

/// Both ends of a connection.
fn pair() -> (Client, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = Client::connect(listener.local_addr().unwrap());
    (client, listener.accept().unwrap().0)
}

fn adopt(server: &Server, stream: TcpStream, prefix: Vec<u8>) {
    let config = Arc::new(ListenerConfig::default());
    server.submit(Command::Adopt(Box::new(Adoption { stream, prefix, listener: 7, config, deflate: None })));
}

#[test]
fn an_adopted_socket_opens_without_a_request_and_closes_like_any_other() {
    let server = Server::echo();
    let (mut client, stream) = pair();
    adopt(&server, stream, Vec::new());
    client.send("81 85 00000000 'hello'  88 80 00000000");
    client.expect("81 05 'hello'  88 00");
    client.expect_end();
    client.end();
    server.expect(&[
        Seen::Open("7".into()),
        Seen::Text(b"hello".to_vec()),
        Seen::Close(None, vec![]),
        Seen::Closed,
    ]);
}

#[test]
fn j18_a_prefix_of_any_length_comes_before_what_the_socket_has() {
    let server = Server::echo();
    let stream: Vec<u8> = (0..1100_u32)
        .flat_map(|n| frame(0x82, Some(n.to_le_bytes()), &n.to_be_bytes().repeat(250)))
        .collect();
    let expected: Vec<u8> =
        (0..1100_u32).flat_map(|n| frame(0x82, None, &n.to_be_bytes().repeat(250))).collect();
    for len in [0, 1, 2, 7, 8, 1007, 1008, 65_535, 65_536, 65_537, 200_000, 1 << 20] {
        let (mut client, socket) = pair();
        adopt(&server, socket, stream[..len].to_vec());
        client.write(&stream[len..len + 5000]);
        let whole = (len + 5000) / 1008 * (expected.len() / 1100);
        assert!(client.read(whole) == expected[..whole], "a prefix of {len} bytes");
    }
}

#[test]
fn j18_a_dead_socket_that_is_adopted_opens_and_closes() {
    let server = Server::echo();
    let (client, stream) = pair();
    client.reset();
    adopt(&server, stream, Vec::new());
    server.expect(&[Seen::Open("7".into()), Seen::Closed]);
}
