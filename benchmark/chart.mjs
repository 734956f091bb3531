// Horizontal bar charts as SVG text.

/** @typedef {{ name: string, value: number, label: string, min: number, max: number }} Bar */
/** @typedef {{ name: string, bars: Bar[] }} Group */

const WIDTH = 760;
const LEFT = 190;
const RIGHT = 110;
const ROW = 20;
const HEAD = 56;
const GAP = 34;
const COLORS = ['#8b949e', '#1f6feb', '#d29922', '#58a6ff', '#3fb950', '#bc8cff', '#f778ba', '#a371f7'];

/**
 * A chart whose groups have a scale of their own: they differ by orders of magnitude. Whiskers
 * are the least and the greatest run.
 *
 * @param {{ title: string, subtitle: string, groups: Group[] }} chart
 * @returns {string}
 */
export function barChart({ title, subtitle, groups }) {
  const names = [...new Set(groups.flatMap(({ bars }) => bars.map(({ name }) => name)))];
  const color = (/** @type {string} */ name) => COLORS[names.indexOf(name) % COLORS.length];
  const parts = [text(16, 24, title, 'title'), text(16, 42, subtitle, 'small')];
  let y = HEAD;
  for (const { name, bars } of groups) {
    y += GAP;
    parts.push(text(16, y - 8, name, 'group'));
    const longest = Math.max(...bars.map(({ max }) => max));
    const scale = (/** @type {number} */ value) => round((value / longest) * (WIDTH - LEFT - RIGHT));
    for (const bar of bars) {
      const middle = y + ROW / 2;
      parts.push(
        text(LEFT - 8, middle + 4, bar.name, 'name'),
        `<rect x="${LEFT}" y="${y + 3}" width="${scale(bar.value)}" height="${ROW - 6}" fill="${color(bar.name)}"/>`,
        `<path d="M${LEFT + scale(bar.min)} ${middle}H${LEFT + scale(bar.max)}" class="spread"/>`,
        text(LEFT + scale(bar.max) + 6, middle + 4, bar.label, 'label'),
      );
      y += ROW;
    }
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 16}" role="img" aria-label="${escape(title)}">
<style>
  svg { background: #fff; font: 12px system-ui, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 } .group { font-weight: 600 } .small { fill: #59636e }
  .name { text-anchor: end } .spread { stroke: #1f2328; stroke-width: 1.5 }
</style>
<rect width="100%" height="100%" fill="#fff"/>
${parts.join('\n')}
</svg>
`;
}

/**
 * @param {number} x
 * @param {number} y
 * @param {string} content
 * @param {string} name Class
 */
function text(x, y, content, name) {
  return `<text x="${round(x)}" y="${round(y)}" class="${name}">${escape(content)}</text>`;
}

/**
 * @param {string} content
 * @returns {string} As text or an attribute of XML
 */
export function escape(content) {
  return content.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/**
 * @param {number} value
 */
function round(value) {
  return Math.round(value * 10) / 10;
}
