import js from '@eslint/js';

// What exists in every supported Node without an import.
const node = [
  'AbortController',
  'AbortSignal',
  'Blob',
  'Buffer',
  'DOMException',
  'Event',
  'EventTarget',
  'MessageChannel',
  'Request',
  'Response',
  'TextDecoder',
  'TextEncoder',
  'URL',
  'clearImmediate',
  'clearInterval',
  'clearTimeout',
  'console',
  'fetch',
  'gc',
  'global',
  'globalThis',
  'performance',
  'process',
  'queueMicrotask',
  'setImmediate',
  'setInterval',
  'setTimeout',
  'structuredClone',
];
const commonjs = ['__dirname', '__filename', 'exports', 'module', 'require'];
const readonly = (names) => Object.fromEntries(names.map((name) => [name, 'readonly']));

export default [
  {
    ignores: [
      '**/node_modules/',
      '**/target/',
      '__test__/ecosystem/**/.*/',
      'lib/native/',
      '__test__/autobahn/reports/',
      'benchmark/.cache/',
      'docs/site/pages/',
      'docs/site/.vitepress/cache/',
      '**/*.ts',
    ],
  },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2023, globals: readonly(node) },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-empty': ['error', { allowEmptyCatch: true }],
      'no-unused-vars': ['error', { args: 'none' }],
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
    },
  },
  // Functions that run in a page are written where they are called.
  {
    files: ['__test__/browser/**/*.mjs'],
    languageOptions: { globals: readonly(['WebSocket', 'crypto', 'document', 'window']) },
  },
  {
    files: ['examples/demo/{page,chart}.mjs'],
    languageOptions: { globals: readonly(['HTMLElement', 'WebSocket', 'document', 'location']) },
  },
  { files: ['lib/client.mjs'], languageOptions: { globals: readonly(['crypto']) } },
  { files: ['lib/**/*.js', 'examples/**/*.cjs'], languageOptions: { sourceType: 'commonjs', globals: readonly(commonjs) } },
];
