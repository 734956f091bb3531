//! Certificates of clients: who is trusted, and why somebody is not, in OpenSSL's words.

use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA256};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme,
};

use super::der;
use super::failure::{BadOption, Failure};
use super::pem;

/// Whether clients are asked for a certificate, and which ones are good.
#[derive(Debug)]
pub(in crate::reactor) struct Trust {
    asks: bool,
    /// A handshake without a good certificate fails; else the program is told what is wrong.
    rejects: bool,
    roots: Vec<CertificateDer<'static>>,
    subjects: Vec<DistinguishedName>,
    /// `None`: nobody is trusted.
    webpki: Option<Arc<dyn ClientCertVerifier>>,
    provider: Arc<CryptoProvider>,
    digest: [u8; 32],
}

/// Why a certificate is not good.
#[derive(Debug, Clone)]
pub(in crate::reactor) struct Distrust {
    /// As OpenSSL names it.
    pub(in crate::reactor) code: &'static str,
    error: Error,
}

impl Trust {
    pub(super) fn nobody(provider: Arc<CryptoProvider>) -> Self {
        Self {
            asks: false,
            rejects: false,
            roots: Vec::new(),
            subjects: Vec::new(),
            webpki: None,
            provider,
            digest: [0; 32],
        }
    }

    /// # Errors
    /// A file has no certificate, or no list, that can be read.
    pub(super) fn new(
        (ca, crl): (&[&[u8]], &[&[u8]]),
        rejects: bool,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, BadOption> {
        let mut roots = RootCertStore::empty();
        let certificates = read_all(ca, "CERTIFICATE", "ca", "ERR_OSSL_PEM_NO_START_LINE")?;
        let lists = read_all(crl, "X509 CRL", "crl", "ERR_CRYPTO_OPERATION_FAILED")?;
        let mut digest = Context::new(&SHA256);
        digest.update(&[u8::from(rejects)]);
        for (file, kind) in
            certificates.iter().map(|file| (file, 0)).chain(lists.iter().map(|file| (file, 1)))
        {
            digest.update(&[kind]);
            digest.update(&(file.len() as u64).to_le_bytes());
            digest.update(file);
        }
        let certificates: Vec<_> = certificates.into_iter().map(CertificateDer::from).collect();
        for certificate in &certificates {
            roots.add(certificate.clone()).map_err(|error| {
                BadOption::new(
                    "ERR_OSSL_ASN1_PARSE_ERROR",
                    format!("ca: a certificate cannot be read: {error}"),
                )
            })?;
        }
        let subjects = roots.subjects();
        let webpki = if roots.is_empty() { None } else { Some(verifier(roots, lists, provider.clone())?) };
        let digest = digest.finish().as_ref().try_into().unwrap_or_default();
        Ok(Self { asks: true, rejects, roots: certificates, subjects, webpki, provider, digest })
    }

    /// Names who is trusted: sessions of others are not gone on with.
    pub(super) fn digest(&self) -> [u8; 32] {
        self.digest
    }

    pub(in crate::reactor) fn asks(&self) -> bool {
        self.asks
    }

    pub(in crate::reactor) fn rejects(&self) -> bool {
        self.rejects
    }

    /// # Errors
    /// Why these certificates, the client's own first, are not good.
    pub(in crate::reactor) fn check(
        &self,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Distrust> {
        let Some((own, others)) = chain.split_first() else { return Err(Distrust::missing()) };
        let parsed: Vec<_> = chain.iter().map(|one| der::Certificate::parse(one)).collect();
        // webpki trusts nobody who vouches for himself.
        if let Some(Some(own_fields)) = parsed.first()
            && own_fields.is_self_issued()
            && self.roots.iter().any(|root| **root == **own)
        {
            return within(own_fields, now);
        }
        let Some(webpki) = &self.webpki else { return Err(Distrust::unknown(&parsed)) };
        webpki.verify_client_cert(own, others, now).map(drop).map_err(|error| Distrust::of(error, &parsed))
    }
}

fn within(certificate: &der::Certificate<'_>, now: UnixTime) -> Result<(), Distrust> {
    let now = now.as_secs().cast_signed();
    if now > certificate.not_after {
        Err(Distrust::of(CertificateError::Expired.into(), &[]))
    } else if now < certificate.not_before {
        Err(Distrust::of(CertificateError::NotValidYet.into(), &[]))
    } else {
        Ok(())
    }
}

fn verifier(
    roots: RootCertStore,
    lists: Vec<Vec<u8>>,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, BadOption> {
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .with_crls(lists.into_iter().map(CertificateRevocationListDer::from))
        .enforce_revocation_expiration()
        .build()
        .map_err(|error| BadOption::new("ERR_CRYPTO_OPERATION_FAILED", format!("crl: {error}")))
}

/// All sections of a label in files of PEM, or a file as it is: DER.
pub(super) fn read_all(
    files: &[&[u8]],
    label: &str,
    option: &str,
    code: &'static str,
) -> Result<Vec<Vec<u8>>, BadOption> {
    let mut all = Vec::new();
    for file in files {
        let sections = pem::sections(file)
            .map_err(|why| BadOption::new("ERR_OSSL_PEM_BAD_END_LINE", format!("{option}: {why}")))?;
        let before = all.len();
        all.extend(
            sections.into_iter().filter(|section| section.label == label).map(|section| section.contents),
        );
        if all.len() == before {
            if file.first() != Some(&der::SEQUENCE) {
                return Err(BadOption::new(
                    code,
                    format!("{option}: there is no {label} in it, neither PEM nor DER"),
                ));
            }
            all.push(file.to_vec());
        }
    }
    Ok(all)
}

impl Distrust {
    pub(in crate::reactor) fn failure(&self) -> Failure {
        Failure::of(&self.error)
    }

    fn missing() -> Self {
        Self { code: "UNABLE_TO_GET_ISSUER_CERT", error: Error::NoCertificatesPresented }
    }

    fn unknown(chain: &[Option<der::Certificate<'_>>]) -> Self {
        Self::of(CertificateError::UnknownIssuer.into(), chain)
    }

    fn of(error: Error, chain: &[Option<der::Certificate<'_>>]) -> Self {
        use CertificateError as Bad;
        // webpki takes an authority for no client; one that vouches for itself is a stranger first.
        let vouches =
            |own: &Option<der::Certificate<'_>>| own.as_ref().is_some_and(|own| own.is_self_issued());
        let error = match error {
            Error::InvalidCertificate(Bad::Other(_)) if chain.first().is_some_and(vouches) => {
                Bad::UnknownIssuer.into()
            }
            error => error,
        };
        let Error::InvalidCertificate(bad) = &error else { return Self { code: "UNSPECIFIED", error } };
        let code = match bad {
            Bad::Expired | Bad::ExpiredContext { .. } => "CERT_HAS_EXPIRED",
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => "CERT_NOT_YET_VALID",
            Bad::Revoked => "CERT_REVOKED",
            Bad::UnknownIssuer => issuer_code(chain),
            Bad::UnknownRevocationStatus => "UNABLE_TO_GET_CRL",
            Bad::ExpiredRevocationList | Bad::ExpiredRevocationListContext { .. } => "CRL_HAS_EXPIRED",
            Bad::BadSignature => "CERT_SIGNATURE_FAILURE",
            Bad::InvalidPurpose | Bad::InvalidPurposeContext { .. } => "INVALID_PURPOSE",
            Bad::UnhandledCriticalExtension => "UNHANDLED_CRITICAL_EXTENSION",
            Bad::Other(_) => "INVALID_CA",
            _ => "CERT_REJECTED",
        };
        Self { code, error }
    }
}

/// Whose certificate is missing.
fn issuer_code(chain: &[Option<der::Certificate<'_>>]) -> &'static str {
    let vouches = |one: &Option<der::Certificate<'_>>| one.as_ref().is_some_and(|one| one.is_self_issued());
    match chain {
        [only] if vouches(only) => "DEPTH_ZERO_SELF_SIGNED_CERT",
        [_] => "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
        all if all.iter().any(vouches) => "SELF_SIGNED_CERT_IN_CHAIN",
        _ => "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    }
}

/// Of a context that asks: what is not good fails the handshake only if it must.
#[derive(Debug)]
pub(super) struct Verifier(pub(super) Arc<Trust>);

impl ClientCertVerifier for Verifier {
    fn client_auth_mandatory(&self) -> bool {
        self.0.rejects
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.0.subjects
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if self.0.rejects {
            let chain: Vec<_> = std::iter::once(end_entity).chain(intermediates).cloned().collect();
            self.0.check(&chain, now).map_err(|distrust| distrust.error)?;
        }
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.provider.signature_verification_algorithms.supported_schemes()
    }
}
