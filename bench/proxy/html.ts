// The comparison as one page that needs nothing else: a table and plots, drawn as SVG. Pure.
// Guarantees: every text is escaped.
import { COLUMNS, NOTES } from './columns.js';
import type { Row } from './measure.js';
import { captionOf, colourOf, drawPlot, escaped, mark, PLOT_SIZE, type Plot } from './plot.js';

export interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
}

interface Page {
  readonly machine: string;
  readonly date: string;
  readonly sections: readonly Section[];
}

const PLOTS: readonly Plot[] = [
  { title: 'Full sync from nothing', unit: 'ms', better: 'less', quantity: 'fullMs' },
  { title: 'One changed endpoint', unit: 'ms', better: 'less', quantity: 'changeMs' },
  { title: 'CPU time of one changed endpoint', unit: 'ms', better: 'less', quantity: 'changeCpuMs' },
  { title: 'New connection to the last service', unit: 'µs', better: 'less', quantity: 'lastUs' },
  { title: 'New connections a second', unit: '', better: 'more', quantity: 'connectionsPerSecond' },
  { title: 'Memory of the proxy', unit: 'MB', better: 'less', quantity: 'rssMb' },
];

function figure(plot: Plot, rows: readonly Row[], labels: readonly string[]): string {
  const caption = escaped(captionOf(plot));
  return `<figure><figcaption>${caption} <small>(${plot.better} is better)</small></figcaption>
<svg viewBox="0 0 ${PLOT_SIZE.width} ${PLOT_SIZE.height}" role="img" aria-label="${caption}">
${drawPlot(plot, rows, labels)}
</svg></figure>`;
}

function section({ title, rows }: Section): string {
  const labels = [...new Set(rows.map(({ label }) => label))];
  const legend = labels.map((label, index) => {
    const drawn = mark(index, 7, 7, colourOf(index));
    return `<li><svg width="14" height="14" viewBox="0 0 14 14">${drawn}</svg> ${escaped(label)}</li>`;
  });
  const cells = (row: Row) => COLUMNS.map(([, text]) => `<td>${escaped(text(row))}</td>`).join('');
  return `<section><h2>${escaped(title)}</h2>
<ul class="legend">${legend.join('')}</ul>
<div class="plots">${PLOTS.map((one) => figure(one, rows, labels)).join('\n')}</div>
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
