// Figures of many runs: medians, spread, ratios.

/**
 * @typedef {Record<string, any> & { round: number }} Run One line of the load generator,
 * and the round it was measured in.
 */
/** @typedef {{ median: number, min: number, max: number, runs: number }} Summary */

/**
 * @param {number[]} values At least one
 * @returns {number}
 */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * @param {Run[] | undefined} runs
 * @param {string} metric
 * @returns {Summary | undefined} Nothing when no run has the metric
 */
export function summarize(runs, metric) {
  const values = (runs ?? []).map((run) => run[metric]).filter((value) => typeof value === 'number');
  if (values.length === 0) return undefined;
  return { median: median(values), min: Math.min(...values), max: Math.max(...values), runs: values.length };
}

/**
 * How much more than the base, with the spread over the rounds.
 *
 * @param {Run[] | undefined} runs
 * @param {Run[] | undefined} base
 * @param {string} metric
 * @returns {{ ofMedians: number, ofRounds: number, min: number, max: number } | undefined} Nothing when there is nothing to subtract
 */
export function differences(runs, base, metric) {
  return compared(runs, base, metric, (ours, theirs) => ours - theirs);
}

/**
 * Two ratios of the same runs. That of the medians uses all of them; that of the rounds cancels
 * drift from round to round. When they disagree, the machine was not quiet enough.
 *
 * @param {Run[] | undefined} runs
 * @param {Run[] | undefined} base
 * @param {string} metric
 * @returns {{ ofMedians: number, ofRounds: number, min: number, max: number } | undefined} Nothing when there is nothing to divide
 */
export function ratios(runs, base, metric) {
  return compared(runs, base, metric, (ours, theirs) => (theirs > 0 ? ours / theirs : undefined));
}

/**
 * @param {Run[] | undefined} runs
 * @param {Run[] | undefined} base
 * @param {string} metric
 * @param {(ours: number, theirs: number) => number | undefined} compare
 */
function compared(runs, base, metric, compare) {
  const [ours, theirs] = [summarize(runs, metric), summarize(base, metric)];
  const ofMedians = ours && theirs && compare(ours.median, theirs.median);
  if (ofMedians === undefined) return undefined;
  const perRound = (runs ?? []).flatMap((run) => {
    const other = base?.find(({ round }) => round === run.round)?.[metric];
    const measured = typeof other === 'number' && typeof run[metric] === 'number';
    return (measured ? compare(run[metric], other) : undefined) ?? [];
  });
  if (perRound.length === 0) return undefined;
  return { ofMedians, ofRounds: median(perRound), min: Math.min(...perRound), max: Math.max(...perRound) };
}
