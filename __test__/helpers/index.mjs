// What specs import: the implementation under test, servers by every way in, peers, and kinds of tests.
import test from 'ava';

import { isReference } from './impl.mjs';

export * from './byte-peer.mjs';
export * from './certificate.mjs';
export * from './child.mjs';
export * from './clients.mjs';
export * from './impl.mjs';
export * from './own-host.mjs';
export * from './random.mjs';
export * from './raw-client.mjs';
export * from './stalls.mjs';
export * from './streams.mjs';
export * from './topics.mjs';
export * from './uncaught.mjs';
export * from './under-attack.mjs';
export * from './ways.mjs';

export { test };

const { platform } = process;

/** Tests of what ws does not have, or does otherwise; serial where they are one after the other. */
export const ownOnly = isReference ? test.skip : test;
export const ownSerial = isReference ? test.serial.skip : test.serial;

/** The same where the system has what they look at. */
export const ownOnLinux = platform === 'linux' ? ownOnly : test.skip;
export const ownOnLinuxSerial = platform === 'linux' ? ownSerial : test.serial.skip;
export const ownOnPosix = platform === 'win32' ? test.skip : ownOnly;
export const onPosix = platform === 'win32' ? test.skip : test;
