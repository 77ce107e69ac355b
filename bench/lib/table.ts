// Figures as a table, for the terminal and for a page. Pure.
// Guarantees: both tell of every figure its median, spread, runs, peer, goal and whether that was met.
import type { Figure } from './figure.js';
import { round, withSpread } from './samples.js';

const HEADER = ['benchmark', 'ours', 'runs', 'peer', 'ratio', 'goal', 'met'];

function cells(figure: Figure): string[] {
  const { name, unit, ours, peer, goal, met, note } = figure;
  return [
    note === undefined ? name : `${name} (${note})`,
    withSpread(ours, unit),
    String(ours.runs),
    peer === undefined ? '' : `${peer.name} ${withSpread(peer.summary, unit)}`,
    peer === undefined ? '' : `${round(peer.ratio)}x`,
    goal,
    goal === '' ? '' : met ? 'yes' : 'NO',
  ];
}

export function renderFigures(figures: readonly Figure[]): string {
  const rows = figures.map(cells);
  const widths = HEADER.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const line = (texts: readonly string[]) =>
    texts
      .map((text, i) => text.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(HEADER), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

export function markdownFigures(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => cells(figure).map((text) => (text === 'NO' ? '**no**' : text)));
  return markdownTable(HEADER, rows);
}

export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (texts: readonly string[]) =>
    `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(header), `|${'---|'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}
