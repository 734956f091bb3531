//! Facts about a connection with TLS, for the program.

use rustls::HandshakeKind;
use rustls::pki_types::UnixTime;

use super::TlsConn;
use crate::bridge::layout::{TLS_AUTHORIZED, TLS_REUSED, TLS_TEXTS};
use crate::reactor::Export;
use crate::reactor::tls::Failure;

impl TlsConn {
    pub(in crate::reactor::tls) fn is_reused(&self) -> bool {
        self.connection.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    pub(in crate::reactor::tls) fn shows_certificates(&self) -> bool {
        self.connection.peer_certificates().is_some()
    }

    /// Looks at the client's certificate once more where the handshake has not: sessions that go on,
    /// and clients that need none.
    ///
    /// # Errors
    /// It is not good, and it must be.
    pub(in crate::reactor::tls) fn authorize(&mut self) -> Result<(), Failure> {
        if !self.trust.asks() {
            return Ok(());
        }
        let chain = self.connection.peer_certificates().unwrap_or_default();
        let checked = self.trust.check(chain, UnixTime::now());
        self.rejection = checked.err();
        match &self.rejection {
            Some(rejection) if self.trust.rejects() => Err(rejection.failure()),
            _ => Ok(()),
        }
    }

    /// Key material for the program (RFC 8446, section 7.5; RFC 5705). `None`: more than there can be.
    pub(in crate::reactor::tls) fn export(
        &self,
        Export { len, label, context, .. }: &Export,
    ) -> Option<Vec<u8>> {
        self.connection.export_keying_material(vec![0; *len], label, context.as_deref()).ok()
    }

    /// The TLS section of a record, see [`TLS_VERSION`](crate::bridge::layout::TLS_VERSION).
    pub(in crate::reactor::tls) fn describe(&self) -> Vec<u8> {
        let connection = &self.connection;
        let why = self.rejection.as_ref().map_or("", |rejection| rejection.code);
        let name = connection.server_name().unwrap_or_default();
        let alpn = connection.alpn_protocol().unwrap_or_default();
        // All of them came in messages of at most 64 KiB.
        let certificates = connection.peer_certificates().unwrap_or_default();
        let is_authorized = self.trust.asks() && self.rejection.is_none();
        let flags = [(self.is_reused(), TLS_REUSED), (is_authorized, TLS_AUTHORIZED)];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, bit)| all | bit);
        let numbers = [
            connection.protocol_version().map_or(0, u16::from),
            connection.negotiated_cipher_suite().map_or(0, |suite| suite.suite().into()),
            connection.negotiated_key_exchange_group().map_or(0, |group| group.name().into()),
            flags as u16,
            why.len() as u16,
            name.len() as u16,
            alpn.len() as u16,
            certificates.len() as u16,
        ];
        let texts = [why.as_bytes(), name.as_bytes(), alpn];
        let len = TLS_TEXTS + texts.iter().map(|text| text.len()).sum::<usize>();
        let mut section =
            Vec::with_capacity(len + certificates.iter().map(|der| 4 + der.len()).sum::<usize>());
        section.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        section.extend(texts.concat());
        for certificate in certificates {
            section.extend((certificate.len() as u32).to_le_bytes());
            section.extend_from_slice(certificate);
        }
        section
    }
}
