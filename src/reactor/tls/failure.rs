//! What can go wrong, in the words of Node and OpenSSL.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};

/// An option from which no context can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadOption {
    /// As Node has it, where it has the case.
    pub code: &'static str,
    /// Names the option, and what would help.
    pub message: String,
}

impl BadOption {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// Why a handshake failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub refusal: Refusal,
    /// As Node has it.
    pub code: String,
    pub reason: String,
}

/// The kinds of failures that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No version, cipher suite, group, signature or protocol that both sides have.
    Unshared,
    /// The client's certificate is not good, or was not sent.
    Certificate,
    /// The client refused: it sent an alert.
    Alert,
    /// HTTP without TLS.
    Plain,
    Timeout,
    /// The client left.
    Gone,
    /// The program refused.
    Program,
    /// What came is no TLS, or breaks its rules.
    Malformed,
}

impl Failure {
    pub(super) fn new(refusal: Refusal, code: &str, reason: &str) -> Self {
        Self { refusal, code: code.to_owned(), reason: reason.to_owned() }
    }

    pub(super) fn timeout() -> Self {
        Self::new(Refusal::Timeout, "ERR_TLS_HANDSHAKE_TIMEOUT", "TLS handshake timeout")
    }

    pub(super) fn gone() -> Self {
        Self::new(Refusal::Gone, "ECONNRESET", "socket hang up")
    }

    /// Not reported: the program knows.
    pub(super) fn program() -> Self {
        Self::new(Refusal::Program, "", "")
    }

    pub(super) fn plain() -> Self {
        Self::new(Refusal::Plain, "ERR_SSL_HTTP_REQUEST", "http request")
    }

    pub(super) fn malformed() -> Self {
        Self::of(&InvalidMessage::InvalidContentType.into())
    }

    pub(super) fn too_long() -> Self {
        Self::new(Refusal::Malformed, "ERR_SSL_EXCESSIVE_MESSAGE_SIZE", "excessive message size")
    }

    pub(super) fn of(error: &Error) -> Self {
        let (refusal, reason) = match error {
            Error::AlertReceived(alert) => (Refusal::Alert, alert_name(*alert)),
            Error::PeerIncompatible(what) => (Refusal::Unshared, unshared(what).to_owned()),
            // A context without certificates.
            Error::General(_) => (Refusal::Unshared, "no shared cipher".to_owned()),
            Error::NoApplicationProtocol => (Refusal::Unshared, "no application protocol".to_owned()),
            Error::NoCertificatesPresented => {
                (Refusal::Certificate, "peer did not return a certificate".to_owned())
            }
            Error::InvalidCertificate(_) => (Refusal::Certificate, "certificate verify failed".to_owned()),
            Error::InvalidMessage(
                InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
            ) => (Refusal::Malformed, "wrong version number".to_owned()),
            Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
                (Refusal::Malformed, "unexpected message".to_owned())
            }
            Error::DecryptError => (Refusal::Malformed, "decryption failed or bad record mac".to_owned()),
            Error::PeerSentOversizedRecord => (Refusal::Malformed, "packet length too long".to_owned()),
            // The parts that OpenSSL tells apart have names of its own source.
            _ => (Refusal::Malformed, "bad packet".to_owned()),
        };
        let code = format!("ERR_SSL_{}", reason.to_ascii_uppercase().replace(' ', "_"));
        // The code has the place of the fault for OpenSSL's names only; the rest helps to find it.
        let reason = match error {
            Error::AlertReceived(_) => reason,
            Error::InvalidCertificate(_) if is_other(error, "UnsupportedCertVersion") => {
                format!("{reason} (only certificates of X.509 version 3 can be verified)")
            }
            Error::InvalidCertificate(_) => format!("{reason} ({})", certificate_code(error)),
            error => format!("{reason} ({})", in_words(&error.to_string())),
        };
        Self { refusal, code, reason }
    }
}

