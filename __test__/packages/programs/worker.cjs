// The same in a worker, and after it here.
const { Worker } = require('node:worker_threads');

new Worker(require.resolve('./echo.cjs')).on('exit', () => require('./echo.cjs'));
