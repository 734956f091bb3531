use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, UnixTime};

use super::der;
use crate::reactor::tls::Trust;

fn chain(names: &[&str]) -> Vec<CertificateDer<'static>> {
    names.iter().map(|name| CertificateDer::from(der(&format!("{name}.pem")))).collect()
}

/// The names are those that Node 20 reports for these files.
#[test]
fn why_a_client_is_not_authorized_is_said_as_in_node() {
    for (names, ca, with_list, expected) in [
        (&["client"][..], &["ca.pem"][..], false, None),
        (&["client", "ca"], &["ca.pem"], false, None),
        (&["client"], &["ca.pem"], true, None),
        (&[], &["ca.pem"], false, Some("UNABLE_TO_GET_ISSUER_CERT")),
        (&["expired"], &["ca.pem"], false, Some("CERT_HAS_EXPIRED")),
        (&["stranger"], &["ca.pem"], false, Some("UNABLE_TO_VERIFY_LEAF_SIGNATURE")),
        (&["stranger"], &["ca.pem"], true, Some("UNABLE_TO_VERIFY_LEAF_SIGNATURE")),
        (&["stranger", "other-ca"], &["ca.pem"], false, Some("SELF_SIGNED_CERT_IN_CHAIN")),
        (&["client"], &[], false, Some("UNABLE_TO_VERIFY_LEAF_SIGNATURE")),
        (&["self"], &["ca.pem"], false, Some("DEPTH_ZERO_SELF_SIGNED_CERT")),
        (&["self"], &["ca.pem", "self.pem"], false, None),
        (&["revoked"], &["ca.pem"], true, Some("CERT_REVOKED")),
        (&["revoked"], &["ca.pem"], false, None),
        (&["server"], &["ca.pem"], false, Some("INVALID_PURPOSE")),
        (&["stranger"], &["other-ca.pem"], true, Some("UNABLE_TO_GET_CRL")),
    ] {
        let ca: Vec<_> = ca.iter().map(|name| der(name)).collect();
        let lists = if with_list { vec![der("ca.crl")] } else { Vec::new() };
        let trust =
            Trust::new((&ca, &lists), (true, false), Arc::new(aws_lc_rs::default_provider())).unwrap();
        let found = trust.check(&chain(names), UnixTime::now()).err().map(|rejection| rejection.code);
        assert_eq!(found, expected, "{names:?} {with_list}");
    }
}

#[test]
fn sessions_are_told_apart_by_whom_a_context_trusts() {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let digest = |ca: &[&[u8]], crl: &[&[u8]], rejects| {
        Trust::new((ca, crl), (true, rejects), provider.clone()).unwrap().digest()
    };
    let (ca, other, list) = (der("ca.pem"), der("other-ca.pem"), der("ca.crl"));
    let all = [
        Trust::new((&[ca], &[]), (false, true), provider.clone()).unwrap().digest(),
        digest(&[], &[], true),
        digest(&[ca], &[], true),
        digest(&[ca], &[], false),
        digest(&[ca, other], &[], true),
        digest(&[ca], &[list], true),
    ];
    for (index, one) in all.iter().enumerate() {
        assert!(!all[..index].contains(one), "{index}");
    }
    assert_eq!(digest(&[ca], &[], true), all[2]);
}
