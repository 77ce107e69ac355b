// Shows the rows of a run: a table in the terminal, and all runs of this process as JSON and as one HTML page.
// Guarantees: where the pages of the project are to be written (--docs), their table and picture are those of this run.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/kernel/projectRoot.js';
import { machineLine, today } from '../lib/machine.js';
import { writeBlock } from '../lib/pages.js';
import { markdownTable } from '../lib/table.js';
import { renderChart } from './chart.js';
import { COLUMNS } from './columns.js';
import { renderPage, type Section } from './html.js';
import { renderAll } from './report.js';

/** `TRELLIS_BENCH_OUT` names another directory. */
const OUT = process.env['TRELLIS_BENCH_OUT'] ?? join('build', 'bench');
const sections: Section[] = [];

export function publish(name: 'proxy/host' | 'proxy/vm', section: Section): void {
  console.log(`${renderAll(section)}\n`);
  sections.push(section);
  mkdirSync(OUT, { recursive: true });
  const [machine, date] = [machineLine(), today()];
  const [page, data] = [join(OUT, 'proxy.html'), join(OUT, 'proxy.json')];
  writeFileSync(page, renderPage({ machine, date, sections }));
  writeFileSync(data, `${JSON.stringify({ machine, date, sections }, null, 2)}\n`);
  console.log(`the report is ${page}, its numbers are in ${data}\n`);
  if (process.env['TRELLIS_BENCH_DOCS'] === undefined) return;
  const table = markdownTable(
    COLUMNS.map(([title]) => title),
    section.rows.map((row) => COLUMNS.map(([, text]) => text(row))),
  );
  writeBlock(projectRoot(), name, `${machine}; ${date}.\n\n${table}`);
  // The picture is of the kernel that has all modes.
  if (name === 'proxy/vm')
    writeFileSync(join(projectRoot(), 'docs', 'proxy-report.svg'), renderChart(section));
}
