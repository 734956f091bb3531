'use strict';

const { inspect } = require('node:util');

/** The longest delay of a timer in milliseconds; also the longest `spin` in microseconds. */
const MAX_DELAY = 2 ** 31 - 1;

/** The largest limit of ws. */
const MAX = 2 ** 31 - 1;

/**
 * Allowed values: a number from `min` to `max`, or one of `values`. No message shows one that is secret.
 *
 * @typedef {{ type: 'number' | 'boolean' | 'string' | 'function', min?: number, max?: number, or?: string, values?: string[], isSecret?: boolean }} Range
 */

/** @type {(range: Range, value: any, label: string) => any} @throws {TypeError | RangeError} */
function checkValue({ type, isSecret = false, min = 0, max = 0, or, values }, value, label) {
  if (or !== undefined && value === or) return value;
  if (values !== undefined) {
    if (values.includes(value)) return value;
    throw wrongType(label, values.map((one) => `'${one}'`).join(' or '), value);
  }
  if (typeof value !== type) throw (isSecret ? wrongSecret : wrongType)(label, or === undefined ? `a ${type}` : `a ${type} or '${or}'`, value);
  if (type === 'number' && !(Number.isInteger(value) && value >= min && value <= max)) {
    throw new RangeError(`${label} must be an integer from ${min} to ${max}. Received ${inspect(value, { depth: 0 })}`);
  }
  return value;
}

/** `wanted`: with an article, such as 'a number'. @type {(label: string, wanted: string, value: unknown) => TypeError} */
function wrongType(label, wanted, value) {
  return new TypeError(`${label} must be ${wanted}. Received ${inspect(value, { depth: 0 })}`);
}

/** The same for what can be secret. @type {typeof wrongType} */
function wrongSecret(label, wanted, value) {
  return new TypeError(`${label} must be ${wanted}. Received a value of type ${value === null ? 'null' : typeof value}`);
}

/**
 * The value of each option, or its initial one. Own properties only: a program might have extended Object.prototype.
 *
 * @type {(ranges: Record<string, Range & { initial: unknown }>, options: object, label: string) => Record<string, any>}
 */
function readOptions(ranges, options, label) {
  const all = Object.entries(ranges).map(([name, range]) => {
    const value = Object.hasOwn(options, name) ? (Reflect.get(options, name) ?? null) : null;
    return [name, value === null ? range.initial : checkValue(range, value, `${label}.${name}`)];
  });
  return Object.fromEntries(all);
}

/** An unknown name is an error where all options are our own. @type {(options: unknown, known: string[], label?: string) => void} */
function checkOptions(options, known, label = 'options') {
  if (options === undefined || options === null) return;
  if (typeof options !== 'object') throw wrongType(label, 'an object', options);
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw new TypeError(`${label}.${name} is not an option. There are: ${known.join(', ')}`);
  }
}

/**
 * Numbers that ws coerces. Anything else would mean no limit, or no time.
 *
 * @type {(options: Record<string, any>, names: string[], label?: string) => void}
 */
function checkNumbers(options, names, label = 'options') {
  for (const name of names) {
    const value = options[name];
    if (value === undefined || value === null) continue;
    const isText = typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value));
    if (typeof value !== 'number' && !isText) throw wrongType(`${label}.${name}`, 'a number', value);
    if (!(Number(value) >= 0)) throw new RangeError(`${label}.${name} must be 0 or more. Received ${inspect(value, { depth: 0 })}`);
  }
}

/**
 * A limit as ws reads it: 32 bits; 0 and less is none, a fraction counts as 1. More than MAX is none either: ws reads
 * 1e10, meant as "no limit", as 1410065408.
 *
 * @type {(value?: any) => number}
 */
function limit(value = 0) {
  return value > MAX ? 0 : Math.max(value | 0, value > 0 ? 1 : 0);
}

/** A delay for `setTimeout`: from 1 ms to the longest. @type {(value: any) => number} */
function delay(value) {
  return value >= 1 ? Math.trunc(Math.min(value, MAX_DELAY)) : 1;
}

module.exports = { MAX_DELAY, checkNumbers, checkOptions, checkValue, delay, limit, readOptions, wrongSecret, wrongType };
