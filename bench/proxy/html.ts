// The comparison as one page that needs nothing else: a table and plots, drawn as SVG. Pure.
// Guarantees: every text is escaped; both axes of a plot are logarithmic, so that a straight line is a power of the size.
import { COLUMNS, NOTES, round } from './columns.js';
import type { Row } from './measure.js';

export interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
}

export interface Page {
  readonly machine: string;
  readonly date: string;
  readonly sections: readonly Section[];
}

interface Plot {
  readonly title: string;
  readonly unit: string;
  readonly better: 'less' | 'more';
  value(row: Row): number;
}

const PLOTS: readonly Plot[] = [
  { title: 'Full sync from nothing', unit: 'ms', better: 'less', value: (row) => row.fullMs },
  { title: 'One changed endpoint', unit: 'ms', better: 'less', value: (row) => row.changeMs },
  {
    title: 'CPU time of one changed endpoint',
    unit: 'ms',
    better: 'less',
    value: (row) => row.changeCpuMs,
  },
  {
    title: 'New connection to the last service',
    unit: 'µs',
    better: 'less',
    value: (row) => row.lastUs,
  },
  { title: 'New connections a second', unit: '', better: 'more', value: (row) => row.connectionsPerSecond },
  { title: 'Memory of the proxy', unit: 'MB', better: 'less', value: (row) => row.rssMb },
];

/** Told apart also by those who do not see every colour (Okabe and Ito's palette), and by their marks. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const [WIDTH, HEIGHT] = [460, 300];
const LABEL_WIDTH = 34;
const AREA = { left: 62, top: 16, right: 446, bottom: 256 } as const;

/** A place on a logarithmic axis, and the powers of ten along it. */
function axis(values: readonly number[], from: number, to: number) {
  const [least, most] = [Math.log10(Math.min(...values)), Math.log10(Math.max(...values))];
  const margin = Math.max((most - least) * 0.06, 0.1);
  const [low, high] = [least - margin, most + margin];
  const at = (value: number) => from + ((Math.log10(value) - low) / (high - low)) * (to - from);
  // Where there are few powers of ten, numbers between them too.
  const span = high - low;
  const steps = span < 0.8 ? [1, 1.5, 2, 3, 4, 5, 7] : span < 1.6 ? [1, 2, 5] : [1];
  const ticks = Array.from({ length: 24 }, (_, i) => steps.map((step) => step * 10 ** (i - 6))).flat();
  return { at, ticks: ticks.filter((tick) => Math.log10(tick) > low && Math.log10(tick) < high) };
}

/** Those of the sizes whose numbers do not run into one another. */
function apart(sizes: readonly number[], at: (size: number) => number): number[] {
  const kept: number[] = [];
  for (const size of sizes) {
    const last = kept.at(-1);
    if (last === undefined || at(size) - at(last) >= LABEL_WIDTH) kept.push(size);
  }
  return kept;
}

