//! The header of the PROXY protocol, versions 1 and 2, in which a proxy names the client of
//! the connection that it forwards (haproxy.org/download/3.0/doc/proxy-protocol.txt).
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

/// Parses all bytes so far, which can be more than the header. The answer does not depend on how
/// they were split.
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

/// The source of `source destination port port`, all of which must be valid.
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
        // The addresses of such a header are ignored.
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
    address: u128,
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
        let (before, most) = if address.is_ipv4() { (MAPPED, 32) } else { (0, 128) };
        let bits = bits.map_or(Some(most), |bits| bits.parse().ok())?;
        (bits <= most).then(|| Self { address: as_ipv6(address), bits: before + bits })
    }

    /// An IPv4 address can be written as an IPv6 one. IPv6 networks contain no IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = as_ipv6(address);
        let is_ipv4 = self.bits >= MAPPED && is_mapped(self.address);
        // A shift by all bits would be none.
        let differ = (self.address ^ address).checked_shr(128 - u32::from(self.bits)).unwrap_or(0);
        is_ipv4 == is_mapped(address) && differ == 0
    }
}

fn as_ipv6(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

fn is_mapped(address: u128) -> bool {
    address >> 32 == 0xffff
}

#[cfg(test)]
mod tests;
