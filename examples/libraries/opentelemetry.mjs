// All numbers of metrics(), whenever OpenTelemetry collects: observe(server).

import { metrics } from '@opentelemetry/api';
import { prometheus } from 'reactor-ws/prometheus';

export function observe(server, meter = metrics.getMeter('reactor-ws')) {
  const instruments = new Map();
  for (const [, name, type] of prometheus(server).matchAll(/^# TYPE (\w+) (\w+)$/gm)) {
    const make = type === 'gauge' ? 'createObservableUpDownCounter' : 'createObservableCounter';
    // OpenTelemetry has no histogram that is read when it is collected.
    for (const part of type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']) instruments.set(name + part, meter[make](name + part));
  }
  meter.addBatchObservableCallback((result) => {
    for (const [, name, labels = '', value] of prometheus(server).matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
      const attributes = [...labels.matchAll(/(\w+)=("(?:[^"\\]|\\.)*")/g)].map(([, label, text]) => [label, JSON.parse(text)]);
      result.observe(instruments.get(name), Number(value), Object.fromEntries(attributes));
    }
  }, [...instruments.values()]);
}
