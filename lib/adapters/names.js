'use strict';

// Names of topics are any strings of JavaScript; brokers want UTF-8.

/** UTF-8 has it for each lone surrogate. */
const ESCAPE = '\uFFFD';

const UNSAFE = /[\uFFFD\p{Surrogate}]/gu;

/** Injective encoding without lone surrogates. Most names encode to themselves. @type {(topic: string) => string} */
function encodeName(topic) {
  return topic.replace(UNSAFE, (one) => (one === ESCAPE ? ESCAPE + ESCAPE : ESCAPE + one.charCodeAt(0).toString(16)));
}

module.exports = { encodeName };
