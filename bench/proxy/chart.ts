// The comparison as one picture for a page: three plots of one kernel side by side. Pure.
// Guarantees: whole in itself, readable on a light and on a dark page.
import type { Section } from './html.js';
import { captionOf, colourOf, drawPlot, escaped, mark, PLOT_SIZE, type Plot } from './plot.js';

const PLOTS: readonly Plot[] = [
  { title: 'Full sync from nothing', unit: 'ms', better: 'less', quantity: 'fullMs' },
  { title: 'One changed endpoint', unit: 'ms', better: 'less', quantity: 'changeMs' },
  { title: 'New connection to the last service', unit: 'µs', better: 'less', quantity: 'lastUs' },
];

const [TOP, GAP] = [64, 16];
const LEGEND_WIDTH = 150;

const STYLE = `text { font: 12px system-ui, sans-serif; fill: #6b7078; } .title { font-weight: 600; } .grid { stroke: #c4c8ce; }
@media (prefers-color-scheme: dark) { text { fill: #9aa0a8; } .grid { stroke: #4a5058; } }`;

export function renderChart({ title, rows }: Section): string {
  const labels = [...new Set(rows.map(({ label }) => label))];
  const width = PLOTS.length * (PLOT_SIZE.width + GAP);
  const legend = labels.map((label, index) => {
    const x = 10 + index * LEGEND_WIDTH;
    return `${mark(index, x + 4, 38, colourOf(index))}<text x="${x + 14}" y="42">${escaped(label)}</text>`;
  });
  const plots = PLOTS.map((plot, index) => {
    const x = index * (PLOT_SIZE.width + GAP);
    return `<text class="title" x="${x + 10}" y="${TOP}">${escaped(captionOf(plot))} (${plot.better} is better)</text>
<g transform="translate(${x} ${TOP + 8})">${drawPlot(plot, rows, labels)}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${TOP + 8 + PLOT_SIZE.height}" role="img" aria-label="${escaped(title)}">
<style>${STYLE}</style>
<text class="title" x="10" y="18">${escaped(title)}</text>
${legend.join('')}
${plots.join('\n')}
</svg>
`;
}
