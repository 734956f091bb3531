import { defineConfig } from 'nitro';

const reactorWs = {
  name: 'reactor-ws',
  resolveId: (id: string) => (id === 'crossws/adapters/node' ? { id: 'reactor-ws/crossws', external: true } : null),
};

export default defineConfig({
  serverDir: './',
  features: { websocket: true },
  rolldownConfig: { plugins: [reactorWs] },
  traceDeps: ['reactor-ws*'],
});
