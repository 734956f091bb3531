//! Private keys from files, encrypted ones too: PKCS#8 with PBES2 (RFC 8018), as OpenSSL writes it.

use std::num::NonZeroU32;

use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, Algorithm, DecryptionContext, PaddedBlockDecryptingKey, UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::pbkdf2;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use zeroize::Zeroizing;

use super::der::{INTEGER, OBJECT, OCTETS, Reader, SEQUENCE};
use super::failure::BadOption;
use super::pem;

/// More would occupy the thread for seconds. OpenSSL takes 2,048.
const MOST_ITERATIONS: u32 = 10_000_000;

const CONVERT: &str = "openssl pkcs8 -topk8 -v2 aes-256-cbc";

/// The first private key in a file, PEM or DER.
///
/// # Errors
/// There is none, or the passphrase does not open it.
pub(super) fn read(file: &[u8], passphrase: Option<&str>) -> Result<PrivateKeyDer<'static>, BadOption> {
    let sections = pem::sections(file).map_err(|why| unsupported(&format!("key: {why}")))?;
    let Some(section) = sections.into_iter().find(|section| section.label.ends_with("PRIVATE KEY")) else {
        return read_der(file, passphrase);
    };
    if section.has_headers {
        return Err(unsupported(&format!(
            "key: the old encryption of PEM is not supported; convert the key with `{CONVERT}`"
        )));
    }
    let der = section.contents;
    match &*section.label {
        "PRIVATE KEY" => Ok(PrivatePkcs8KeyDer::from(der).into()),
        "RSA PRIVATE KEY" => Ok(PrivatePkcs1KeyDer::from(der).into()),
        "EC PRIVATE KEY" => Ok(PrivateSec1KeyDer::from(der).into()),
        "ENCRYPTED PRIVATE KEY" => open(&der, passphrase),
        other => Err(unsupported(&format!("key: a section with {other} is not supported"))),
    }
}

fn read_der(file: &[u8], passphrase: Option<&str>) -> Result<PrivateKeyDer<'static>, BadOption> {
    match PrivateKeyDer::try_from(file) {
        Ok(key) => Ok(key.clone_key()),
        Err(_) if Encrypted::parse(file).is_some() => open(file, passphrase),
        Err(_) => Err(unsupported("key: there is no private key in it, neither as PEM nor as DER")),
    }
}

fn open(der: &[u8], passphrase: Option<&str>) -> Result<PrivateKeyDer<'static>, BadOption> {
    let Some(encrypted) = Encrypted::parse(der) else {
        return Err(unsupported(&format!(
            "key: this encryption is not supported, only PBES2 with PBKDF2 and AES-CBC; convert the key with \
             `{CONVERT}`"
        )));
    };
    let bad = || BadOption::new("ERR_OSSL_BAD_DECRYPT", "passphrase: it does not open the key");
    let plain = encrypted.decrypt(passphrase.unwrap_or_default()).ok_or_else(bad)?;
    let key = PrivatePkcs8KeyDer::from(plain.to_vec());
    // The padding of a wrong passphrase may be good by chance.
    Reader(&plain).enter(SEQUENCE).and_then(|mut inside| inside.expect(INTEGER)).ok_or_else(bad)?;
    Ok(key.into())
}

fn unsupported(message: &str) -> BadOption {
    BadOption::new("ERR_OSSL_UNSUPPORTED", message)
}

/// `EncryptedPrivateKeyInfo` (RFC 5958).
struct Encrypted<'a> {
    salt: &'a [u8],
    iterations: NonZeroU32,
    hash: pbkdf2::Algorithm,
    cipher: &'static Algorithm,
    /// In bytes.
    key_len: usize,
    iv: [u8; 16],
    data: &'a [u8],
}

const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5, 13];
const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5, 12];
/// The last byte says which hash.
const HMAC: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 2];
/// Likewise the length of the key.
const AES: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1];

impl<'a> Encrypted<'a> {
    fn parse(der: &'a [u8]) -> Option<Self> {
        let mut outer = Reader(der).enter(SEQUENCE)?;
        let mut algorithm = outer.enter(SEQUENCE)?;
        let data = outer.expect(OCTETS)?;
        algorithm.expect(OBJECT).filter(|object| *object == PBES2)?;
        let mut parameters = algorithm.enter(SEQUENCE)?;
        let (mut derivation, mut scheme) = (parameters.enter(SEQUENCE)?, parameters.enter(SEQUENCE)?);
        derivation.expect(OBJECT).filter(|object| *object == PBKDF2)?;
        let mut derivation = derivation.enter(SEQUENCE)?;
        let salt = derivation.expect(OCTETS)?;
        let iterations =
            number(derivation.expect(INTEGER)?).filter(|count| count.get() <= MOST_ITERATIONS)?;
        let (cipher, key_len) = match scheme.expect(OBJECT)?.strip_prefix(AES)? {
            [2] => (&AES_128, 16),
            [22] => (&AES_192, 24),
            [42] => (&AES_256, 32),
            _ => return None,
        };
        let iv = scheme.expect(OCTETS)?.try_into().ok()?;
        Some(Self { salt, iterations, hash: hash(derivation)?, cipher, key_len, iv, data })
    }

    /// `None`: the passphrase is wrong.
    fn decrypt(&self, passphrase: &str) -> Option<Zeroizing<Vec<u8>>> {
        let mut key = Zeroizing::new([0; 32]);
        let key = key.get_mut(..self.key_len)?;
        pbkdf2::derive(self.hash, self.iterations, self.salt, passphrase.as_bytes(), key);
        let key = UnboundCipherKey::new(self.cipher, key).ok()?;
        let cipher = PaddedBlockDecryptingKey::cbc_pkcs7(key).ok()?;
        let mut data = Zeroizing::new(self.data.to_vec());
        let len = cipher.decrypt(&mut data, DecryptionContext::Iv128(FixedLength::from(self.iv))).ok()?.len();
        data.truncate(len);
        Some(data)
    }
}

/// After salt and count the length of the key may come, and the hash, unless it is SHA-1.
fn hash(mut rest: Reader<'_>) -> Option<pbkdf2::Algorithm> {
    while !rest.is_empty() {
        let (tag, contents) = rest.next()?;
        if tag == SEQUENCE {
            return match Reader(contents).expect(OBJECT)?.strip_prefix(HMAC)? {
                [7] => Some(pbkdf2::PBKDF2_HMAC_SHA1),
                [9] => Some(pbkdf2::PBKDF2_HMAC_SHA256),
                [10] => Some(pbkdf2::PBKDF2_HMAC_SHA384),
                [11] => Some(pbkdf2::PBKDF2_HMAC_SHA512),
                _ => None,
            };
        }
    }
    Some(pbkdf2::PBKDF2_HMAC_SHA1)
}

fn number(bytes: &[u8]) -> Option<NonZeroU32> {
    let value = bytes.iter().try_fold(0_u32, |sum, &byte| Some(sum.checked_mul(256)? + u32::from(byte)))?;
    NonZeroU32::new(value)
}
