// Mixes the parts of stock Kubernetes with ours: `node scripts/stock.mjs --binaries=DIR [vitest arguments]`.
// Guarantees: nothing of Kubernetes is fetched or kept; without its programs it says how to give them; the table has a row per
// part and per hand-over, and a row that failed gives a non-zero exit code.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { reportFailure } from './lib/failure.mjs';
import { runVisibly } from './lib/run.mjs';
import { binariesFault, matrixTable, parseStockArguments, STOCK_USAGE, stockVersion } from './lib/stock.mjs';
import { inTree, root } from './lib/tree.mjs';

async function main(args) {
  const { binaries, help, vitestArgs } = parseStockArguments(args, process.env);
  if (help) return void process.stdout.write(STOCK_USAGE);
  const fault = binariesFault(binaries);
  if (fault !== undefined) {
    process.stderr.write(`${fault}\n\n${STOCK_USAGE}`);
    process.exitCode = 2;
    return;
  }
  const setup = await runVisibly(process.execPath, [inTree('scripts', 'setup.mjs'), 'test'], { cwd: root });
  if (setup !== 0) throw new Error('set-up failed');
  const folder = mkdtempSync(path.join(tmpdir(), 'trellis-stock-'));
  const results = path.join(folder, 'results.json');
  try {
    const vitest = [inTree('node_modules', 'vitest', 'vitest.mjs'), 'run', '--configLoader', 'runner'];
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${results}`];
    process.exitCode = await runVisibly(
      process.execPath,
      [...vitest, '--project', 'stock', ...reporters, ...vitestArgs],
      { cwd: root, env: { ...process.env, TRELLIS_STOCK: binaries } },
    );
    const table = matrixTable(JSON.parse(readFileSync(results, 'utf8')));
    process.stdout.write(`\nWith ${stockVersion(binaries)} in ${binaries}\n\n${table}\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

main(process.argv.slice(2)).catch(reportFailure);
