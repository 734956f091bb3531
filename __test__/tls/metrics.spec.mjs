// What metrics() says of handshakes.
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';

import test from 'ava';

import { prometheus } from '../../lib/metrics/prometheus.js';
import { RawClient, upgradeRequest } from '../helpers/raw-client.mjs';
import { SERVER, authority, clientHello, connectTls, pair, startSecure } from '../helpers/secure.mjs';

test('handshakes, resumptions, and failures by reason', async (t) => {
  const options = { ...SERVER, handshakeTimeout: 60_000, requestCert: true, ca: authority, minVersion: 'TLSv1.3', ALPNProtocols: ['chat'] };
  const SNICallback = (servername, callback) => callback(servername === 'refused' ? new Error('refused') : null);
  const { listener, port, wss } = await startSecure(t, { ...options, SNICallback });
  const impatient = await startSecure(t, { ...options, handshakeTimeout: 50 });
  const lenient = await startSecure(t);
  const { tls: before } = wss.metrics().reactors;
  const [alice, mallory] = [pair('client'), pair('client-other')];
  /** Does something, and waits until it is reported. */
  const reported = async (act, server = listener) => {
    const failed = once(server, 'tlsClientError');
    await act();
    await failed;
  };
  const raw = (act, at = port) => async () => {
    const client = await RawClient.connect(t, at);
    await act(client);
    await client.closed();
  };
  const connect = (given) => () => connectTls(t, port, { ...alice, ...given }).catch(() => {});

  const socket = await connectTls(t, port, alice);
  const [session] = await once(socket, 'session');
  t.true((await connectTls(t, port, { ...alice, session })).isSessionReused());
  await reported(connect({ maxVersion: 'TLSv1.2' }));
  await reported(connect({ ALPNProtocols: ['h2'] }));
  await reported(connect(mallory));
  await reported(connect({ key: undefined, cert: undefined }));
  await reported(raw((client) => client.send(upgradeRequest())));
  await reported(raw((client) => client.end()));
  await reported(raw((client) => client.send(Buffer.alloc(20, 1))));
  // After the server's certificate: an alert, unknown_ca.
  await reported(
    raw(async (client) => {
      await client.send(await clientHello({ maxVersion: 'TLSv1.2' }));
      await client.until((text) => text.includes('localhost'));
      await client.send(Buffer.from('15030300020230', 'hex'));
    }, lenient.port),
    lenient.listener,
  );
  await reported(connect({ servername: 'refused' }));
  await reported(raw(() => {}, impatient.port), impatient.listener);

  const expected = { unshared: 2, certificate: 2, alert: 1, http: 1, timeout: 1, gone: 1, refused: 1, malformed: 1 };
  const count = (failed) => Object.values(failed).reduce((sum, one) => sum + one, 0);
  let { tls: after } = wss.metrics().reactors;
  // A reactor counts at the end of its turn, after it has handed over the events of the turn.
  while (count(after.failed) - count(before.failed) < count(expected)) {
    await setTimeout(10);
    after = wss.metrics().reactors.tls;
  }
  const failed = Object.fromEntries(Object.entries(after.failed).map(([name, failures]) => [name, failures - before.failed[name]]));
  t.deepEqual(failed, expected);
  t.deepEqual([after.full - before.full, after.resumed - before.resumed], [1, 1]);
  const text = prometheus(wss);
  t.regex(text, /^reactor_ws_tls_handshakes_total\{session="resumed"\} \d+$/m);
  t.regex(text, /^reactor_ws_tls_failures_total\{reason="http"\} \d+$/m);
  t.regex(text, /^reactor_ws_tls_unreported_total \d+$/m);
});
