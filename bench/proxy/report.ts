// The comparison for people: a table, and bars of one column over the sizes. Pure.
import { round } from '../lib/samples.js';
import { COLUMNS, medianOf, NOTES, type Quantity } from './columns.js';
import type { Section } from './html.js';
import type { Row } from './measure.js';

export function renderRows({ title, rows }: Section): string {
  const cells = rows.map((row) => COLUMNS.map(([, text]) => text(row)));
  const widths = COLUMNS.map(([name], i) =>
    Math.max(name.length, ...cells.map((line) => line[i]?.length ?? 0)),
  );
  const line = (texts: readonly string[]) => texts.map((text, i) => text.padStart(widths[i] ?? 0)).join('  ');
  return [
    title,
    line(COLUMNS.map(([name]) => name)),
    line(widths.map((width) => '-'.repeat(width))),
    ...cells.map(line),
    ...NOTES,
  ].join('\n');
}

const WIDTH = 48;

/** Bars on a logarithmic scale: a step of the same length is the same factor. */
function plot(title: string, rows: readonly Row[], quantity: Quantity, unit: string): string {
  const values = rows.map((row) => medianOf(row, quantity));
  const [least, most] = [Math.log10(Math.min(...values) / 2), Math.log10(Math.max(...values))];
  const label = (row: Row) => `${row.label} ${row.services}`;
  const wide = Math.max(...rows.map((row) => label(row).length));
  const bars = rows.map((row) => {
    const value = medianOf(row, quantity);
    const length = Math.round((WIDTH * (Math.log10(value) - least)) / Math.max(most - least, 1e-9));
    return `  ${label(row).padStart(wide)} ${'█'.repeat(Math.max(1, length))} ${round(value)} ${unit}`;
  });
  return [`${title} (logarithmic)`, ...bars].join('\n');
}

export const renderAll = (section: Section) =>
  [
    renderRows(section),
    plot('full sync', section.rows, 'fullMs', 'ms'),
    plot('one changed endpoint', section.rows, 'changeMs', 'ms'),
    plot('a new connection to the last service', section.rows, 'lastUs', 'µs'),
  ].join('\n\n');
