// The layout of records: JavaScript repeats Rust's numbers as literals, here they are compared.
import { createRequire } from 'node:module';

import test from 'ava';

const require = createRequire(import.meta.url);
const binding = require('../lib/native/binding.js');
const constants = require('../lib/constants.js');

const LAYOUT_NAME = /^(?:ADOPTED|ASKED|DRAINED|FLUSHED|IN|LENT|OUT|OPENED|RECORD|STREAM|ASK)_/;

test('every number of the layout in lib/constants.js is the one in Rust', (t) => {
  const layout = binding.layout();
  const names = Object.keys(constants).filter((name) => LAYOUT_NAME.test(name));
  t.true(names.length > 40);
  for (const name of names) {
    // Not a part of the layout in every version of the binding: bits of an argument.
    if (name.startsWith('ASK_') && layout[name] === undefined) continue;
    t.is(constants[name], layout[name], name);
  }
  t.true(layout.MAX_RECORDS > 0);
});

test('every protocol error has its code, sentence and close code', (t) => {
  const rows = binding.protocolErrors().filter(Boolean);
  t.true(rows.length >= 10);
  for (const { code, message, closeCode, range } of rows) {
    t.regex(code, /^(?:WS_ERR|Z)_[A-Z0-9_]+$/);
    t.true(message.length > 0);
    t.true([1002, 1007, 1008, 1009, 1013].includes(closeCode));
    t.is(typeof range, 'boolean');
  }
});
