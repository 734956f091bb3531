// Metrics in the tools of operators: beside those of prom-client, and in a reader of OpenTelemetry.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import test from 'node:test';

import { metrics } from '@opentelemetry/api';
import { InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import promClient from 'prom-client';
import { WebSocketServer } from 'reactor-ws';
import { prometheus } from 'reactor-ws/prometheus';

import { ask, open } from './helpers/clients.mjs';

/** A server that has echoed one text. */
async function used(t) {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  t.after(() => wss.close());
  wss.on('connection', (ws) => ws.on('message', (data, isBinary) => ws.send(data, { binary: isBinary })));
  await once(wss, 'listening');
  const client = await open(t, `ws://127.0.0.1:${wss.address().port}`);
  assert.equal(await ask(client, 'hello'), 'hello');
  return wss;
}

test('prom-client: one text has its metrics and ours', async (t) => {
  const wss = await used(t);
  const registry = new promClient.Registry();
  new promClient.Counter({ name: 'programs_own', help: 'x', registers: [registry] }).inc();
  const text = (await registry.metrics()) + prometheus(wss, { server: 'chat' });
  assert.match(text, /^programs_own(_total)? 1$/m);
  assert.match(text, /^reactor_ws_connections\{server="chat"\} 1$/m);
});

test('examples: opentelemetry.mjs', async (t) => {
  const wss = await used(t);
  const exporter = new InMemoryMetricExporter(1);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  t.after(() => meterProvider.shutdown());
  metrics.setGlobalMeterProvider(meterProvider);
  // A copy, which finds the packages of this folder.
  const copy = new URL('.example-opentelemetry.mjs', import.meta.url);
  t.after(() => rmSync(copy));
  cpSync(new URL('../../examples/libraries/opentelemetry.mjs', import.meta.url), copy);
  const { observe } = await import(copy);
  observe(wss);
  await reader.forceFlush();
  const [{ scopeMetrics: [{ metrics: found }] }] = exporter.getMetrics();
  const points = (name) => found.find(({ descriptor }) => descriptor.name === name).dataPoints;
  assert.deepEqual(points('reactor_ws_connections').map(({ attributes, value }) => [attributes, value]), [[{}, 1]]);
  const isText = ({ attributes: { direction, kind } }) => kind === 'text' && direction === 'received';
  assert.ok(points('reactor_ws_messages_total').find(isText).value >= 1);
  const whole = points('reactor_ws_delay_seconds_bucket').find(({ attributes }) => attributes.le === '+Inf');
  assert.equal(whole.value, points('reactor_ws_delay_seconds_count')[0].value);
});
