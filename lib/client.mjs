// Topics over connections that come back. docs/ has the protocol.

const PROTOCOL = 'topics.reactor-ws.v1';
/** Publishers that are remembered, to know a copy. */
const MAX_AUTHORS = 1000;
const DAY = 864e5;
const FINAL = /^(100[0237-9]|1010|4...)$/;

export class TopicsClient extends EventTarget {
  #url;
  #settings;
  #socket = /** @type {any} */ (null);
  #isOver = false;
  #topics = /** @type {Map<string, any>} */ (new Map());
  /** Answers to come, after messages of an earlier subscription. @type {Map<string, number>} */
  #leaving = new Map();
  /** By number. @type {Map<number, { text: string, resolve: Function, reject: Function }>} */
  #unanswered = new Map();
  #number = 0;
  #name = crypto.getRandomValues(new Uint32Array(4)).join('.');
  #tries = 0;
  #openedAt = Infinity;
  /** Seconds that the server asks for. */
  #after = -1;
  #timer = /** @type {any} */ (0);
  #isSilent = false;

  /** @param {any} url @param {any} [options] */
  constructor(url, options) {
    super();
    this.#url = url;
    const { minDelay = 500, maxDelay = 30_000, pingInterval = 25_000, maxUnanswered = 1000, WebSocket = globalThis.WebSocket } = options ?? {};
    this.#settings = { minDelay, maxDelay, pingInterval, maxUnanswered, WebSocket };
    this.connect();
  }

  get isOpen() {
    return this.#socket?.readyState === 1;
  }

