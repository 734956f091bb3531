//! Certificates of clients: which are trusted, and why others are not, in OpenSSL's words.

use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
};

use super::der::Certificate;
use super::failure::{BadOption, Failure, certificate_code, is_authority, is_out_of_date};

/// Whether clients are asked for a certificate, and which ones are good.
#[derive(Debug)]
pub(super) struct Trust {
    asks: bool,
    /// A handshake without a good certificate fails; else the program is told the fault.
    rejects: bool,
    roots: Vec<CertificateDer<'static>>,
    lists: Vec<CertificateRevocationListDer<'static>>,
    subjects: Vec<DistinguishedName>,
    /// `None`: no client is trusted.
    webpki: Option<Arc<dyn ClientCertVerifier>>,
    provider: Arc<CryptoProvider>,
    digest: [u8; 32],
}

/// Why a certificate is not good.
#[derive(Debug, Clone)]
pub(super) struct Rejection {
    /// As OpenSSL names it.
    pub(super) code: &'static str,
    error: Error,
}

impl Trust {
    /// In DER; neither counts for those who do not ask.
    ///
    /// # Errors
    /// A certificate, or a list, cannot be read.
    pub(super) fn new(
        (ca, crl): (&[&[u8]], &[&[u8]]),
        (asks, rejects): (bool, bool),
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, BadOption> {
        let (ca, crl) = if asks { (ca, crl) } else { Default::default() };
        let mut digest = Context::new(&SHA256);
        digest.update(&[u8::from(asks), u8::from(asks && rejects)]);
        for (file, kind) in ca.iter().map(|file| (file, 0)).chain(crl.iter().map(|file| (file, 1))) {
            digest.update(&[kind]);
            digest.update(&(file.len() as u64).to_le_bytes());
            digest.update(file);
        }
        let digest = digest.finish().as_ref().try_into().unwrap_or_default();
        let roots: Vec<_> = ca.iter().map(|der| CertificateDer::from(der.to_vec())).collect();
        let lists: Vec<_> =
            crl.iter().map(|list| CertificateRevocationListDer::from(list.to_vec())).collect();
        let mut authorities = roots.clone();
        authorities.retain(|root| Certificate::parse(root).is_some_and(|root| root.is_of_authority()));
        let webpki = match &*authorities {
            [] => None,
            _ => Some(verifier(authorities, &lists, provider.clone())?),
        };
        let subjects = roots.iter().filter_map(|root| Certificate::parse(root));
        let subjects = subjects.map(|root| DistinguishedName::in_sequence(root.subject)).collect();
        Ok(Self { asks, rejects, roots, lists, subjects, webpki, provider, digest })
    }

    /// Names who is trusted: sessions of others are not gone on with.
    pub(super) fn digest(&self) -> [u8; 32] {
        self.digest
    }

    pub(super) fn asks(&self) -> bool {
        self.asks
    }

    pub(super) fn rejects(&self) -> bool {
        self.rejects
    }

    /// # Errors
    /// Why these certificates, the client's own first, are not good.
    pub(super) fn check(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Result<(), Rejection> {
        let Some((own, others)) = chain.split_first() else { return Err(Rejection::missing()) };
        let Some(leaf) = Certificate::parse(own) else {
            return Err(Rejection::of(CertificateError::BadEncoding.into()));
        };
        let verified = match &self.webpki {
            _ if leaf.is_self_issued() && self.roots.contains(own) => {
                verifier(vec![own.clone().into_owned()], &[], self.provider.clone())
                    .map_or(Err(CertificateError::UnknownIssuer.into()), |alone| {
                        verify(&alone, own, &[], now)
                    })
                    // webpki takes an authority for no client, after it has looked at the dates.
                    .or_else(|error| if is_authority(&error) { Ok(()) } else { Err(error) })
            }
            Some(webpki) => verify(webpki, own, others, now)
                .and_then(|()| self.check_roots(webpki, &leaf, (own, others), now)),
            None => Err(CertificateError::UnknownIssuer.into()),
        };
        match verified {
            Err(error) => Err(self.rejection(error, &leaf, others)),
            Ok(()) if !leaf.is_for_clients() => Err(Rejection::of(CertificateError::InvalidPurpose.into())),
            // None for it alone.
            Ok(()) if leaf.is_self_issued() && !self.lists.is_empty() => {
                Err(Rejection::of(CertificateError::UnknownRevocationStatus.into()))
            }
            Ok(()) => Ok(()),
        }
    }

    /// webpki does not look at the dates of roots.
    fn check_roots(
        &self,
        webpki: &Arc<dyn ClientCertVerifier>,
        leaf: &Certificate<'_>,
        (own, others): (&CertificateDer<'_>, &[CertificateDer<'_>]),
        now: UnixTime,
    ) -> Result<(), Error> {
        let mut issuers = vec![leaf.issuer];
        issuers.extend(others.iter().filter_map(|one| Certificate::parse(one)).map(|one| one.issuer));
        let is_issuer = |root: &&CertificateDer<'_>| {
            Certificate::parse(root)
                .is_some_and(|root| root.is_of_authority() && issuers.contains(&root.subject))
        };
        let mut late = None;
        let mut current: Vec<_> = self.roots.iter().filter(is_issuer).cloned().collect();
        current.retain(|root| match verify(webpki, root, &[], now) {
            Err(error) if is_out_of_date(&error) => {
                late = Some(error);
                false
            }
            _ => true,
        });
        let Some(error) = late else { return Ok(()) };
        // Another one of that name can still be good.
        match verifier(current, &self.lists, self.provider.clone()) {
            Ok(webpki) => verify(&webpki, own, others, now),
            Err(_there_is_none) => Err(error),
        }
    }

