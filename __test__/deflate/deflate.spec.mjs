// permessage-deflate on the reactor's own connections.
import { deflateTests } from '../helpers/deflate-suite.mjs';
import { ALL_WAYS as WAYS, WebSocketServer, isReference, test } from '../helpers/index.mjs';

deflateTests(WAYS.port);

test('options out of range throw what zlib throws, at once', (t) => {
  if (isReference) return t.pass();
  const open = (perMessageDeflate) => () => new WebSocketServer({ port: 0, perMessageDeflate });
  for (const [options, name] of [
    [{ serverMaxWindowBits: 7 }, 'windowBits'],
    [{ clientMaxWindowBits: 16 }, 'windowBits'],
    [{ zlibDeflateOptions: { level: 10 } }, 'level'],
    [{ zlibDeflateOptions: { memLevel: 0 } }, 'memLevel'],
    [{ zlibDeflateOptions: { strategy: 5 } }, 'strategy'],
    [{ zlibDeflateOptions: { chunkSize: 1 } }, 'chunkSize'],
  ]) {
    const error = t.throws(open(options), { instanceOf: RangeError, code: 'ERR_OUT_OF_RANGE' });
    t.regex(error.message, new RegExp(`"options\\.${name}"`));
  }
  t.throws(open({ zlibDeflateOptions: { level: '6' } }), { instanceOf: TypeError, code: 'ERR_INVALID_ARG_TYPE' });
  t.throws(open({ releaseAfter: '1' }), { instanceOf: TypeError });
  t.throws(open({ releaseAfter: -1 }), { instanceOf: RangeError });
});
