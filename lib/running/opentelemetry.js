'use strict';

const { familiesOf } = require('./families');
const { version } = require('../../package.json');

/** @import { Metrics } from '../../types/running' */
/** @import { ObserveOptions } from '../../types/opentelemetry' */
/** @import { Family } from './families' */

/** What shows the numbers of one name. @typedef {object} Instrument */

/** @typedef {{ observe(instrument: Instrument, value: number, attributes: Record<string, string>): void }} Result */

/** @typedef {{ description: string, unit: string | undefined }} InstrumentOptions */

/**
 * What is used of a Meter of `@opentelemetry/api`.
 *
 * @typedef {object} Meter
 * @property {(name: string, options: InstrumentOptions) => Instrument} createObservableCounter
 * @property {Meter['createObservableCounter']} createObservableUpDownCounter
 * @property {(report: (result: Result) => void, observed: Instrument[]) => void}
 *   addBatchObservableCallback
 * @property {(report: (result: Result) => void, observed: Instrument[]) => void}
 *   removeBatchObservableCallback
 */

/** @typedef {{ getMeter(name: string, version?: string): Meter }} MeterProvider */

/** Units by the ends of names. @type {Record<string, string>} */
const UNITS = { seconds: 's', bytes: 'By', records: '{record}', ratio: '1' };

/**
 * Reports the metrics of a server to OpenTelemetry whenever they are collected.
 *
 * @param {{ metrics(): Metrics }} server
 * @param {ObserveOptions} [options] Attributes of every number, and whom they are reported to
 * @returns {() => void}
 */
function observe(server, { attributes = {}, meterProvider = globalProvider() } = {}) {
  const meter = meterProvider.getMeter('reactor-ws', version);
  const instruments = new Map(familiesOf(server.metrics()).flatMap((family) => instrumentsOf(meter, family)));
  /** @param {Result} result */
  const report = (result) => {
    for (const { name, samples } of familiesOf(server.metrics())) {
      for (const { suffix, labels, value } of samples) {
        result.observe(/** @type {Instrument} */ (instruments.get(name + suffix)), value, { ...attributes, ...labels });
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

/**
 * No histogram can be observed: its counts are counters.
 *
 * @type {(meter: Meter, family: Family) => Array<[string, Instrument]>}
 */
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
