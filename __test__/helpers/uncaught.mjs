// Uncaught exceptions: in a test that expects them they are no failure.

/** Takes the place of ava's listeners until the end of the test; returns the exceptions as they come. */
export function catchUncaught(t) {
  const listeners = process.rawListeners('uncaughtException');
  const thrown = [];
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => thrown.push(error));
  t.teardown(() => {
    process.removeAllListeners('uncaughtException');
    for (const listener of listeners) process.on('uncaughtException', listener);
  });
  return thrown;
}
