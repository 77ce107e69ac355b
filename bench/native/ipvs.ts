// IPVS is measured where the kernel has it: this boots the virtual machine and brings its figures back.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../../src/kernel/projectRoot.js';
import type { Figure } from '../lib/figure.js';
import { runsOf } from '../lib/options.js';
import { runTool } from '../lib/tool.js';

const guest = join(dirname(fileURLToPath(import.meta.url)), 'ipvsGuest.js');

export async function ipvs(): Promise<Figure[]> {
  const runs = String(runsOf(5));
  const runner = join(projectRoot(), 'scripts/vm/run.mjs');
  const env = ['--env', `TRELLIS_BENCH_RUNS=${runs}`] as const;
  const output = await runTool([process.execPath, runner, ...env, '--', process.execPath, guest]);
  return JSON.parse(output.trim().split('\n').at(-1) ?? '') as Figure[];
}
