//! Listening sockets.

#[cfg(unix)]
use std::{io::ErrorKind, net::IpAddr};

use crate::reactor::tests::server::{bind, reactor};
use crate::reactor::tests::turns::{idle_for, until};
use crate::reactor::tests::*;
#[cfg(unix)]
use crate::reactor::{BoundListener, ListenAddress, TcpOptions};
use crate::reactor::{Command, ListenerConfig};

#[test]
fn a_listener_accepts_once_it_is_asked_to() {
    let (mut reactor, _, _seen) = reactor(Setup::default());
    let listener = bind();
    let address = listener.address();
    let config = ListenerConfig::default().into();
    reactor.handle().submit(Command::Listen { id: 1, listener, config }).unwrap();
    let _client = Client::connect(address);
    until(&mut reactor, |reactor| idle_for(reactor, Duration::from_millis(30)));
    assert_eq!(reactor.connections(), 0);
    reactor.handle().submit(Command::Accept(1)).unwrap();
    until(&mut reactor, |reactor| reactor.connections() == 1);
}

/// The edge of a listener is used up by as many connections as one turn accepts; the reactor then
/// checks once more whether there are others.
#[test]
fn r06_after_a_burst_of_connections_the_reactor_sleeps_again() {
    for burst in [256, 300] {
        let (mut reactor, address, _seen) = reactor(Setup::default());
        let _clients: Vec<Client> = (0..burst).map(|_| Client::connect(address)).collect();
        until(&mut reactor, |reactor| reactor.connections() == burst);
        until(&mut reactor, |reactor| idle_for(reactor, Duration::from_millis(30)));
    }
}

#[test]
#[cfg(unix)]
fn a_path_with_a_zero_is_not_the_one_before_it() {
    use std::os::unix::ffi::OsStrExt as _;

    let path = std::env::temp_dir().join(format!("reactor-ws-zero-{}", std::process::id()));
    let longer = [path.as_os_str().as_bytes(), b"\0x"].concat();
    let error = BoundListener::bind_path(std::ffi::OsStr::from_bytes(&longer).as_ref(), None, 5).err();
    assert_eq!(error.map(|error| error.kind()), Some(ErrorKind::InvalidInput));
    assert!(!path.exists());
}

/// The connection for which systemd starts a process comes before its options are known.
#[test]
#[cfg(unix)]
fn accepted_sockets_have_the_options_of_tcp() {
    for is_taken in [false, true] {
        let (mut reactor, _, _seen) = reactor(Setup::default());
        let tcp = TcpOptions { no_delay: false, keep_alive: Some(Duration::from_secs(77)) };
        let host = Some(IpAddr::from([127, 0, 0, 1]));
        let own = if is_taken { TcpOptions::default() } else { tcp };
        let listener =
            BoundListener::bind(&ListenAddress { host, tcp: own, ..ListenAddress::default() }).unwrap();
        let _client = Client::connect(listener.address());
        let listener = match is_taken {
            true => {
                let duplicate = listener.duplicate();
                BoundListener::take(duplicate.into(), 5).unwrap()
            }
            false => listener,
        };
        let config = ListenerConfig { tcp: tcp.after_accept(is_taken), ..ListenerConfig::default() };
        reactor.handle().submit(Command::Listen { id: 1, listener, config: config.into() }).unwrap();
        reactor.handle().submit(Command::Accept(1)).unwrap();
        until(&mut reactor, |reactor| reactor.connections() == 1);
        let slot = reactor.connections.slots().pop().unwrap();
        let socket =
            socket2::SockRef::from(reactor.connections.get_mut(slot).unwrap().transport.as_tcp().unwrap())
                .try_clone()
                .unwrap();
        assert!(!socket.tcp_nodelay().unwrap(), "{is_taken}");
        assert!(socket.keepalive().unwrap(), "{is_taken}");
        assert_eq!(socket.tcp_keepalive_time().unwrap(), Duration::from_secs(77), "{is_taken}");
    }
}
