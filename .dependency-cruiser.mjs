// Which folder of lib may import which, as ARCHITECTURE.md has it; `npm run check` runs it.

/**
 * @param {string} folder
 * @param {string[]} others The folders that it may import beside itself and `base/`
 */
const only = (folder, others) => ({
  name: `${folder}-imports`,
  severity: 'error',
  from: { path: `^lib/${folder}/` },
  to: { path: '^lib/', pathNot: `^lib/(${[folder, 'base', 'native', ...others].join('|')})/` },
});

export default {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    only('base', []),
    only('adapters', []),
    only('reactor', []),
    only('connection', ['reactor']),
    only('deflate', ['reactor']),
    only('transport', ['connection', 'deflate', 'reactor']),
    only('limits', ['connection', 'metrics', 'reactor']),
    only('metrics', ['connection', 'reactor']),
    only('tls', ['reactor']),
    only('sockets', ['connection', 'reactor', 'tls']),
    only('topics', ['connection', 'nodes', 'reactor']),
    only('protocol', ['connection', 'topics']),
    only('presence', ['connection', 'nodes', 'topics']),
    only('nodes', ['connection']),
    {
      name: 'doctor-imports',
      severity: 'error',
      from: { path: '^lib/doctor/' },
      to: { path: '^lib/', pathNot: '^lib/(base|doctor|reactor)/' },
    },
    {
      name: 'doctor-is-apart',
      severity: 'error',
      from: { pathNot: '^lib/doctor/' },
      to: { path: '^lib/doctor/' },
    },
    {
      name: 'compat-is-apart',
      comment: 'Only the public classes imitate the private parts of ws.',
      severity: 'error',
      from: { path: '^lib/', pathNot: '^lib/(compat/|(index|receiver|websocket|websocket-server)\\.js$)' },
      to: { path: '^lib/compat/' },
    },
    {
      name: 'no-unresolved',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^reactor-ws-' },
    },
  ],
  options: { doNotFollow: { path: '^(lib/native|node_modules)/' }, includeOnly: '^lib/' },
};
