// Values as text that can be compared: everything that a program can see of a value, without
// anything that depends on chance.
import { createHash } from 'node:crypto';

const LONG = 200;

/** One line for any value. */
export function show(value) {
  if (typeof value === 'string') return JSON.stringify(shorten(value));
  if (typeof value === 'function') return '[function]';
  if (value === null || typeof value !== 'object') return String(value);
  if (Buffer.isBuffer(value)) return `Buffer ${bytes(value)}`;
  if (value instanceof ArrayBuffer) return `ArrayBuffer ${bytes(Buffer.from(value))}`;
  if (ArrayBuffer.isView(value)) return `${nameOf(value)} ${bytes(value)}`;
  if (value instanceof Error) return showError(value);
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`;
  if (value instanceof Set) return `Set {${[...value].map(show).join(', ')}}`;
  const name = nameOf(value);
  if (name !== 'Object' && name !== 'null') return `[${name}]`;
  return `{${Object.entries(value).map(([key, one]) => `${key}: ${show(one)}`).join(', ')}}`;
}

/** The result of a call, or its error. */
export function outcome(act) {
  try {
    return show(act());
  } catch (error) {
    return `throws ${show(error)}`;
  }
}

/** The bytes of frames in hex, one string per frame; an incomplete one at the end as it is. */
export function frameList(data) {
  const frames = [];
  for (let at = 0; at < data.length; ) {
    const next = at + frameLength(data.subarray(at));
    frames.push(hex(data.subarray(at, next)));
    at = next;
  }
  return frames;
}

/** The frames of a client without their random masks: header byte, masked or not, payload. */
export function unmaskedList(data) {
  const frames = [];
  for (let at = 0; at < data.length; ) {
    const frame = data.subarray(at, at + frameLength(data.subarray(at)));
    at += frame.length;
    if ((frame[1] & 0x80) === 0) {
      frames.push(`unmasked ${hex(frame)}`);
      continue;
    }
    const header = headerLength(frame);
    const key = frame.subarray(header - 4, header);
    const payload = frame.subarray(header).map((byte, index) => byte ^ key[index & 3]);
    frames.push(`masked ${hex(frame.subarray(0, header - 4))} ${hex(payload)}`);
  }
  return frames;
}

/** Length of the first frame, as far as it is there; without a whole header, that of the rest. */
export function frameLength(data) {
  const header = data.length < 2 ? data.length : headerLength(data);
  if (data.length < 2 || data.length < header) return Math.max(data.length, 1);
  const short = data[1] & 0x7f;
  if (short < 126) return header + short;
  return header + (short === 126 ? data.readUInt16BE(2) : Number(data.readBigUInt64BE(2)));
}

function headerLength(data) {
  const short = data[1] & 0x7f;
  return 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + ((data[1] & 0x80) === 0 ? 0 : 4);
}

function showError(error) {
  const code = error.code === undefined ? '' : ` ${error.code}`;
  return `${nameOf(error)}${code}: ${error.message}`;
}

function nameOf(value) {
  return Object.getPrototypeOf(value)?.constructor?.name ?? 'null';
}

function bytes(data) {
  const text = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const latin1 = text.toString('latin1');
  return /^[\x20-\x7e]+$/.test(latin1) ? JSON.stringify(shorten(latin1)) : `<${hex(text)}>`;
}

function hex(data) {
  return shorten(Buffer.from(data).toString('hex'));
}

function shorten(text) {
  if (text.length <= LONG) return text;
  const digest = createHash('sha1').update(text).digest('hex').slice(0, 12);
  return `${text.slice(0, 40)}...${text.length} characters, sha1 ${digest}`;
}
