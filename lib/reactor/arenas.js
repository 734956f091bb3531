'use strict';

/** Bytes of the arena in which the records of one flush are collected: what a full batch is answered with fits. */
const ARENA_BYTES = 320 * 1024;

/** Arenas that there may be: one is filled here, the others are on their way. A reactor that has them all gets copies. */
const ARENAS = 4;

/** The words of all arenas, by number. @type {Uint32Array[]} */
const arenaWords = [];

/**
 * One more, if there may be.
 *
 * @param {any} native The reactor that it is lent to
 * @param {any[]} arenas All arenas, by number. Nobody but this list refers to them, so nobody can look at one or detach it while the
 *   reactor reads it
 */
function lendArena(native, arenas) {
  if (arenas.length === ARENAS) return;
  const memory = Buffer.allocUnsafeSlow(ARENA_BYTES);
  const id = arenas.push(memory) - 1;
  arenaWords.push(new Uint32Array(memory.buffer));
  native.lendArena(id, memory);
}

module.exports = { ARENA_BYTES, arenaWords, lendArena };
