'use strict';

const { checkOptions, checkTopic, limitOf, sinceOf } = require('./arguments');
const { FROM } = require('./records');
const { askHistory } = require('./requests');
const { positionOf, startOf } = require('./subscriptions');

/** @import { Server } from '../connection/state' */
/** @import { History, HistoryOptions } from '../../types/topics' */

/**
 * The messages that a topic has kept, from `since` on. No argument is checked yet.
 *
 * @type {(server: Server, name: string, options: HistoryOptions | null | undefined) => Promise<History>}
 * @throws {TypeError | RangeError}
 */
function history(server, name, options) {
  checkTopic(name);
  checkOptions(options, ['since', 'limit']);
  const since = sinceOf(options);
  const limit = limitOf(options);
  const topic = server._topics?.all.get(name);
  const ring = topic?.ring ?? null;
  if (topic === undefined || ring === null) return Promise.resolve({ recovered: false, position: null, messages: [] });
  const { epoch } = ring;
  const position = positionOf(topic);
  const { mode, offset } = startOf(topic, since ?? 'oldest');
  if (mode === FROM.NOW) return Promise.resolve({ recovered: false, position, messages: [] });
  return new Promise((resolve, reject) => {
    askHistory(topic, mode, offset, limit, (past) => {
      if (past === null) return reject(new Error('The reactor failed'));
      const messages = past.entries.map((entry) => {
        return { data: entry.data, isBinary: !entry.isText, position: { epoch, offset: entry.offset } };
      });
      resolve({ recovered: past.recovered, position, messages });
    });
  });
}

module.exports = { history };
