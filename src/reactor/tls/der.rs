//! The fields of a certificate that no library of ours gives, of any X.509 version: DER (X.690) as far as they need it.

const BOOLEAN: u8 = 0x01;
const BITS: u8 = 0x03;
const OCTETS: u8 = 0x04;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
/// The version of a certificate.
const CONTEXT_0: u8 = 0xa0;
/// Its extensions.
const CONTEXT_3: u8 = 0xa3;

const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
const EXTENDED_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];
const NETSCAPE_TYPE: &[u8] = &[0x60, 0x86, 0x48, 1, 0x86, 0xf8, 0x42, 1, 1];
const CLIENT_AUTHENTICATION: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];

/// Goes through the elements of a sequence.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next element: its tag and its contents. `None` at the end, and for anything but DER.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], mut rest) = self.0.split_first_chunk::<2>()?;
        let mut len = usize::from(first);
        if first >= 0x80 {
            // Four bytes are more than any message of a handshake.
            let (bytes, after) =
                rest.split_at_checked(usize::from(first & 0x7f)).filter(|_| first <= 0x84)?;
            len = bytes.iter().fold(0, |len, &byte| len << 8 | usize::from(byte));
            rest = after;
        }
        let (contents, after) = rest.split_at_checked(len)?;
        self.0 = after;
        Some((tag, contents))
    }

    fn read(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, contents)| contents)
    }

    fn enter(&mut self, tag: u8) -> Option<Self> {
        self.read(tag).map(Self)
    }
}

/// Fields of a certificate (RFC 5280, section 4.1).
pub(super) struct Certificate<'a> {
    pub(super) issuer: &'a [u8],
    pub(super) subject: &'a [u8],
    /// A whole `SubjectPublicKeyInfo`.
    pub(super) key: &'a [u8],
    has_version: bool,
    extensions: Reader<'a>,
}

impl<'a> Certificate<'a> {
    pub(super) fn parse(der: &'a [u8]) -> Option<Self> {
        let mut whole = Reader(der);
        let mut fields = whole.enter(SEQUENCE).filter(|_| whole.0.is_empty())?.enter(SEQUENCE)?;
        let has_version = fields.next()?.0 == CONTEXT_0;
        if has_version {
            let _serial = fields.next()?;
        }
        let _algorithm = fields.read(SEQUENCE)?;
        let issuer = fields.read(SEQUENCE)?;
        let _validity = fields.read(SEQUENCE)?;
        let subject = fields.read(SEQUENCE)?;
        let before = fields.0;
        let _key = fields.read(SEQUENCE)?;
        let key = before.get(..before.len() - fields.0.len())?;
        let mut extensions = Reader(&[]);
        while let Some((tag, contents)) = fields.next() {
            if tag == CONTEXT_3 {
                extensions = Reader(contents).enter(SEQUENCE)?;
            }
        }
        Some(Self { issuer, subject, key, has_version, extensions })
    }

    /// The algorithm of the key, and its bits.
    pub(super) fn key_parts(&self) -> Option<(&'a [u8], &'a [u8])> {
        let mut key = Reader(self.key).enter(SEQUENCE)?;
        let algorithm = key.read(SEQUENCE)?;
        Some((algorithm, key.read(BITS)?.strip_prefix(&[0])?))
    }

    pub(super) fn is_self_issued(&self) -> bool {
        self.issuer == self.subject
    }

    /// Whether OpenSSL takes it for a client's, by its stated purpose.
    pub(super) fn is_for_clients(&self) -> bool {
        // To sign, or to agree on a key.
        self.first_bits(KEY_USAGE).is_none_or(|bits| bits & 0x88 != 0)
            && self.first_bits(NETSCAPE_TYPE).is_none_or(|bits| bits & 0x80 != 0)
            && self.extension(EXTENDED_KEY_USAGE).is_none_or(|mut value| {
                let mut purposes = value.enter(SEQUENCE).unwrap_or(Reader(&[]));
                std::iter::from_fn(|| purposes.read(OBJECT)).any(|purpose| purpose == CLIENT_AUTHENTICATION)
            })
    }

    /// Whether OpenSSL takes it for the certificate of an authority.
    pub(super) fn is_of_authority(&self) -> bool {
        let may_sign = self.first_bits(KEY_USAGE).map(|bits| bits & 0x04 != 0);
        match self.extension(BASIC_CONSTRAINTS) {
            Some(mut value) => {
                let flag = value.enter(SEQUENCE).and_then(|mut constraints| constraints.read(BOOLEAN));
                may_sign != Some(false) && flag.is_some_and(|flag| flag != [0])
            }
            None => may_sign.unwrap_or_else(|| !self.has_version && self.is_self_issued()),
        }
    }

    fn extension(&self, object: &[u8]) -> Option<Reader<'a>> {
        let mut extensions = self.extensions;
        loop {
            let mut extension = extensions.enter(SEQUENCE)?;
            if extension.read(OBJECT)? == object {
                // A boolean can come first.
                let values = std::iter::from_fn(|| extension.next());
                return values.last().filter(|(tag, _)| *tag == OCTETS).map(|(_, value)| Reader(value));
            }
        }
    }

    fn first_bits(&self, object: &[u8]) -> Option<u8> {
        let mut value = self.extension(object)?;
        Some(value.read(BITS).and_then(|bits| bits.get(1)).copied().unwrap_or(0))
    }
}

#[cfg(test)]
mod tests;
