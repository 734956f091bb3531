'use strict';

// The data of `publish()` and `broadcast()`, in the form in which it is sent to all.

const { BINARY, TEXT, isBlob, tagOf, toBytes } = require('../connection/arguments');
const { PreparedMessage } = require('../connection/prepared');
const { KIND_MASK, OUT_FLAG_FIN, OUT_TEXT } = require('../base/layout');
const { wrongType } = require('../base/checks');

/** @import { SendOptions } from '../../types/sending' */
/** @import { Published } from '../../types/topics' */

/**
 * @typedef {object} Message
 * @property {number} tag kind | flags of a send
 * @property {string | Uint8Array} data The payload
 * @property {InstanceType<typeof PreparedMessage> | null} prepared The prepared message
 *   of which it was made, which the reactors may have already; or null
 */

/**
 * No argument is checked yet.
 *
 * @type {(data: Published, options: SendOptions | null | undefined) => Message}
 * @throws {TypeError}
 */
function messageOf(data, options) {
  if (data instanceof PreparedMessage) return PreparedMessage.contentOf(data);
  if (isBlob(data)) throw wrongType('data', 'read before it is published, if it is a Blob', data);
  const content = typeof data === 'number' ? data.toString() : data;
  const isText = typeof content === 'string';
  const tag = options === undefined || options === null ? (isText ? TEXT : BINARY) : tagOf(options, !isText);
  if ((tag & OUT_FLAG_FIN) === 0) throw wrongType('options.fin', 'true: a message is published whole', options?.fin);
  return { tag, data: isText ? content : toBytes(content), prepared: null };
}

/**
 * The same message with a stamp.
 *
 * @type {(message: Message, stamp: (text: string | Uint8Array, offset: number) => string | Uint8Array, offset: number) => Message}
 * @throws {TypeError} For data that is not text
 */
function stamped({ data, tag }, stamp, offset) {
  if ((tag & KIND_MASK) !== OUT_TEXT) throw wrongType('data', 'text in a topic with a stamp', data);
  return { tag, data: stamp(data, offset), prepared: null };
}

module.exports = { messageOf, stamped };
