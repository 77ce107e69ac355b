// One plot over the number of services, drawn as SVG. Pure.
// Guarantees: both axes are logarithmic, so that a straight line is a power of the size; every text is escaped.
import { round } from '../lib/samples.js';
import { medianOf, type Quantity } from './columns.js';
import type { Row } from './measure.js';

export interface Plot {
  readonly title: string;
  readonly unit: string;
  readonly better: 'less' | 'more';
  readonly quantity: Quantity;
}

/** Told apart also by those who do not see every colour (Okabe and Ito's palette), and by their marks. */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];
export const colourOf = (index: number) => COLOURS[index % COLOURS.length] ?? '';

export const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

export const PLOT_SIZE = { width: 460, height: 300 } as const;
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

export function mark(index: number, x: number, y: number, colour: string): string {
  const [left, top] = [(x - 4).toFixed(1), (y - 4).toFixed(1)];
  if (index % 4 === 3)
    return `<path d="M${x.toFixed(1)} ${(y - 6).toFixed(1)}l6 6l-6 6l-6 -6z" fill="${colour}"/>`;
  if (index % 4 === 1) return `<rect x="${left}" y="${top}" width="8" height="8" fill="${colour}"/>`;
  if (index % 4 === 2) return `<path d="M${x.toFixed(1)} ${(y - 5).toFixed(1)}l5 9h-10z" fill="${colour}"/>`;
  return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="4.5" fill="${colour}"/>`;
}

/** The drawing alone; its first line's attributes are the caller's. */
export function drawPlot({ quantity, unit }: Plot, rows: readonly Row[], labels: readonly string[]): string {
  const shown = rows.filter((row) => medianOf(row, quantity) > 0);
  const sizes = [...new Set(shown.map(({ services }) => services))].sort((a, b) => a - b);
  const x = axis(sizes, AREA.left, AREA.right);
  const y = axis(
    shown.map((row) => medianOf(row, quantity)),
    AREA.bottom,
    AREA.top,
  );
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
    const colour = colourOf(index);
    const places = points.map((row) => [x.at(row.services), y.at(medianOf(row, quantity)), row] as const);
    const path = places.map(([left, top]) => `${left.toFixed(1)},${top.toFixed(1)}`).join(' ');
    const marks = places.map(([left, top, row]) => {
      const words = `${label}, ${row.services.toLocaleString('en')} services: ${round(medianOf(row, quantity))} ${unit}`;
      return `<g><title>${escaped(words)}</title>${mark(index, left, top, colour)}</g>`;
    });
    return `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${marks.join('')}`;
  });
  const below = `<text x="${(AREA.left + AREA.right) / 2}" y="${PLOT_SIZE.height - 6}" text-anchor="middle">services</text>`;
  return `${grid.join('')}${along.join('')}${below}\n${lines.join('\n')}`;
}

export const captionOf = ({ title, unit }: Plot) => `${title}${unit === '' ? '' : `, ${unit}`}`;
