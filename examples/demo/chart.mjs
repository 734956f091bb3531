// A chart that compares two lines: the last figures in large type, and those before them.

const WIDTH = 300;
const HEIGHT = 100;
/** The lines compared, and their styles. */
const SERVERS = { 'reactor-ws': { style: 'ours', title: 'reactor-ws' }, ws: { style: 'theirs', title: 'ws' } };

export class Chart {
  #numbers = {};
  #paths = {};
  #blocked;
  #top;
  #settings;
  #svg;

  /**
   * @param {HTMLElement} parent
   * @param {{ key: string, title: string, unit: string, lines?: typeof SERVERS,
   *   floor?: number, top?: number, clips?: boolean, note?: string }} settings
   *   `floor`: on a logarithmic scale that begins there; `top`: the scale ends there at least;
   *   `clips`: a burst does not flatten the rest; `note`: a sentence below
   */
  constructor(parent, settings) {
    const { lines = SERVERS } = settings;
    this.#settings = { ...settings, lines };
    const figure = parent.appendChild(document.createElement('figure'));
    figure.className = 'card';
    figure.id = `chart-${settings.key}`;
    const values = Object.entries(lines).map(
      ([name, { style, title }]) => `<dt class="${style}">${title}</dt><dd><span class="${name}">–</span> <small>${settings.unit}</small></dd>`,
    );
    const paths = Object.values(lines).map(({ style }) => `<path class="${style}" d=""/>`);
    figure.innerHTML = `<h2>${settings.title}</h2><dl>${values.join('')}</dl>
      <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img"><path class="blocked" d=""/>${paths.join('')}</svg>
      <p class="note"><span>${settings.floor === undefined ? 'from 0' : `from ${settings.floor}, logarithmic`}</span><span class="top"></span></p>${settings.note === undefined ? '' : `<p class="note">${settings.note}</p>`}`;
    this.#svg = figure.querySelector('svg');
    this.#blocked = figure.querySelector('path.blocked');
    this.#top = figure.querySelector('.top');
    for (const [name, { style }] of Object.entries(lines)) {
      this.#numbers[name] = figure.querySelector(`span.${name}`);
      this.#paths[name] = figure.querySelector(`path.${style}`);
    }
  }

  /**
   * @param {{ isBlocked: boolean, servers: Record<string, Record<string, number | null>> }[]}
   * samples The oldest first
   */
  draw(samples) {
    const { clips, floor, key, lines, title, top: least = 1, unit } = this.#settings;
    const values = (name) => samples.map(({ servers }) => servers[name][key] ?? 0);
    const shown = Object.keys(lines).flatMap(values);
    const highest = Math.max(least, ...shown);
    const top = clips ? Math.min(highest, Math.max(least, 2 * median(shown))) : highest;
    // The samples fill the chart, from the first two on.
    const x = (index) => ((index / Math.max(1, samples.length - 1)) * WIDTH).toFixed(1);
    const share = (value) => (floor === undefined ? Math.min(value / top, 1) : Math.log(Math.max(value, floor) / floor) / Math.log(top / floor));
    const y = (value) => (HEIGHT - share(value) * (HEIGHT - 4) - 2).toFixed(1);
    const spoken = [];
    for (const [name, path] of Object.entries(this.#paths)) {
      const all = values(name);
      const last = samples.at(-1).servers[name][key];
      path.setAttribute('d', all.length < 2 ? '' : `M${all.map((value, index) => `${x(index)},${y(value)}`).join('L')}`);
      this.#numbers[name].textContent = format(last);
      spoken.push(`${lines[name].title} ${format(last)} ${unit}`);
    }
    const stripes = samples.flatMap(({ isBlocked }, index) => (isBlocked && index > 0 ? [`M${x(index - 1)},0V${HEIGHT}H${x(index)}V0Z`] : []));
    this.#blocked.setAttribute('d', stripes.join(''));
    this.#top.textContent = `to ${format(Math.ceil(top))} ${unit}${top < highest ? `, bursts to ${format(Math.ceil(highest))}` : ''}`;
    this.#svg.setAttribute('aria-label', `${title}: ${spoken.join(', ')}`);
  }
}

/** @param {number[]} values Those that are 0 do not count */
function median(values) {
  const sorted = values.filter((value) => value > 0).sort((a, b) => a - b);
  return sorted.length === 0 ? 0 : sorted[sorted.length >> 1];
}

/** @param {number | null} value */
export function format(value) {
  return value === null ? '–' : value.toLocaleString('en');
}
