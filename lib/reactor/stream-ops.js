'use strict';

// Operations of connections in the reactor on their streams: write, end, destroy, resume. The reactor fills a block of
// memory with their bytes.

const { FastBuffer } = require('../base/constants');
const { throwLater } = require('../base/errors');
const { state } = require('./reactors');
const { connectionOf, connections } = require('./table');
const {
  OPS,
  OPS_FREE,
  OPS_WAIT,
  OPS_WANT_MEMORY,
  OP_RESUME,
  OP_SENT_SHIFT,
  OP_WORDS,
  OP_WRITE,
  MOST_OPS,
} = require('../base/layout');

/** @import { StreamConnection as Pump } from '../connection/state' */

/** Memory that streams are written from; `writes`: pending writes of its bytes. @typedef {{ memory: Buffer, writes: number }} Block */

const BLOCK_BYTES = 64 * 1024;

/** A loop copies this many bytes in the time that a view of them takes. */
const LOOP_BYTES = 96;

/** With this many in use, bytes are copied. */
const MAX_BLOCKS = 32;

const MASK_OF_COUNT = OPS_WANT_MEMORY - 1;
const MASK_OF_KIND = (1 << OP_SENT_SHIFT) - 1;

/** All lent memory. The native part keeps this list while the reactors run. @type {Buffer[]} */
let lent = [];
/** @type {Block[]} */
const blocks = [];
/** The block being filled. @type {Block} */
let current = { memory: Buffer.alloc(0), writes: 0 };

/**
 * Operations that wait, each with its stream.
 *
 * @type {{ pump: Pump | null | undefined, kind: number, sent: number, start: number, length: number, block: Block }[]}
 */
let waiting = [];
let isActing = false;
let wantsMemory = false;

/** The error that a stream threw when it was written to, if the caller catches it. @type {{ error: unknown } | null} */
let thrown = null;
let isCatching = false;

/** @param {Buffer[]} list */
function attach(list) {
  lent = list;
  renew();
}

/** Gives the reactors another block to fill. */
function renew() {
  current = newBlock();
  state.native.lendOps(current.memory);
}

/** @returns {Block} Without pending writes */
function newBlock() {
  const free = blocks.find(({ writes }) => writes === 0);
  if (free !== undefined) return free;
  const block = { memory: Buffer.allocUnsafeSlow(BLOCK_BYTES), writes: 0 };
  lent.push(block.memory);
  blocks.push(block);
  return block;
}

/** Whether to copy bytes, so that their block is free at once. */
function isScarce() {
  return blocks.length >= MAX_BLOCKS && !blocks.some((block) => block !== current && block.writes === 0);
}

/** @param {Block} block */
function written(block) {
  block.writes--;
  if (block === current && block.writes === 0 && !isActing && waiting.length === 0) state.words[OPS_FREE] = 1;
}

/** Takes the operations that the reactors' last call left. */
function collect() {
  const words = state.words;
  for (;;) {
    const word = words[OPS_WAIT];
    const count = word & MASK_OF_COUNT;
    words[OPS_WAIT] = 0;
    if (word >= OPS_WANT_MEMORY) wantsMemory = true;
    for (let at = OPS; at < OPS + OP_WORDS * count; at += OP_WORDS) {
      const tag = words[at + 1];
      waiting.push({
        pump: pumpOf(words[at]),
        kind: tag & MASK_OF_KIND,
        sent: tag >>> OP_SENT_SHIFT,
        start: words[at + 2],
        length: words[at + 3],
        block: current,
      });
    }
    if (count !== MOST_OPS) return;
    state.calls.takeOps();
  }
}

/** Runs the operations. If a stream calls this while it is written to, the outer call runs them. */
function runOps() {
  const words = state.words;
  if (words[OPS_WAIT] === 0) return;
  if (isActing) {
    collect();
    return;
  }
  isActing = true;
  try {
    if (words[OPS_WAIT] === 1 && waiting.length === 0) {
      // Most calls leave one operation, which needs no list.
      words[OPS_WAIT] = 0;
      const tag = words[OPS + 1];
      run(pumpOf(words[OPS]), tag & MASK_OF_KIND, tag >>> OP_SENT_SHIFT, words[OPS + 2], words[OPS + 3], current);
    } else {
      collect();
    }
    while (waiting.length !== 0 || wantsMemory) {
      const list = waiting;
      waiting = [];
      for (const { block, kind, length, pump, sent, start } of list) run(pump, kind, sent, start, length, block);
      if (waiting.length !== 0 || !wantsMemory) continue;
      // A stream that was written to might have made calls that leave more to do: its bytes are in the memory before.
      state.calls.takeOps();
      collect();
      if (waiting.length !== 0) continue;
      wantsMemory = false;
      renew();
      collect();
    }
  } finally {
    isActing = false;
  }
  if (current.writes === 0) words[OPS_FREE] = 1;
}

/** Undefined or null after the reactor has ended the connection. @type {(slot: number) => Pump | null | undefined} */
function pumpOf(slot) {
  return connectionOf(slot)?._extra?.stream;
}

/** @type {(pump: Pump | null | undefined, kind: number, sent: number, start: number, length: number, block: Block) => void} */
function run(pump, kind, sent, start, length, block) {
  try {
    if (kind === OP_WRITE) pump?.write(block, start, length, sent);
    else pump?.applyOp(kind);
  } catch (error) {
    // A stream can have methods of a program. Operations of other streams still run.
    if (!rethrows(error)) throwLater(error);
  }
}

/** Calls `flush`, and throws the error of a stream, as `send()` of ws does. @param {() => void} flush */
function throwing(flush) {
  // A stream can pass the bytes to another one, which answers.
  const outer = isCatching;
  isCatching = true;
  try {
    flush();
  } finally {
    isCatching = outer;
  }
  if (thrown === null) return;
  const { error } = thrown;
  thrown = null;
  throw error;
}

/** @param {unknown} error */
function rethrows(error) {
  if (isCatching) thrown ??= { error };
  return isCatching;
}

/** The process ends: streams get everything that waits for them. */
function finish() {
  for (const { _extra: extra } of connections()) extra?.stream?.takeAll();
}

/** @type {(block: Block, start: number, length: number) => Buffer} */
function viewOf({ memory }, start, length) {
  return new FastBuffer(memory.buffer, start, length);
}

/** @type {typeof viewOf} */
function copyOf(block, start, length) {
  const copy = Buffer.allocUnsafe(length);
  const { memory } = block;
  if (length > LOOP_BYTES) copy.set(viewOf(block, start, length));
  else for (let index = 0; index < length; index++) copy[index] = memory[start + index];
  return copy;
}

module.exports = { OP_RESUME, runOps, attach, copyOf, finish, isScarce, rethrows, throwing, viewOf, written };
