//! The header of the PROXY protocol, versions 1 and 2, in which a proxy names the client whose
//! connection it forwards (haproxy.org/download/3.0/doc/proxy-protocol.txt).
//!
//! ```text
//! "PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n"
//! 0D 0A 0D 0A 00 0D 0A 51 55 49 54 0A, version and command, family, length, addresses, TLVs
//! ```

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The longest line of version 1, its end included.
const MAX_LINE: usize = 107;
/// The longest header of version 2 that is read; proxies send some hundred bytes.
const MAX_BLOCK: usize = 4096;

const WORD: &[u8] = b"PROXY ";
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Signature, version and command, family and protocol, length of what follows.
const FIXED: usize = 16;

const LOCAL: u8 = 0x20;
const PROXY: u8 = 0x21;
const UNSPECIFIED: u8 = 0x00;
const TCP_4: u8 = 0x11;
const TCP_6: u8 = 0x21;
const UNIX_STREAM: u8 = 0x31;
/// Two paths.
const UNIX_LEN: usize = 216;
/// Bits before the IPv4 address in an IPv4-mapped IPv6 address.
const MAPPED: u8 = 96;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parsed {
    Incomplete,
    /// No header, or not by the rules.
    Invalid,
    /// A header of this many bytes, and the client's address if the connection is forwarded TCP.
    Header(usize, Option<SocketAddr>),
}

/// Parses all bytes that have come, which may be more than the header. The answer does not depend
/// on how they were split.
pub fn parse(bytes: &[u8]) -> Parsed {
    match bytes.first() {
        None => Parsed::Incomplete,
        Some(b'P') => parse_line(bytes),
        Some(_) => parse_block(bytes),
    }
}

/// Whether `bytes` and `wanted` are the same as far as both go.
fn agrees(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.iter().zip(wanted).all(|(one, other)| one == other)
}

fn parse_line(bytes: &[u8]) -> Parsed {
    if !agrees(bytes, WORD) {
        return Parsed::Invalid;
    }
    let bytes = bytes.get(..MAX_LINE).unwrap_or(bytes);
    let Some(end) = bytes.iter().position(|&byte| byte == b'\n') else {
        return if bytes.len() < MAX_LINE { Parsed::Incomplete } else { Parsed::Invalid };
    };
    let line = bytes.get(WORD.len()..end).and_then(|line| line.strip_suffix(b"\r"));
    let Some(line) = line.and_then(|line| std::str::from_utf8(line).ok()) else { return Parsed::Invalid };
    let mut fields = line.split(' ');
    let address = match fields.next() {
        // The rest of the line is ignored.
        Some("UNKNOWN") => return Parsed::Header(end + 1, None),
        Some("TCP4") => addresses::<Ipv4Addr>(&mut fields),
        Some("TCP6") => addresses::<Ipv6Addr>(&mut fields),
        _ => None,
    };
    match (address, fields.next()) {
        (Some(address), None) => Parsed::Header(end + 1, Some(address)),
        _ => Parsed::Invalid,
    }
}

/// The source of `source destination port port`, all of which must be right.
fn addresses<'a, T>(fields: &mut impl Iterator<Item = &'a str>) -> Option<SocketAddr>
where
    T: std::str::FromStr + Into<IpAddr>,
{
    let source: T = fields.next()?.parse().ok()?;
    let _destination: T = fields.next()?.parse().ok()?;
    let port = port(fields.next()?)?;
    let _destination_port = self::port(fields.next()?)?;
    Some(SocketAddr::new(source.into(), port))
}

/// Digits without a leading zero.
fn port(text: &str) -> Option<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| is_plain)
}

