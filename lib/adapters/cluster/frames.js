'use strict';

// What nodes of a cluster say to each other: the length of what follows, a kind, and a body.

const HELLO = 1;
/** The node has named all its topics. */
const READY = 2;
const SUBSCRIBE = 3;
const UNSUBSCRIBE = 4;
const ACK = 5;
const MESSAGE = 6;
/** Messages of these topics are missing; of all, if there are none. */
const LOST = 7;
const BYE = 8;

const LENGTH_BYTES = 4;
const HEADER_BYTES = LENGTH_BYTES + 1;

/** Takes frames from a stream of bytes. */
class Frames {
  /** @param {(kind: number, body: Buffer) => void} onFrame */
  constructor(onFrame) {
    this.onFrame = onFrame;
    /** @type {Buffer[]} */
    this.pieces = [];
    this.bytes = 0;
    /** Bytes of the next frame, once its length is there. */
    this.wanted = LENGTH_BYTES;
  }

  /** @param {Buffer} chunk */
  push(chunk) {
    this.pieces.push(chunk);
    this.bytes += chunk.length;
    if (this.bytes < this.wanted) return;
    const all = this.pieces.length === 1 ? chunk : Buffer.concat(this.pieces);
    let start = 0;
    this.wanted = LENGTH_BYTES;
    while (all.length - start >= LENGTH_BYTES) {
      const end = start + LENGTH_BYTES + all.readUInt32LE(start);
      if (end > all.length) {
        this.wanted = end - start;
        break;
      }
      this.onFrame(all[start + LENGTH_BYTES], all.subarray(start + HEADER_BYTES, end));
      start = end;
    }
    this.pieces = start === all.length ? [] : [all.subarray(start)];
    this.bytes = all.length - start;
  }
}

/** @type {(kind: number, body?: Buffer) => Buffer} */
function frame(kind, body = Buffer.alloc(0)) {
  const head = Buffer.allocUnsafe(HEADER_BYTES);
  head.writeUInt32LE(1 + body.length, 0);
  head[LENGTH_BYTES] = kind;
  return Buffer.concat([head, body]);
}

/** @type {(numbers: number[]) => Buffer} */
function numbersOf(numbers) {
  const body = Buffer.allocUnsafe(4 * numbers.length);
  for (const [index, number] of numbers.entries()) body.writeUInt32LE(number, 4 * index);
  return body;
}

/** @type {(body: Buffer) => number[]} */
function numbersIn(body) {
  return Array.from({ length: Math.floor(body.length / 4) }, (_, index) => body.readUInt32LE(4 * index));
}

module.exports = { ACK, BYE, Frames, HELLO, LOST, MESSAGE, READY, SUBSCRIBE, UNSUBSCRIBE, frame, numbersIn, numbersOf };
