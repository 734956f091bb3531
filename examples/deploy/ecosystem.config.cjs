// Two applications of PM2, of which one runs. The next version is the other one:
//
//   pm2 start ecosystem.config.cjs --only chat-a
//   pm2 start ecosystem.config.cjs --only chat-b
const { mkdirSync } = require('node:fs');
const { join } = require('node:path');

const versions = ['chat-a', 'chat-b'];
// No other user can write there.
const folder = join(__dirname, 'run');
mkdirSync(folder, { recursive: true, mode: 0o700 });

module.exports = {
  apps: versions.map((name) => ({
    name,
    script: 'server.mjs',
    // It has 30 s to say 'ready', and after SIGINT to end.
    wait_ready: true,
    listen_timeout: 30_000,
    kill_timeout: 30_000,
    // A version that has given its clients away is not started again.
    stop_exit_codes: [0],
    env: { HANDOVER: join(folder, 'handover.sock'), PORT: 8080 },
  })),
};
