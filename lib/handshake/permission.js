'use strict';

/**
 * Checks what Node checks before its own servers listen: an addon that --permission allows is not
 * bound by it.
 *
 * @throws {Error} ERR_ACCESS_DENIED, as from `net.Server`
 */
function checkMayListen() {
  const { permission } = /** @type {any} */ (process);
  if (!permission || permission.has('net')) return;
  // Before Node 25, permissions do not cover the network.
  if (!process.allowedNodeEnvironmentFlags.has('--allow-net')) return;
  throw Object.assign(new Error('Access to this API has been restricted. Use --allow-net to manage permissions.'), {
    code: 'ERR_ACCESS_DENIED',
    permission: 'Net',
    resource: '',
  });
}

module.exports = { checkMayListen };
