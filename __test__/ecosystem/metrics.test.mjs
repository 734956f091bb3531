// Metrics in the tools of operators: a registry of prom-client, and a reader of OpenTelemetry.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import test from 'node:test';

import { metrics } from '@opentelemetry/api';
import { InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import promClient from 'prom-client';
import { WebSocketServer } from 'reactor-ws';
import { observe } from 'reactor-ws/opentelemetry';
import { prometheus, register } from 'reactor-ws/prometheus';

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

/** The names of samples in a text, without values. */
const names = (text) => text.split('\n').filter((line) => line !== '').map((line) => (line.startsWith('#') ? line : line.replace(/ [^ ]*$/, ''))).sort();

test('prom-client: its text has our samples, beside those of the program', async (t) => {
  const wss = await used(t);
  for (const type of [promClient.Registry.PROMETHEUS_CONTENT_TYPE, promClient.Registry.OPENMETRICS_CONTENT_TYPE]) {
    const registry = new promClient.Registry(type);
    new promClient.Counter({ name: 'programs_own', help: 'x', registers: [registry] }).inc();
    const remove = register(wss, registry, { server: 'chat' });
    const text = await registry.metrics();
    assert.match(text, /^programs_own(_total)? 1$/m);
    assert.match(text, /^reactor_ws_connections\{server="chat"\} 1$/m);
    assert.match(text, /^reactor_ws_messages_total\{kind="text",direction="received"\} \d+$/m);
    assert.match(text, /^reactor_ws_delay_seconds_bucket\{le="\+Inf"\} \d+$/m);
    assert.doesNotMatch(text, /_total_total/);
    if (type === promClient.Registry.PROMETHEUS_CONTENT_TYPE) {
      const own = text.split('\n').filter((line) => !line.includes('programs_own')).join('\n');
      assert.deepEqual(names(own), names(prometheus([[wss, { server: 'chat' }]])));
    }
    remove();
    assert.doesNotMatch(await registry.metrics(), /reactor_ws/);
  }
});

test('OpenTelemetry: what is collected has our numbers, with the global provider and a given one', async (t) => {
  const wss = await used(t);
  for (const isGlobal of [true, false]) {
    const exporter = new InMemoryMetricExporter(1);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 2 ** 31 - 1 });
    const meterProvider = new MeterProvider({ readers: [reader] });
    t.after(() => meterProvider.shutdown());
    if (isGlobal) metrics.setGlobalMeterProvider(meterProvider);
    const stop = observe(wss, isGlobal ? { attributes: { server: 'chat' } } : { attributes: { server: 'chat' }, meterProvider });
    await reader.forceFlush();
    const [{ scopeMetrics: [{ metrics: found, scope }] }] = exporter.getMetrics();
    const byName = new Map(found.map((metric) => [metric.descriptor.name, metric]));
    assert.equal(scope.name, 'reactor-ws');
    assert.deepEqual(byName.get('reactor_ws.connections').dataPoints.map(({ attributes, value }) => [attributes, value]), [[{ server: 'chat' }, 1]]);
    assert.equal(byName.get('reactor_ws.bytes').descriptor.unit, '');
    assert.equal(byName.get('reactor_ws.undelivered').descriptor.unit, 'By');
    const texts = byName.get('reactor_ws.messages').dataPoints.find(({ attributes }) => attributes.kind === 'text' && attributes.direction === 'received');
    assert.ok(texts.value >= 1);
    const [count] = byName.get('reactor_ws.delay.count').dataPoints;
    const whole = byName.get('reactor_ws.delay.bucket').dataPoints.find(({ attributes }) => attributes.le === '+Inf');
    assert.ok(count.value >= 1 && whole.value === count.value);
    stop();
    wss.metrics = () => assert.fail('it is still observed');
    await reader.forceFlush();
    delete wss.metrics;
  }
});