fn parse_block(bytes: &[u8]) -> Parsed {
    if !agrees(bytes, SIGNATURE) {
        return Parsed::Invalid;
    }
    let Some((fixed, rest)) = bytes.split_first_chunk::<FIXED>() else { return Parsed::Incomplete };
    let [.., command, family, high, low] = *fixed;
    let len = usize::from(u16::from_be_bytes([high, low]));
    let needed = match (command, family) {
        // Its addresses are ignored.
        (LOCAL, _) | (PROXY, UNSPECIFIED) => 0,
        (PROXY, TCP_4) => 12,
        (PROXY, TCP_6) => 36,
        (PROXY, UNIX_STREAM) => UNIX_LEN,
        _ => return Parsed::Invalid,
    };
    if len < needed || FIXED + len > MAX_BLOCK {
        return Parsed::Invalid;
    }
    let Some(addresses) = rest.get(..len) else { return Parsed::Incomplete };
    let address = match (command, family) {
        (PROXY, TCP_4) => source::<4>(addresses),
        (PROXY, TCP_6) => source::<16>(addresses),
        _ => None,
    };
    // TLVs follow, of which none matters here.
    Parsed::Header(FIXED + len, address)
}

/// The source of two addresses of `N` bytes and two ports.
fn source<const N: usize>(bytes: &[u8]) -> Option<SocketAddr>
where
    IpAddr: From<[u8; N]>,
{
    let (source, rest) = bytes.split_first_chunk::<N>()?;
    let port = rest.get(N..)?.first_chunk()?;
    Some(SocketAddr::new(IpAddr::from(*source), u16::from_be_bytes(*port)))
}