    /// With the code of OpenSSL, which goes on after a fault and tells the last one.
    fn rejection(&self, error: Error, leaf: &Certificate<'_>, others: &[CertificateDer<'_>]) -> Rejection {
        let mut names =
            self.roots.iter().filter_map(|root| Certificate::parse(root)).map(|root| root.subject);
        let is_self_issued =
            |one: &CertificateDer<'_>| Certificate::parse(one).is_some_and(|one| one.is_self_issued());
        let is_stranger = leaf.is_self_issued() && is_authority(&error);
        let rejection =
            Rejection::of(if is_stranger { CertificateError::UnknownIssuer.into() } else { error });
        let code = match rejection.code {
            "UNABLE_TO_GET_ISSUER_CERT_LOCALLY" if leaf.is_self_issued() => match others {
                _ if !leaf.is_for_clients() => "INVALID_PURPOSE",
                [] => "DEPTH_ZERO_SELF_SIGNED_CERT",
                _ => "SELF_SIGNED_CERT_IN_CHAIN",
            },
            "UNABLE_TO_GET_ISSUER_CERT_LOCALLY" if others.iter().any(is_self_issued) => {
                "SELF_SIGNED_CERT_IN_CHAIN"
            }
            "UNABLE_TO_GET_ISSUER_CERT_LOCALLY" if others.is_empty() => "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
            "INVALID_PURPOSE"
                if others.is_empty() && !leaf.is_self_issued() && !names.any(|name| name == leaf.issuer) =>
            {
                "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
            }
            code => code,
        };
        Rejection { code, ..rejection }
    }
}

fn verify(
    webpki: &Arc<dyn ClientCertVerifier>,
    own: &CertificateDer<'_>,
    others: &[CertificateDer<'_>],
    now: UnixTime,
) -> Result<(), Error> {
    webpki.verify_client_cert(own, others, now).map(drop)
}

/// At least one of the roots.
fn verifier(
    roots: Vec<CertificateDer<'static>>,
    lists: &[CertificateRevocationListDer<'static>],
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, BadOption> {
    let mut store = RootCertStore::empty();
    for root in roots {
        store.add(root).map_err(|_what| {
            let message = "ca: a certificate has a form that only OpenSSL reads";
            BadOption::new("ERR_OSSL_ASN1_PARSE_ERROR", message)
        })?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(store), provider)
        .with_crls(lists.iter().cloned())
        .enforce_revocation_expiration()
        .build();
    verifier.map_err(|_what| {
        let message =
            "crl: it is no list of X.509 version 2 that is direct and whole and names the time of the next";
        BadOption::new("ERR_CRYPTO_OPERATION_FAILED", message)
    })
}

impl Rejection {
    pub(super) fn failure(&self) -> Failure {
        Failure::of(&self.error)
    }

    fn missing() -> Self {
        Self { code: "UNABLE_TO_GET_ISSUER_CERT", error: Error::NoCertificatesPresented }
    }

    fn of(error: Error) -> Self {
        Self { code: certificate_code(&error), error }
    }
}

/// A bad certificate fails the handshake only if it must.
impl ClientCertVerifier for Trust {
    fn client_auth_mandatory(&self) -> bool {
        self.rejects
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.subjects
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        // Anything but a certificate is refused in any case, as by OpenSSL: the program can read all it gets.
        if [end_entity].into_iter().chain(intermediates).any(|one| Certificate::parse(one).is_none()) {
            return Err(CertificateError::BadEncoding.into());
        }
        if self.rejects {
            let chain: Vec<_> = std::iter::once(end_entity).chain(intermediates).cloned().collect();
            self.check(&chain, now).map_err(|rejection| rejection.error)?;
        }
        Ok(ClientCertVerified::assertion())
    }

    // With the key alone: webpki reads certificates of X.509 version 3 only.

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let mapping = self.provider.signature_verification_algorithms.mapping;
        let algorithms = mapping.iter().find(|(scheme, _)| *scheme == signed.scheme).map(|(_, all)| *all);
        let certificate = Certificate::parse(cert);
        let Some((kind, key)) = certificate.and_then(|certificate| certificate.key_parts()) else {
            return Err(CertificateError::BadEncoding.into());
        };
        let mut fitting =
            algorithms.unwrap_or_default().iter().filter(|one| one.public_key_alg_id().as_ref() == kind);
        if fitting.any(|one| one.verify_signature(key, message, signed.signature()).is_ok()) {
            return Ok(HandshakeSignatureValid::assertion());
        }
        Err(CertificateError::BadSignature.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = Certificate::parse(cert).map_or(&[][..], |certificate| certificate.key).into();
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &key, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
