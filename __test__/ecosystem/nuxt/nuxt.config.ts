const reactorWs = {
  name: 'reactor-ws',
  resolveId: (id: string) => (id === 'crossws/adapters/node' ? { id: 'reactor-ws/crossws', external: true } : null),
};

export default defineNuxtConfig({
  compatibilityDate: '2026-11-01',
  telemetry: false,
  nitro: {
    experimental: { websocket: true },
    rollupConfig: { output: {}, plugins: [reactorWs] },
    externals: { traceInclude: ['node_modules/reactor-ws/lib/crossws.mjs'] },
  },
});
