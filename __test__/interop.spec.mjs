// Compressed echoes for clients of other projects, on every way in.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { ALL_WAYS as WAYS, cert, test, urlOf } from './helpers/index.mjs';
import { SIZES } from './helpers/payloads.mjs';
import { pythonWithWebsockets } from './helpers/python.mjs';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'reactor-ws-'));
const trusted = join(folder, 'certificate.pem');
writeFileSync(trusted, cert);
test.after.always(() => rmSync(folder, { recursive: true }));
/** The clients trust our certificate. */
const env = { ...process.env, NODE_EXTRA_CA_CERTS: trusted, SSL_CERT_FILE: trusted };
const fixture = (name) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

const EXPECTED = `${2 * SIZES.length} permessage-deflate 1000 done`;
const MODES = {
  'context takeover': { threshold: 0 },
  'no context takeover': { threshold: 0, serverNoContextTakeover: true, clientNoContextTakeover: true },
};

/** Each takes the address of an echo server; it returns the result, or why it cannot be tried. */
const CLIENTS = {
  async node(url) {
    const flags = globalThis.WebSocket === undefined ? ['--experimental-websocket'] : [];
    return (await run(process.execPath, ['--no-warnings', ...flags, fixture('interop-node.mjs'), url], { env })).stdout.trim();
  },

  async python(url) {
    const { python, why } = await withPython;
    return python === undefined ? { why } : (await run(python, [fixture('interop.py'), url], { env })).stdout.trim();
  },
};

const withPython = pythonWithWebsockets();

for (const [mode, perMessageDeflate] of Object.entries(MODES)) {
  for (const [way, start] of Object.entries(WAYS)) {
    for (const [name, client] of Object.entries(CLIENTS)) {
      test(`${name}, ${way}, ${mode}`, async (t) => {
        const server = await start(t, { perMessageDeflate });
        server.on('connection', (ws) => {
          ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary }));
        });
        const outcome = await client(urlOf(server));
        if (outcome.why !== undefined) t.log(`skipped: ${outcome.why}`);
        t.is(outcome.why === undefined ? outcome : EXPECTED, EXPECTED);
      });
    }
  }
}
