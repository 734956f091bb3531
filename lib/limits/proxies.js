'use strict';

const { isIP } = require('node:net');
const { inspect } = require('node:util');

const { checkOptions, wrongType } = require('../base/checks');

/** Bits of an address, by `isIP`. */
const BITS = [0, 0, 0, 0, 32, 0, 128];

/** Peers that begin with a PROXY protocol header. @type {(options: import('../options').ServerOptions) => string[]} */
function proxiesOf({ proxyProtocol }) {
  if (proxyProtocol === undefined || proxyProtocol === null) return [];
  const trusted = /** @type {{ trusted: string[] }} */ (proxyProtocol).trusted;
  if (!Array.isArray(trusted) || trusted.length === 0) {
    throw wrongType('options.proxyProtocol', "{ trusted: ['address or network', ...] }", proxyProtocol);
  }
  checkOptions(proxyProtocol, ['trusted'], 'options.proxyProtocol');
  for (const one of trusted) checkNetwork(one);
  return trusted;
}

/** @param {unknown} network Such as `10.0.0.0/8`, `fd00::/8` or `192.0.2.1` */
function checkNetwork(network) {
  const label = 'options.proxyProtocol.trusted';
  if (typeof network !== 'string') throw wrongType(label, 'a list of strings', network);
  const [address, bits, ...more] = network.split('/');
  const most = BITS[isIP(address)];
  const isNumber = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
  // A zone does not distinguish peers.
  if (most === 0 || address.includes('%') || !isNumber || more.length !== 0) {
    throw new RangeError(`${label} must be IP addresses, or networks such as 10.0.0.0/8. Received ${inspect(network)}`);
  }
}

module.exports = { proxiesOf };