function mark(index: number, x: number, y: number, colour: string): string {
  const [left, top] = [(x - 4).toFixed(1), (y - 4).toFixed(1)];
  if (index % 4 === 3)
    return `<path d="M${x.toFixed(1)} ${(y - 6).toFixed(1)}l6 6l-6 6l-6 -6z" fill="${colour}"/>`;
  if (index % 4 === 1) return `<rect x="${left}" y="${top}" width="8" height="8" fill="${colour}"/>`;
  if (index % 4 === 2) return `<path d="M${x.toFixed(1)} ${(y - 5).toFixed(1)}l5 9h-10z" fill="${colour}"/>`;
  return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="4.5" fill="${colour}"/>`;
}

function plot({ title, unit, better, value }: Plot, rows: readonly Row[], labels: readonly string[]): string {
  const shown = rows.filter((row) => value(row) > 0);
  const sizes = [...new Set(shown.map(({ services }) => services))].sort((a, b) => a - b);
  const x = axis(sizes, AREA.left, AREA.right);
  const y = axis(shown.map(value), AREA.bottom, AREA.top);
  const grid = y.ticks.map((tick) => {
    const at = y.at(tick).toFixed(1);
    const line = `<line x1="${AREA.left}" x2="${AREA.right}" y1="${at}" y2="${at}" class="grid"/>`;
    return `${line}<text x="${AREA.left - 6}" y="${at}" dy="4" text-anchor="end">${tick.toLocaleString('en')}</text>`;
  });
  const along = apart(sizes, x.at).map(
    (size) =>
      `<text x="${x.at(size).toFixed(1)}" y="${AREA.bottom + 18}" text-anchor="middle">${size.toLocaleString('en')}</text>`,
  );
  const lines = labels.map((label, index) => {
    const points = shown.filter((row) => row.label === label).sort((a, b) => a.services - b.services);
    const colour = COLOURS[index % COLOURS.length] ?? '';
    const places = points.map((row) => [x.at(row.services), y.at(value(row)), row] as const);
    const path = places.map(([left, top]) => `${left.toFixed(1)},${top.toFixed(1)}`).join(' ');
    const marks = places.map(([left, top, row]) => {
      const words = `${label}, ${row.services.toLocaleString('en')} services: ${round(value(row))} ${unit}`;
      return `<g><title>${escaped(words)}</title>${mark(index, left, top, colour)}</g>`;
    });
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${marks.join('')}`;
  });
  const caption = `${title}${unit === '' ? '' : `, ${unit}`}`;
  return `<figure><figcaption>${escaped(caption)} <small>(${better} is better)</small></figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(caption)}">
${grid.join('')}${along.join('')}<text x="${(AREA.left + AREA.right) / 2}" y="${HEIGHT - 6}" text-anchor="middle">services</text>
${lines.join('\n')}
</svg></figure>`;
}

function section({ title, rows }: Section): string {
  const labels = [...new Set(rows.map(({ label }) => label))];
  const legend = labels.map((label, index) => {
    const colour = COLOURS[index % COLOURS.length] ?? '';
    return `<li><svg width="14" height="14" viewBox="0 0 14 14">${mark(index, 7, 7, colour)}</svg> ${escaped(label)}</li>`;
  });
  const cells = (row: Row) => COLUMNS.map(([, text]) => `<td>${escaped(text(row))}</td>`).join('');
  return `<section><h2>${escaped(title)}</h2>
<ul class="legend">${legend.join('')}</ul>
<div class="plots">${PLOTS.map((one) => plot(one, rows, labels)).join('\n')}</div>
<div class="wide"><table><thead><tr>${COLUMNS.map(([name]) => `<th>${escaped(name)}</th>`).join('')}</tr></thead>
<tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join('\n')}</tbody></table></div>
${NOTES.map((note) => `<p class="note">${escaped(note)}</p>`).join('\n')}
</section>`;
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #6b7078; --line: #d9dce1; --ground: #ffffff; --card: #f7f8fa; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #9aa0a8; --line: #3a3f47; --ground: #16181c; --card: #1e2126; } }
body { margin: 2rem auto; max-width: 1240px; padding: 0 1rem; background: var(--ground); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin-bottom: 0.2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; } p { color: var(--soft); } .note { margin: 0.2rem 0; font-size: 13px; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(330px, 1fr)); gap: 1rem; }
figure { margin: 0; padding: 0.8rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
figcaption { font-weight: 600; } small { color: var(--soft); font-weight: 400; }
figure svg { display: block; } svg text { font-size: 11px; fill: var(--soft); } .grid { stroke: var(--line); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0.4rem 1.4rem; padding: 0; } .legend svg { vertical-align: -2px; }
.wide { overflow-x: auto; margin-top: 1rem; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; width: 100%; }
th, td { padding: 0.3rem 0.5rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { color: var(--soft); font-weight: 600; white-space: normal; vertical-align: bottom; } td:nth-child(2), th:nth-child(2) { text-align: left; }
`;

export const renderPage = ({ machine, date, sections }: Page): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Proxy modes compared</title><style>${STYLE}</style></head><body>
<h1>Proxy modes compared</h1>
<p>Services of two endpoints each; every mode does the same work in a fresh namespace and a process of its own. ${escaped(machine)}; ${escaped(date)}.</p>
${sections.map(section).join('\n')}
</body></html>
`;
