// The common part of servers with rooms: a connection names a room, and
// messages of a member go to all members.
import { URLSearchParams } from 'node:url';

import { asked } from '../contract.mjs';

/** Further duties of the server: `history`, `drop`, `recovery`, `memory`, `streams`, and `redis=` with the path of a socket of Redis. */
export const words = new Set([asked.task, ...process.argv.slice(3)]);

/** The most bytes that may wait for a slow member, where there is a limit. */
export const LIMIT = 65_536;

/** Redis's socket, if the server is one of several nodes. */
export const redisPath = [...words].find((word) => word.startsWith('redis='))?.slice('redis='.length);

/**
 * @param {string | undefined} url
 * @returns {{ room: string, since: { epoch: string, offset: number } | undefined }}
 */
export function wanted(url) {
  const query = new URLSearchParams(url?.split('?')[1]);
  const [epoch, offset] = query.get('since')?.split(':') ?? [];
  return { room: query.get('room') ?? '', since: offset ? { epoch, offset: Number(offset) } : undefined };
}

/**
 * In place of a room: subscribes to as many topics as a message asks
 * for, collects garbage, and answers.
 *
 * @param {string} message A prefix and a count
 * @param {(topic: string) => void} subscribe
 * @param {(answer: string) => void} answer
 */
export function remember(message, subscribe, answer) {
  const [prefix, count] = message.split(' ');
  for (let number = 0; number < Number(count); number++) subscribe(`${prefix}-${number}`);
  if (Number(count) === 0) for (let times = 0; times < 4; times++) globalThis.gc?.();
  answer('done');
}
