// Self-signed certificates for localhost, and their keys: for tests only, without value elsewhere.
import { readFileSync } from 'node:fs';

const read = (name) => readFileSync(new URL(`../fixtures/certificates/${name}`, import.meta.url), 'latin1');

export const [cert, key] = [read('localhost.crt'), read('localhost.key')];
export const [otherCert, otherKey] = [read('localhost-other.crt'), read('localhost-other.key')];
/** RSA, 2048 bits. */
export const [rsaCert, rsaKey] = [read('localhost-rsa.crt'), read('localhost-rsa.key')];
