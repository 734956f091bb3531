'use strict';

/**
 * What Node checks before its own servers listen. Nothing binds an addon that --permission lets be
 * loaded, so it is done here.
 *
 * @throws {Error} ERR_ACCESS_DENIED, as from `net.Server`
 */
function checkMayListen() {
  const { permission } = /** @type {any} */ (process);
  if (!permission || permission.has('net')) return;
  // Before Node 25 the network is no matter of permissions.
  if (!process.allowedNodeEnvironmentFlags.has('--allow-net')) return;
  throw Object.assign(new Error('Access to this API has been restricted. Use --allow-net to manage permissions.'), {
    code: 'ERR_ACCESS_DENIED',
    permission: 'Net',
    resource: '',
  });
}

module.exports = { checkMayListen };