/// OpenSSL's names for faults of a certificate; which one is missing, depends on the chain.
pub(super) fn certificate_code(error: &Error) -> &'static str {
    use CertificateError as Bad;
    let Error::InvalidCertificate(bad) = error else { return "UNSPECIFIED" };
    match bad {
        Bad::Expired | Bad::ExpiredContext { .. } => "CERT_HAS_EXPIRED",
        Bad::NotValidYet | Bad::NotValidYetContext { .. } => "CERT_NOT_YET_VALID",
        Bad::Revoked => "CERT_REVOKED",
        Bad::UnknownIssuer => "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
        Bad::UnknownRevocationStatus => "UNABLE_TO_GET_CRL",
        Bad::ExpiredRevocationList | Bad::ExpiredRevocationListContext { .. } => "CRL_HAS_EXPIRED",
        Bad::BadSignature => "CERT_SIGNATURE_FAILURE",
        Bad::InvalidPurpose | Bad::InvalidPurposeContext { .. } => "INVALID_PURPOSE",
        Bad::UnhandledCriticalExtension => "UNHANDLED_CRITICAL_EXTENSION",
        Bad::Other(what) => match &*what.to_string() {
            "CaUsedAsEndEntity" | "EndEntityUsedAsCa" => "INVALID_PURPOSE",
            "PathLenConstraintViolated" => "PATH_LENGTH_EXCEEDED",
            "NameConstraintViolation" => "PERMITTED_VIOLATION",
            _ => "CERT_REJECTED",
        },
        _ => "CERT_REJECTED",
    }
}

pub(super) fn is_out_of_date(error: &Error) -> bool {
    matches!(certificate_code(error), "CERT_HAS_EXPIRED" | "CERT_NOT_YET_VALID")
}

pub(super) fn is_authority(error: &Error) -> bool {
    is_other(error, "CaUsedAsEndEntity")
}

/// By the name that webpki has for it.
fn is_other(error: &Error, name: &str) -> bool {
    matches!(error, Error::InvalidCertificate(CertificateError::Other(what)) if what.to_string() == name)
}

/// "no cipher suites in common" for `NoCipherSuitesInCommon`.
fn in_words(text: &str) -> String {
    let mut words = String::new();
    let mut is_after_small = false;
    for letter in text.chars() {
        if letter.is_uppercase() && is_after_small {
            words.push(' ');
        }
        is_after_small = letter.is_lowercase();
        words.push(letter.to_ascii_lowercase());
    }
    words
}

fn unshared(what: &PeerIncompatible) -> &'static str {
    match what {
        PeerIncompatible::NoCipherSuitesInCommon => "no shared cipher",
        PeerIncompatible::NoKxGroupsInCommon
        | PeerIncompatible::NamedGroupsExtensionRequired
        | PeerIncompatible::KeyShareExtensionRequired => "no suitable key share",
        PeerIncompatible::NoSignatureSchemesInCommon
        | PeerIncompatible::SignatureAlgorithmsExtensionRequired => "no suitable signature algorithm",
        PeerIncompatible::ServerDoesNotSupportTls12Or13
        | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig
        | PeerIncompatible::SupportedVersionsExtensionRequired
        | PeerIncompatible::Tls12NotOffered
        | PeerIncompatible::Tls12NotOfferedOrEnabled => "unsupported protocol",
        _ => "bad extension",
    }
}

/// As OpenSSL names them, by the version that brought them.
fn alert_name(alert: AlertDescription) -> String {
    let name = match alert {
        AlertDescription::UserCanceled => "user cancelled".to_owned(),
        AlertDescription::UnrecognisedName => "unrecognized name".to_owned(),
        AlertDescription::Unknown(number) => return format!("unknown alert type {number}"),
        alert => in_words(&format!("{alert:?}")),
    };
    let version = match u8::from(alert) {
        0..=20 | 30..=47 => "sslv3 alert",
        109 | 116 => "tlsv13 alert",
        110..=114 => "tlsv1",
        _ => "tlsv1 alert",
    };
    format!("{version} {name}")
}