  connect() {
    if (this.#socket) return;
    this.#isOver = false;
    clearTimeout(this.#timer);
    if (typeof this.#url !== 'function') return this.#use(this.#url);
    const place = (this.#socket = {});
    (async () => this.#url())().then((url) => place === this.#socket && this.#use(url)).catch((error) => this.#lost(place, 1006, `${error}`));
  }

  close(code = 1000, reason = '') {
    if (this.#isOver) return;
    const socket = (this.#socket ??= {});
    // It can throw.
    socket.close?.(code, reason);
    this.#lost(socket, 1000, reason);
  }

  /** @param {string} name @param {Function} listener @param {any} [options] */
  subscribe(name, listener, { since } = {}) {
    const known = this.#topics.get(name);
    if (known) return void (known.listener = listener);
    const topic = { name, listener, since, last: since?.epoch ? since : null, guess: 0, isIn: false, seen: new Map() };
    this.#topics.set(name, topic);
    if (this.isOpen) this.#subscribe(topic);
  }

  /** @param {string} name */
  unsubscribe(name) {
    if (!this.#topics.delete(name) || !this.isOpen) return;
    this.#leaving.set(name, (this.#leaving.get(name) ?? 0) + 1);
    this.#send({ unsubscribe: name });
  }

  /** @param {string} name @param {string} data */
  publish(name, data) {
    return new Promise((resolve, reject) => {
      if (this.#isOver) throw new Error('The client is closed');
      if (this.#unanswered.size >= this.#settings.maxUnanswered) throw new Error('Too many messages are not answered');
      const number = ++this.#number;
      const text = JSON.stringify({ publish: name, data: String(data), client: this.#name, number });
      this.#unanswered.set(number, { text, resolve, reject });
      if (this.isOpen) this.#socket.send(text);
    });
  }

  /** @param {string} name */
  position(name) {
    return this.#topics.get(name)?.last ?? null;
  }

  /** @param {any} url */
  #use(url) {
    const socket = new this.#settings.WebSocket(url, PROTOCOL);
    this.#socket = socket;
    this.#isSilent = false;
    socket.onopen = () => {
      this.#openedAt = performance.now();
      this.#after = -1;
      this.#leaving.clear();
      for (const topic of this.#topics.values()) this.#subscribe(topic);
      for (const { text } of this.#unanswered.values()) socket.send(text);
      this.#dispatch('open');
    };
    socket.onmessage = (/** @type {any} */ { data }) => {
      this.#isSilent = false;
      this.#take(String(data));
    };
    socket.onerror = () => {};
    socket.onclose = (/** @type {any} */ { code, reason }) => this.#lost(socket, code, reason);
    this.#timer = setInterval(() => {
      if (this.#isSilent || !this.isOpen) return this.#lost(socket, 1006, 'no answer');
      this.#isSilent = true;
      this.#send({ ping: true });
    }, this.#settings.pingInterval);
  }

  /** @param {any} socket @param {number} code @param {string} reason */
  #lost(socket, code, reason) {
    if (socket !== this.#socket) return;
    this.#socket = null;
    clearInterval(this.#timer);
    // Its end can come late.
    socket.onopen = socket.onmessage = socket.onclose = null;
    if (code === 1006) socket.close?.();
    this.#isOver = FINAL.test(`${code}`);
    const delay = this.#isOver ? null : this.#delay(code, reason);
    if (delay !== null) this.#timer = setTimeout(() => this.connect(), delay);
    else for (const number of this.#unanswered.keys()) this.#answer(number, 'reject', new Error(`The connection is closed: ${code} ${reason}`));
    this.#dispatch('close', { code, reason, delay });
  }

  /** @param {number} code @param {string} reason */
  #delay(code, reason) {
    const { minDelay, maxDelay } = this.#settings;
    const random = Math.random();
    const longest = () => Math.min(maxDelay, minDelay * 2 ** this.#tries);
    if (performance.now() - this.#openedAt > longest()) this.#tries = 0;
    this.#openedAt = Infinity;
    const delay = random * longest();
    this.#tries++;
    const seconds = this.#after < 0 ? /retry-after\W*(\d+)/i.exec(reason)?.[1] : this.#after;
    if (seconds !== undefined) return Math.min(1000 * Number(seconds), DAY) * (1 + random / 4) + delay;
    if (code === 1012) return (maxDelay * (1 + 5 * random)) / 6;
    return code === 1013 ? maxDelay * (1 + random) : delay;
  }

  /** @param {any} topic */
  #subscribe({ last, name, since }) {
    this.#send({ subscribe: name, since: last ?? since });
  }

  /** @param {object} message */
  #send(message) {
    this.#socket.send(JSON.stringify(message));
  }

  /** @param {string} text */
  #take(text) {
    const [line] = text.split('\n', 1);
    let message;
    try {
      message = JSON.parse(line) ?? {};
    } catch {
      return;
    }
    if (Array.isArray(message)) return this.#receive(message, text.slice(line.length + 1));
    const { gap, position, presence, published, reason, recovered, refused, retryAfter, subscribed, to, unsubscribed } = message;
    if (presence !== undefined) return this.#dispatch('presence', { topic: presence, detail: message });
    if (retryAfter >= 0) this.#after = retryAfter;
    this.#answer(published, 'resolve', position);
    this.#answer(refused, 'reject', new Error(`Refused: ${reason}`));
    const left = this.#leaving.get(unsubscribed) ?? 0;
    if (left > 1) this.#leaving.set(unsubscribed, left - 1);
    else this.#leaving.delete(unsubscribed);
    const topic = this.#topic(subscribed ?? gap ?? refused);
    if (!topic) return;
    if (subscribed !== undefined) this.#enter(topic, position, recovered);
    else if (gap !== undefined) this.#pass(topic, to);
    else {
      this.#topics.delete(refused);
      this.#dispatch('refused', { topic: refused, reason });
    }
  }

  /** @param {number} number @param {'resolve' | 'reject'} how @param {unknown} value */
  #answer(number, how, value) {
    this.#unanswered.get(number)?.[how](value);
    this.#unanswered.delete(number);
  }

  /** @param {string} name */
  #topic(name) {
    return this.#leaving.has(name) ? undefined : this.#topics.get(name);
  }

  /** @param {any} topic @param {any} position @param {boolean} recovered */
  #enter(topic, position, recovered) {
    const { isIn, last, since } = topic;
    topic.isIn = true;
    // Messages after 'oldest' can still be on their way.
    if (!last && position) topic.last = since === 'oldest' && position.offset ? null : position;
    else if (last ? position && !recovered : isIn) this.#pass(topic, position);
    this.#dispatch('subscribed', { topic: topic.name, position, recovered });
  }

  /** @param {any} header @param {string} data */
  #receive([name, epoch, offset, author, number], data) {
    const topic = this.#topic(name);
    if (!topic) return;
    const { last, listener, seen } = topic;
    const position = epoch === null ? null : { epoch, offset };
    if (isAt(last, position)) return;
    // A new epoch of the same history, unless the server reports a gap.
    if (last && last.epoch !== epoch && last.offset + 1 === offset) topic.guess = offset;
    else if (last) this.#pass(topic, position && { epoch, offset: offset - 1 });
    topic.last = position;
    if (author) {
      if (number <= (seen.get(author) ?? 0)) return;
      seen.delete(author);
      seen.set(author, number);
      if (seen.size > MAX_AUTHORS) seen.delete(seen.keys().next().value ?? '');
    }
    listener(data, { topic: name, position });
  }

  /** The missing messages will not come. @param {any} topic @param {any} to */
  #pass(topic, to) {
    const { guess, last, name } = topic;
    const isPast = isAt(last, to);
    if (isPast && to.offset >= guess) return;
    topic.guess = 0;
    if (!isPast) topic.last = to;
    const from = last && last.epoch === to?.epoch && !isPast ? { ...to, offset: last.offset + 1 } : null;
    this.#dispatch('gap', { topic: name, from, to });
  }

  /** @param {string} type @param {object} [details] */
  #dispatch(type, details) {
    this.dispatchEvent(Object.assign(new Event(type), details));
  }
}

/** Whether nothing is missing up to a position. @param {any} last @param {any} to */
function isAt(last, to) {
  return last && last.epoch === to?.epoch && last.offset >= to.offset;
}
