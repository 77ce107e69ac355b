// Shows the rows of a run: a table in the terminal, and all runs of this process as JSON and as one HTML page.
import { mkdirSync, writeFileSync } from 'node:fs';
import { arch, cpus, release } from 'node:os';
import { join } from 'node:path';
import { renderPage, type Section } from './html.js';
import type { Row } from './measure.js';
import { renderAll } from './report.js';

/** `TRELLIS_BENCH_OUT` names another directory. */
const OUT = process.env['TRELLIS_BENCH_OUT'] ?? join('build', 'bench');
const sections: Section[] = [];

export function publish(title: string, rows: readonly Row[]): void {
  console.log(`${renderAll(title, rows)}\n`);
  sections.push({ title, rows });
  mkdirSync(OUT, { recursive: true });
  const machine = `Linux ${release()}, ${arch()}, ${cpus().length} cores, Node ${process.versions.node}`;
  const [page, data] = [join(OUT, 'proxy.html'), join(OUT, 'proxy.json')];
  writeFileSync(page, renderPage({ machine, date: new Date().toISOString().slice(0, 10), sections }));
  writeFileSync(data, `${JSON.stringify({ machine, sections }, null, 2)}\n`);
  console.log(`the report is ${page}, its numbers are in ${data}\n`);
}
