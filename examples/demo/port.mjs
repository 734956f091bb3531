// The port of the demo: PORT alone if that is set; otherwise the first free port from 8080 on.

import { once } from 'node:events';

const FIRST = 8080;
const LAST = FIRST + 100;

/**
 * @param {import('node:http').Server} server
 * @param {string} host
 * @param {string | undefined} wanted
 * @returns {Promise<number>} The port
 * @throws {Error} With a sentence for the user
 */
export async function listen(server, host, wanted) {
  const isGiven = wanted !== undefined && wanted !== '';
  const given = Number(wanted);
  if (isGiven && !(Number.isInteger(given) && given >= 0 && given <= 65_535)) {
    throw new Error(`PORT must be a number from 0 to 65535. It is "${wanted}".`);
  }
  for (let port = isGiven ? given : FIRST; ; port += 1) {
    try {
      server.listen(port, host);
      await once(server, 'listening');
      return server.address().port;
    } catch (error) {
      if (error.code !== 'EADDRINUSE' || isGiven || port === LAST) throw new Error(sentence(error, host, port), { cause: error });
    }
  }
}

function sentence({ code, message }, host, port) {
  if (code === 'EADDRINUSE') return `Port ${port} is in use. Choose another one: PORT=${port + 1} npm start`;
  if (code === 'EACCES') return `Port ${port} needs a privilege that this process does not have. Choose one above 1023.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return `This machine has no address ${host}. Set HOST to one that it has.`;
  return message;
}
