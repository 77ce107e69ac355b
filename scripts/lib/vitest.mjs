// Runs vitest projects here or inside the virtual machine, and brings back how many tests did what.
// Guarantees: what vitest prints is seen as it comes, and a run without counts never passes for a good one.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { runVisibly } from './run.mjs';
import { inTree, root } from './tree.mjs';

const VITEST = inTree('node_modules', 'vitest', 'vitest.mjs');
const COUNTS_MARK = '##trellis-test-counts '; // as in test/support/reporter.ts

// The default loader bundles the configuration and writes it into the tree; this one does neither, and starts sooner in
// the virtual machine.
const vitestCommand = (projects, vitestArgs) => [
  VITEST,
  'run',
  '--configLoader',
  'runner',
  ...projects.flatMap((name) => ['--project', name]),
  ...vitestArgs,
];

/** Resolves to `{ code, counts }`; `env` is set over our own. */
export async function runVitest({ projects, vitestArgs, env: more = {} }) {
  const folder = mkdtempSync(path.join(tmpdir(), 'trellis-test-'));
  const file = path.join(folder, 'counts.json');
  try {
    const env = { ...process.env, ...more, TRELLIS_TEST_COUNTS: file };
    const code = await runVisibly(process.execPath, vitestCommand(projects, vitestArgs), { cwd: root, env });
    return outcome(code, existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * As runVitest, through scripts/vm and there in `machine`, where one is named; the counts come back as a marked line of output. Long proofs get the time they need.
 * `mark` is put before each line, to tell them from those of what runs beside.
 */
export function runVitestInVm({ projects, vitestArgs, env: more = {}, machine, mark = '' }) {
  const { CI, TRELLIS_PROOF } = { ...process.env, ...more };
  const handedOn = Object.entries({ ...more, CI, TRELLIS_PROOF }).flatMap(([name, value]) =>
    value ? [`${name}=${value}`] : [],
  );
  const inside = ['env', 'TRELLIS_TEST_COUNTS=stdout', ...handedOn];
  const isLong = TRELLIS_PROOF === 'long' || Object.keys(more).length > 0;
  const limit = ['--timeout-seconds', isLong ? '7200' : '1200'];
  const named = machine === undefined ? [] : ['--machine', machine];
  const command = [...inside, process.execPath, ...vitestCommand(projects, vitestArgs)];
  return new Promise((resolve, reject) => {
    const args = [inTree('scripts', 'vm', 'run.mjs'), ...named, ...limit, '--', ...command];
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    let counts;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const at = line.indexOf(COUNTS_MARK);
      if (at === -1) process.stdout.write(`${mark}${line}\n`);
      else counts = JSON.parse(line.slice(at + COUNTS_MARK.length));
    });
    child.on('error', reject);
    child.on('close', (code) => resolve(outcome(code ?? 1, counts)));
  });
}

function outcome(code, counts) {
  return { code: counts === undefined && code === 0 ? 1 : code, counts };
}
