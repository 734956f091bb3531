// node __test__/differential/run.mjs [part of a title] [way]: both logs of the scenarios that
// differ; with a way, also the logs of those that do not.
import { inspect, isDeepStrictEqual } from 'node:util';

import { differences } from './differences.mjs';
import { scenarios } from './scenarios.mjs';
import { run } from './scenario.mjs';

const [part = '', onlyWay] = process.argv.slice(2);
const listed = new Set(differences.map(({ scenario }) => scenario));
const counts = { equal: 0, different: 0, failed: 0 };

for (const scenario of scenarios.filter(({ title }) => title.includes(part))) {
  for (const way of scenario.ways.filter((one) => onlyWay === undefined || one === onlyWay)) {
    const name = `${scenario.title} (${way ?? '-'})${listed.has(scenario.title) ? ' [listed]' : ''}`;
    try {
      const [ws, ours] = [await run(scenario, way, 'ws'), await run(scenario, way, 'ours')];
      const isEqual = isDeepStrictEqual(ws, ours);
      counts[isEqual ? 'equal' : 'different']++;
      if (isEqual && onlyWay === undefined) continue;
      console.log(`${isEqual ? 'equal' : 'DIFFERENT'}: ${name}`);
      const lanes = new Set([...Object.keys(ws), ...Object.keys(ours)]);
      for (const lane of lanes) {
        if (isEqual) console.log(lane, inspect(ws[lane], { maxArrayLength: null, maxStringLength: null, breakLength: 160 }));
        else if (!isDeepStrictEqual(ws[lane], ours[lane])) console.log(lane, { ws: ws[lane], ours: ours[lane] });
      }
    } catch (error) {
      counts.failed++;
      console.log(`FAILED: ${name}`, error);
    }
  }
}
console.log(counts);
