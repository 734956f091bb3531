'use strict';

// Parameters of a handshake: from the numbers of IANA to the names of Node.

const TLS_1_2 = 0x0303;

/** Oldest first. @type {Map<string, number>} */
const VERSIONS = new Map([
  ['TLSv1.2', TLS_1_2],
  ['TLSv1.3', 0x0304],
]);

/** Names of OpenSSL, and of IANA where they differ. @type {Map<number, { name: string, standardName: string, version: string }>} */
const SUITES = new Map(
  [
    suite(0x1301, 'TLS_AES_128_GCM_SHA256'),
    suite(0x1302, 'TLS_AES_256_GCM_SHA384'),
    suite(0x1303, 'TLS_CHACHA20_POLY1305_SHA256'),
    suite(0xc02b, 'ECDHE-ECDSA-AES128-GCM-SHA256', 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256'),
    suite(0xc02c, 'ECDHE-ECDSA-AES256-GCM-SHA384', 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'),
    suite(0xc02f, 'ECDHE-RSA-AES128-GCM-SHA256', 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'),
    suite(0xc030, 'ECDHE-RSA-AES256-GCM-SHA384', 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384'),
    suite(0xcca8, 'ECDHE-RSA-CHACHA20-POLY1305', 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256'),
    suite(0xcca9, 'ECDHE-ECDSA-CHACHA20-POLY1305', 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256'),
  ],
);

/** As in `getEphemeralKeyInfo()` of Node; `size` in bits. @type {Map<number, { type: string, name: string, size: number }>} */
const GROUPS = new Map([
  [23, { type: 'ECDH', name: 'prime256v1', size: 256 }],
  [24, { type: 'ECDH', name: 'secp384r1', size: 384 }],
  [25, { type: 'ECDH', name: 'secp521r1', size: 521 }],
  [29, { type: 'ECDH', name: 'X25519', size: 253 }],
  [0x11ec, { type: 'KEM', name: 'X25519MLKEM768', size: 768 }],
]);

/** @type {(number: number, name: string, standardName?: string) => [number, { name: string, standardName: string, version: string }]} */
function suite(number, name, standardName = name) {
  return [number, { name, standardName, version: standardName === name ? 'TLSv1.3' : 'TLSv1.2' }];
}

/** @param {number} number */
function versionName(number) {
  return [...VERSIONS].find(([, known]) => known === number)?.[0];
}

/** By a name of OpenSSL or IANA. @param {string} name */
function suiteOf(name) {
  return [...SUITES].find(([, known]) => known.name === name || known.standardName === name)?.[0];
}

/** Suites of TLS 1.3, the preferred one first. */
const MODERN_SUITES = [0x1302, 0x1301, 0x1303];

module.exports = { GROUPS, MODERN_SUITES, SUITES, TLS_1_2, VERSIONS, suiteOf, versionName };
