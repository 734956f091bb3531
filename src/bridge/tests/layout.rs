use std::collections::HashMap;
use std::net::SocketAddr;

use proptest::prelude::*;

use crate::bridge::layout::{
    OPENED_FAMILY, OPENED_GENERATION, OPENED_LISTENER, OPENED_LOCAL_PORT, OPENED_PROTOCOL_LENGTH,
    OPENED_REMOTE_PORT, OPENED_REQUEST_LENGTH, OPENED_TAIL_LENGTH, OPENED_TLS_LENGTH, Opened, all_constants,
    pack, unpack,
};

#[test]
fn opened_is_laid_out_as_the_constants_say() {
    let opened = Opened {
        generation: 0x0102_0304,
        listener: 5,
        local: "127.0.0.1:80".parse().ok(),
        remote: "10.0.0.2:40000".parse().ok(),
        request: b"GET\0/\x001",
        protocol: b"chat",
        tail: b"permessage-deflate",
        tls: b"secure",
    };
    let mut bytes = b"before".to_vec();
    opened.encode(&mut bytes);
    let bytes = &bytes[6..];
    assert_eq!(bytes.len(), opened.encoded_len());
    let field = |offset: usize| u32::from_le_bytes(bytes[offset..offset + 4].try_into().unwrap());
    let fields = [
        OPENED_GENERATION,
        OPENED_LISTENER,
        OPENED_LOCAL_PORT,
        OPENED_REMOTE_PORT,
        OPENED_FAMILY,
        OPENED_REQUEST_LENGTH,
        OPENED_PROTOCOL_LENGTH,
        OPENED_TAIL_LENGTH,
        OPENED_TLS_LENGTH,
    ];
    assert_eq!(fields.map(field), [0x0102_0304, 5, 80, 40000, 4, 7, 4, 18, 6]);
    assert_eq!(&bytes[36..40], [127, 0, 0, 1]);
    assert_eq!(&bytes[52..56], [10, 0, 0, 2]);
    assert_eq!(&bytes[68..], b"GET\0/\x001chatpermessage-deflatesecure");
}

/// Family, ports and addresses in their written form.
fn ends(local: Option<&str>, remote: Option<&str>) -> (u8, [u8; 2], [u8; 16], [u8; 16]) {
    let parse = |address: Option<&str>| address.map(|address| address.parse::<SocketAddr>().unwrap());
    let (local, remote) = (parse(local), parse(remote));
    let mut bytes = Vec::new();
    Opened { generation: 0, listener: 0, local, remote, request: b"", protocol: b"", tail: b"", tls: b"" }
        .encode(&mut bytes);
    (bytes[16], [bytes[8], bytes[12]], bytes[36..52].try_into().unwrap(), bytes[52..68].try_into().unwrap())
}

#[test]
fn addresses_may_be_ipv6_unknown_or_mixed() {
    let mut one = [0; 16];
    one[15] = 1;
    let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 1, 2, 3, 4];
    let v4 = [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(ends(Some("[::1]:1"), Some("[::1]:2")), (6, [1, 2], one, one));
    assert_eq!(ends(None, None), (0, [0, 0], [0; 16], [0; 16]));
    assert_eq!(ends(Some("1.2.3.4:1"), None), (4, [1, 0], v4, [0; 16]));
    assert_eq!(ends(Some("[::1]:1"), Some("1.2.3.4:2")), (6, [1, 2], one, mapped));
}

/// The constants of more than one file.
#[test]
fn no_two_kinds_of_records_have_one_number() {
    const OTHERS: [&str; 4] = ["IN_FLAG_", "OUT_FLAG_", "OUT_HEADER_BYTES", "OUT_ALIGN"];
    for direction in ["IN_", "OUT_"] {
        let mut taken = HashMap::new();
        for (name, number) in all_constants() {
            if name.starts_with(direction) && !OTHERS.iter().any(|other| name.starts_with(other)) {
                assert_eq!(taken.insert(number, name), None, "{name} is {number}");
            }
        }
        assert!(taken.len() > 10, "{taken:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..<_>::default() })]

    #[test]
    fn kind_flags_and_aux_share_a_word(kind: u8, flags: u8, aux: u16) {
        prop_assert_eq!(unpack(pack(kind, flags, aux)), (kind, flags, aux));
    }
}
