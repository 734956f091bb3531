'use strict';

// Handshakes that wait for the callbacks of option `tls`.

const { contextOf, nativeOf } = require('./context');
const { state } = require('../reactor/reactors');

/** @import { Settings } from './options' */

/** Alerts (RFC 8446, 6.2). */
const INTERNAL_ERROR = 80;
const UNRECOGNIZED_NAME = 112;
const NO_APPLICATION_PROTOCOL = 120;

/** In place of the result of a callback that has thrown. */
const FAILED = Symbol('failed');

/** @typedef {import('../native/binding').SecureContext} Context */

/** A handshake after its ClientHello. It continues when `answer` is called, or ends by its timeout. */
class Hello {
  #hello;
  #settings;
  #fail;
  /** SNICallback has answered, or failed. */
  #isDecided = false;
  /** The handshake has its answer. */
  #isOver = false;

  /**
   * @param {{ slot: number, generation: number, servername: string, protocols: string[] }} hello
   * @param {Omit<Settings, 'ticketKeys'>} settings
   * @param {(error: Error) => void} fail Emits 'tlsClientError'
   */
  constructor(hello, settings, fail) {
    this.#hello = hello;
    this.#settings = settings;
    this.#fail = fail;
  }

  /** @param {unknown} thisArgument Of the callbacks */
  decide(thisArgument) {
    const { SNICallback } = this.#settings;
    const { servername } = this.#hello;
    // As in Node, only about names.
    if (SNICallback === null || servername === '') return this.#chooseProtocol(thisArgument, null);
    // Its answer counts after its return: it can still throw, or answer again.
    /** @type {Array<[error: any, given: unknown]>} */
    const answers = [];
    let isRunning = true;
    const done = (/** @type {any} */ error, /** @type {unknown} */ given) => {
      if (isRunning) answers.push([error, given]);
      else this.#named(thisArgument, error, given);
    };
    const isFine = this.#guard(() => Reflect.apply(SNICallback, thisArgument, [servername, done])) !== FAILED;
    isRunning = false;
    if (!isFine || answers.length === 0) return;
    if (answers.length === 1) return this.#named(thisArgument, ...answers[0]);
    this.#isDecided = true;
    this.#refuse(INTERNAL_ERROR, answeredTwice());
  }

  /** The callback of SNICallback. @type {(thisArgument: unknown, error: any, given: unknown) => void} */
  #named(thisArgument, error, given) {
    if (this.#isDecided) return this.#refuse(INTERNAL_ERROR, answeredTwice());
    this.#isDecided = true;
    if (error) return this.#refuse(UNRECOGNIZED_NAME, error);
    /** @type {Context | null} */
    let context = null;
    try {
      if (given !== undefined && given !== null) context = nativeOf(contextOf(given, `SNICallback('${this.#hello.servername}'): options`), this.#settings);
    } catch (wrong) {
      return this.#refuse(INTERNAL_ERROR, /** @type {Error} */ (wrong));
    }
    this.#chooseProtocol(thisArgument, context);
  }

  /** @type {(thisArgument: unknown, context: Context | null) => void} */
  #chooseProtocol(thisArgument, context) {
    const { ALPNCallback } = this.#settings;
    const { protocols, servername } = this.#hello;
    if (ALPNCallback === null || protocols.length === 0) return this.#answer(context, null, 0);
    const chosen = this.#guard(() => Reflect.apply(ALPNCallback, thisArgument, [{ servername, protocols }]));
    if (chosen === FAILED) return;
    if (chosen === undefined) {
      const error = Object.assign(new Error('ALPNCallback has chosen no protocol'), { code: 'ERR_SSL_NO_APPLICATION_PROTOCOL' });
      return this.#refuse(NO_APPLICATION_PROTOCOL, error);
    }
    if (!protocols.includes(chosen)) {
      const error = new TypeError(`ALPN callback returned a value (${chosen}) that did not match any of the client's offered protocols (${protocols.join(', ')})`);
      return this.#refuse(INTERNAL_ERROR, Object.assign(error, { code: 'ERR_TLS_ALPN_CALLBACK_INVALID_RESULT' }));
    }
    this.#answer(context, chosen, 0);
  }

  /** An error of a callback ends this handshake only, as in Node: a client might have chosen the name. @type {(act: () => any) => any} */
  #guard(act) {
    try {
      return act();
    } catch (error) {
      this.#isDecided = true;
      this.#refuse(INTERNAL_ERROR, /** @type {Error} */ (error));
      return FAILED;
    }
  }

  /** @type {(alert: number, error: Error) => void} */
  #refuse(alert, error) {
    if (this.#isOver) return;
    this.#answer(null, null, alert);
    this.#fail(error);
  }

  /** @type {(context: Context | null, protocol: string | null, alert: number) => void} */
  #answer(context, protocol, alert) {
    this.#isOver = true;
    state.native.secure(this.#hello.slot, this.#hello.generation, context, protocol, alert);
  }
}

function answeredTwice() {
  return Object.assign(new Error('Callback called multiple times'), { code: 'ERR_MULTIPLE_CALLBACK' });
}

module.exports = { Hello };