/// An address, or all addresses with the same first bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    /// Parses `10.0.0.0/8`, `fd00::/8`, or an address.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(most), |bits| bits.parse().ok())?;
        // Peers are compared as IPv4 addresses where they have one.
        match (address.to_canonical(), address) {
            (v4 @ IpAddr::V4(_), IpAddr::V6(_)) if (MAPPED..=most).contains(&bits) => {
                Some(Self { address: v4, bits: bits - MAPPED })
            }
            _ => (bits <= most).then_some(Self { address, bits }),
        }
    }

    /// An IPv4 address may be written as an IPv6 one.
    pub fn contains(&self, address: IpAddr) -> bool {
        let shared = |one: u128, other: u128, width: u32| {
            let rest = width - u32::from(self.bits);
            // A shift by all bits would be none.
            (one ^ other).checked_shr(rest).unwrap_or(0) == 0
        };
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(one), IpAddr::V4(other)) => {
                shared(u32::from(one).into(), u32::from(other).into(), 32)
            }
            (IpAddr::V6(one), IpAddr::V6(other)) => shared(one.into(), other.into(), 128),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(command: u8, family: u8, len: u16, addresses: &[u8]) -> Vec<u8> {
        [SIGNATURE, &[command, family], &len.to_be_bytes(), addresses].concat()
    }

    /// At every split the answer is "incomplete" and then the same.
    fn at_every_split(bytes: &[u8], expected: Parsed) {
        for cut in 0..bytes.len() {
            assert_eq!(parse(&bytes[..cut]), Parsed::Incomplete, "{cut} of {}", bytes.len());
        }
        assert_eq!(parse(bytes), expected);
        let more = [bytes, b"GET / HTTP/1.1\r\n\r\n"].concat();
        assert_eq!(parse(&more), expected);
    }

    #[test]
    fn headers_at_every_split() {
        let header = |bytes: &[u8], address: Option<&str>| {
            at_every_split(bytes, Parsed::Header(bytes.len(), address.map(|text| text.parse().unwrap())));
        };
        header(b"PROXY TCP4 192.0.2.1 10.0.0.1 56324 443\r\n", Some("192.0.2.1:56324"));
        header(b"PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", Some("255.255.255.255:65535"));
        header(b"PROXY TCP6 2001:db8::1 ::1 1 0\r\n", Some("[2001:db8::1]:1"));
        header(b"PROXY UNKNOWN\r\n", None);
        header(b"PROXY UNKNOWN ffff::1 whatever that may be\r\n", None);
        let v4 = [192, 0, 2, 1, 10, 0, 0, 1, 0xdc, 4, 1, 0xbb];
        header(&block(PROXY, TCP_4, 12, &v4), Some("192.0.2.1:56324"));
        let with_tlv = [&v4[..], &[4, 0, 3, 1, 2, 3]].concat();
        header(&block(PROXY, TCP_4, 18, &with_tlv), Some("192.0.2.1:56324"));
        let mut v6 = [0; 36];
        (v6[15], v6[33]) = (1, 80);
        header(&block(PROXY, TCP_6, 36, &v6), Some("[::1]:80"));
        header(&block(PROXY, UNIX_STREAM, 216, &[7; 216]), None);
        header(&block(PROXY, UNSPECIFIED, 5, &[7; 5]), None);
        header(&block(LOCAL, 0x77, 0, &[]), None);
        header(&block(LOCAL, TCP_4, 12, &v4), None);
        header(&block(PROXY, UNSPECIFIED, 4080, &[7; 4080]), None);
    }

    #[test]
    fn what_is_no_header_is_refused_as_soon_as_it_is_seen() {
        for text in [
            "GET / HTTP/1.1\r\n",
            "proxy",
            "PROXy",
            "PROXY\r\n",
            "PROXY TCP4 192.0.2.1 10.0.0.1 56324 443\n",
            "PROXY TCP4 192.0.2.1 10.0.0.1 56324\r\n",
            "PROXY TCP4 192.0.2.1 10.0.0.1 56324 443 \r\n",
            "PROXY TCP4  192.0.2.1 10.0.0.1 56324 443\r\n",
            "PROXY TCP4 192.0.2.01 10.0.0.1 56324 443\r\n",
            "PROXY TCP4 ::1 ::1 56324 443\r\n",
            "PROXY TCP6 192.0.2.1 10.0.0.1 56324 443\r\n",
            "PROXY TCP4 192.0.2.1 10.0.0.1 65536 443\r\n",
            "PROXY TCP4 192.0.2.1 10.0.0.1 080 443\r\n",
            "PROXY TCP4 192.0.2.1 10.0.0.1 +80 443\r\n",
            "PROXY UDP4 192.0.2.1 10.0.0.1 80 443\r\n",
            "\r\n\r\nGET",
            "\u{16}\u{3}\u{1}",
        ] {
            assert_eq!(parse(text.as_bytes()), Parsed::Invalid, "{text}");
        }
        let long = [b"PROXY UNKNOWN ", &[b'x'; 91][..], b"\r\n"].concat();
        assert_eq!((long.len(), parse(&long)), (107, Parsed::Header(107, None)));
        assert_eq!(parse(&[b"PROXY UNKNOWN ", &[b'x'; 93][..]].concat()), Parsed::Invalid);
        for (command, family, len) in [
            (0x22, TCP_4, 12),
            (0x11, TCP_4, 12),
            (0x31, TCP_4, 12),
            (PROXY, TCP_4, 11),
            (PROXY, TCP_6, 35),
            (PROXY, UNIX_STREAM, 215),
            (PROXY, 0x12, 12),
            (PROXY, 0x41, 12),
            (PROXY, UNSPECIFIED, 4081),
            (LOCAL, UNSPECIFIED, u16::MAX),
        ] {
            assert_eq!(parse(&block(command, family, len, &[])), Parsed::Invalid, "{command} {family} {len}");
        }
    }

    #[test]
    fn networks() {
        let within = |network, address: &str| {
            Network::parse(network).expect(network).contains(address.parse().unwrap())
        };
        assert!(within("10.0.0.0/8", "10.255.0.1") && !within("10.0.0.0/8", "11.0.0.0"));
        assert!(within("127.0.0.1", "::ffff:127.0.0.1") && !within("127.0.0.1", "127.0.0.2"));
        assert!(within("::ffff:127.0.0.1", "127.0.0.1") && !within("::ffff:127.0.0.1", "127.0.0.2"));
        assert!(within("::ffff:10.0.0.0/104", "::ffff:10.255.0.1") && within("::ffff:0:0/96", "1.2.3.4"));
        assert!(!within("::ffff:10.0.0.0/104", "11.0.0.1") && !within("::ffff:10.0.0.0/104", "::a00:1"));
        assert!(within("0.0.0.0/0", "1.2.3.4") && !within("0.0.0.0/0", "::2"));
        assert!(within("::/0", "::2") && !within("::/0", "1.2.3.4"));
        assert!(within("fd00::/8", "fdff::1") && !within("fd00::/8", "fe00::1"));
        assert!(within("::1", "::1") && !within("::1/128", "::2"));
        for wrong in ["", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "localhost", "10.0.0/8"] {
            assert_eq!(Network::parse(wrong), None, "{wrong}");
        }
    }
}
