// The comparison for people: a table, and bars of one column over the sizes. Pure.
import { COLUMNS, NOTES, round } from './columns.js';
import type { Row } from './measure.js';

export function renderRows(title: string, rows: readonly Row[]): string {
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
export function plot(title: string, rows: readonly Row[], value: (row: Row) => number, unit: string): string {
  const values = rows.map(value);
  const [least, most] = [Math.log10(Math.min(...values) / 2), Math.log10(Math.max(...values))];
  const label = (row: Row) => `${row.label} ${row.services}`;
  const wide = Math.max(...rows.map((row) => label(row).length));
  const bars = rows.map((row) => {
    const length = Math.round((WIDTH * (Math.log10(value(row)) - least)) / Math.max(most - least, 1e-9));
    return `  ${label(row).padStart(wide)} ${'█'.repeat(Math.max(1, length))} ${round(value(row))} ${unit}`;
  });
  return [`${title} (logarithmic)`, ...bars].join('\n');
}

export const renderAll = (title: string, rows: readonly Row[]) =>
  [
    renderRows(title, rows),
    plot('full sync', rows, (row) => row.fullMs, 'ms'),
    plot('one changed endpoint', rows, (row) => row.changeMs, 'ms'),
    plot('a new connection to the last service', rows, (row) => row.lastUs, 'µs'),
  ].join('\n\n');
