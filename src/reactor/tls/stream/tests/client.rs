//! A blocking client of rustls.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Error, RootCertStore, SupportedProtocolVersion};

use crate::reactor::tests::client::{Client, SWITCHED, UPGRADE};
use crate::reactor::tls::tests::der;

pub(super) const BOTH: [&SupportedProtocolVersion; 2] = [&rustls::version::TLS12, &rustls::version::TLS13];

/// Settings of a client that trusts the authority `ca`. `pair`: the name of its own certificate.
pub(super) fn config(versions: &[&'static SupportedProtocolVersion], pair: Option<&str>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(certificate("ca")).expect("a certificate");
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(versions)
        .expect("versions with suites")
        .with_root_certificates(roots);
    match pair {
        None => builder.with_no_client_auth(),
        Some(name) => builder.with_client_auth_cert(vec![certificate(name)], key(name)).expect("its key"),
    }
}

pub(super) fn certificate(name: &str) -> CertificateDer<'static> {
    der(&format!("{name}.pem")).into()
}

fn key(name: &str) -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(der(&format!("{name}.key"))).into()
}

pub(super) struct Secured {
    pub(super) tls: ClientConnection,
    pub(super) socket: Client,
    /// Writes each byte of a record by itself.
    pub(super) chopped: bool,
}

impl Secured {
    pub(super) fn over(socket: Client, config: ClientConfig, name: &'static str) -> Self {
        let name = ServerName::try_from(name).expect("a name");
        let tls = ClientConnection::new(Arc::new(config), name).expect("good settings");
        Self { tls, socket, chopped: false }
    }

    pub(super) fn to(address: SocketAddr, config: ClientConfig) -> Self {
        Self::over(Client::connect(address), config, "localhost")
    }

    /// Connects and upgrades.
    pub(super) fn open(address: SocketAddr) -> Self {
        Self::to(address, config(&BOTH, None)).upgrade()
    }

    pub(super) fn upgrade(mut self) -> Self {
        self.write(UPGRADE.as_bytes());
        assert_eq!(String::from_utf8_lossy(&self.read(SWITCHED.len())), SWITCHED);
        self
    }

    /// # Errors
    /// The server's alert, or what it did wrong. The handshake can succeed before a server of TLS 1.3
    /// refuses it.
    pub(super) fn handshake(&mut self) -> Result<(), Error> {
        while self.tls.is_handshaking() {
            self.write_records();
            if self.tls.is_handshaking() {
                self.read_records()?;
            }
        }
        self.write_records();
        Ok(())
    }

    /// The error that the server answers with, even after the handshake.
    pub(super) fn refusal(mut self) -> Error {
        loop {
            if let Err(error) = self.handshake().and_then(|()| self.read_records()) {
                return error;
            }
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.handshake().expect("a handshake");
        for part in bytes.chunks(16 << 10) {
            self.tls.writer().write_all(part).expect("room for a record");
            self.write_records();
        }
    }

    pub(super) fn write_records(&mut self) {
        let mut records = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut records).expect("memory takes all");
        }
        if self.chopped {
            records.iter().for_each(|&byte| self.socket.write(&[byte]));
        } else {
            self.socket.write(&records);
        }
    }

    fn read_records(&mut self) -> Result<(), Error> {
        match self.tls.read_tls(&mut self.socket.0) {
            Ok(0) => Err(Error::General("the socket has ended".to_owned())),
            Ok(_) => {
                let processed = self.tls.process_new_packets();
                self.write_records();
                processed.map(drop)
            }
            Err(error) => Err(Error::General(error.to_string())),
        }
    }

    #[track_caller]
    pub(super) fn read(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let mut filled = 0;
        while filled < len {
            match self.tls.reader().read(&mut bytes[filled..]) {
                Ok(0) => panic!("the end came after {filled} of {len} bytes"),
                Ok(more) => filled += more,
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.read_records().expect("records"),
                Err(error) => panic!("{error}"),
            }
        }
        bytes
    }

    /// Reads to close_notify, and to the end of the socket after it.
    #[track_caller]
    pub(super) fn expect_end(&mut self) {
        loop {
            match self.tls.reader().read(&mut [0]) {
                Ok(0) => return self.socket.expect_end(),
                Ok(_) => panic!("a byte came"),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.read_records().expect("close_notify")
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    pub(super) fn close_notify(&mut self) {
        self.tls.send_close_notify();
        self.write_records();
    }
}
