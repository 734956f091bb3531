// Connections of the client of `ws` itself.
import { once } from 'node:events';

import { RealWebSocket } from './on-reactor.mjs';

/** An open client of `ws`; terminated at the end of the test. */
export async function open(t, url, protocols = [], options = {}) {
  const client = new RealWebSocket(url, protocols, options);
  t.after(() => client.terminate());
  await once(client, 'open');
  return client;
}

/** The first message of a new connection; it may come together with the answer to the upgrade. */
export async function firstMessage(t, url, options) {
  const client = new RealWebSocket(url, options);
  t.after(() => client.terminate());
  const [data] = await once(client, 'message');
  return data.toString();
}

/** The answer to a message. */
export async function ask(client, message) {
  const answer = once(client, 'message');
  client.send(message);
  const [data, isBinary] = await answer;
  return isBinary ? data : data.toString();
}

/** The status code of the answer to an upgrade that is refused. */
export async function refusal(t, url, options) {
  const client = new RealWebSocket(url, options);
  t.after(() => client.terminate());
  const [request, response] = await once(client, 'unexpected-response');
  request.destroy();
  client.on('error', () => {});
  return response.statusCode;
}
