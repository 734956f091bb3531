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
    let within =
        |network, address: &str| Network::parse(network).expect(network).contains(address.parse().unwrap());
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
