// A page in Chromium, with a few functions in it that talk to a server.
import { chromium } from 'playwright-core';

import { findChromium } from '../../../scripts/chromium.mjs';

/** A browser for a whole file of tests. */
export async function launch(t) {
  // Chromium has no sandbox for root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  const browser = await chromium.launch({ executablePath: findChromium(), args, timeout: 0 });
  t.after(() => browser.close());
  return browser;
}

/** A page of the given address; the functions below are there before its own scripts. */
export async function openPage(t, browser, address) {
  const page = await browser.newPage({ ignoreHTTPSErrors: true });
  t.after(() => page.close());
  // The test has a deadline of its own.
  page.setDefaultTimeout(0);
  await page.addInitScript(install);
  await page.goto(address);
  return page;
}

/** Runs in the page. */
function install() {
  /** An open socket, with the fields of its 'close', and whether it `failed` with an 'error'. */
  window.openSocket = (address, protocols) => {
    const socket = new WebSocket(address, protocols);
    socket.binaryType = 'arraybuffer';
    socket.failed = false;
    socket.onerror = () => (socket.failed = true);
    socket.closed = new Promise((resolve) => {
      socket.onclose = ({ code, reason, wasClean }) => resolve({ code, reason, wasClean, failed: socket.failed });
    });
    return new Promise((resolve) => {
      socket.onopen = () => resolve(socket);
      socket.closed.then(() => resolve(socket));
    });
  };

  /** Sends messages at once, and returns as many answers. */
  window.exchange = (socket, messages) =>
    new Promise((resolve, reject) => {
      const answers = [];
      socket.closed.then(({ code }) => reject(new Error(`closed with ${code}`)));
      socket.onmessage = ({ data }) => answers.push(data) === messages.length && resolve(answers);
      for (const message of messages) socket.send(message);
    });

  /** Whether each message came back unchanged. */
  window.echoes = async (socket, messages) => {
    const answers = await window.exchange(socket, messages);
    const plain = async (data) => (data instanceof Blob ? data.arrayBuffer() : data);
    const bytes = (data) => new Uint8Array(data.buffer ?? data);
    const isSame = (a, b) =>
      typeof a === 'string' || typeof b === 'string'
        ? a === b
        : a.byteLength === b.byteLength && bytes(a).every((byte, index) => byte === bytes(b)[index]);
    return Promise.all(messages.map(async (message, index) => isSame(await plain(message), answers[index])));
  };
}
