'use strict';

const { familiesOf } = require('./families');
const { version } = require('../../package.json');

/** @import { BatchObservableResult, Meter, MeterProvider, Observable } from '@opentelemetry/api' */
/** @import { Metrics } from '../../types/running' */
/** @import { ObserveOptions } from '../../types/opentelemetry' */
/** @import { Family } from './families' */

/** By the end of a name. @type {Record<string, string>} */
const UNITS = { seconds: 's', bytes: 'By', records: '{record}', ratio: '1' };

/** Reports metrics to OpenTelemetry whenever they are collected. @type {(server: { metrics(): Metrics }, options?: ObserveOptions) => () => void} */
function observe(server, { attributes = {}, meterProvider = globalProvider() } = {}) {
  const meter = meterProvider.getMeter('reactor-ws', version);
  const instruments = new Map(familiesOf(server.metrics()).flatMap((family) => instrumentsOf(meter, family)));
  /** @param {BatchObservableResult} result */
  const report = (result) => {
    for (const { name, samples } of familiesOf(server.metrics())) {
      for (const { suffix, labels, value } of samples) {
        result.observe(/** @type {Observable} */ (instruments.get(name + suffix)), value, { ...attributes, ...labels });
      }
    }
  };
  const observed = [...instruments.values()];
  meter.addBatchObservableCallback(report, observed);
  return () => meter.removeBatchObservableCallback(report, observed);
}

function globalProvider() {
  // An optional dependency.
  return /** @type {(name: string) => { metrics: MeterProvider }} */ (require)('@opentelemetry/api').metrics;
}

/** A histogram cannot be observed: its counts are counters. @type {(meter: Meter, family: Family) => Array<[string, Observable]>} */
function instrumentsOf(meter, { name, help: description, type }) {
  const [, stem, ending] = /** @type {RegExpExecArray} */ (/^reactor_ws_(.*?)(?:_(seconds|bytes|records|ratio))?(?:_total)?$/.exec(name));
  const unit = UNITS[ending];
  const own = `reactor_ws.${stem}`;
  if (type === 'gauge') return [[name, meter.createObservableUpDownCounter(own, { description, unit })]];
  if (type === 'counter') return [[name, meter.createObservableCounter(own, { description, unit })]];
  return ['bucket', 'sum', 'count'].map((part) => {
    const options = { description, unit: part === 'sum' ? unit : undefined };
    return [`${name}_${part}`, meter.createObservableCounter(`${own}.${part}`, options)];
  });
}

module.exports = { observe };
