// The same programs on ws and on this package: logs are equal, or listed with a reason.
import test from 'ava';

import { differences } from './differential/differences.mjs';
import { scenarios } from './differential/scenarios.mjs';
import { run } from './differential/scenario.mjs';

const reasonFor = ({ title }, way) =>
  differences.find((entry) => entry.scenario === title && (entry.ways === undefined || entry.ways.includes(way)))?.reason;

for (const scenario of scenarios) {
  for (const way of scenario.ways) {
    const reason = reasonFor(scenario, way);
    const title = way === undefined ? scenario.title : `${scenario.title} (${way})`;
    test.serial(reason === undefined ? title : `${title} [differs: ${reason}]`, async (t) => {
      const expected = await run(scenario, way, 'ws');
      const actual = await run(scenario, way, 'ours');
      if (reason === undefined) t.deepEqual(actual, expected);
      else t.notDeepEqual(actual, expected, 'a listed difference that is none any more');
    });
  }
}

test('at least 150 scenarios, and differences of existing ones only', (t) => {
  t.log(`${scenarios.length} scenarios, ${differences.length} differences`);
  t.true(scenarios.length >= 150);
  const titles = new Set(scenarios.map(({ title }) => title));
  t.deepEqual(differences.filter(({ scenario }) => !titles.has(scenario)), []);
  t.true(differences.every(({ reason }) => reason.length > 20));
});
