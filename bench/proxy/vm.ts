// IPVS against the others where the kernel has it: inside one virtual machine, so that all meet the same slowness.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectRoot } from '../../src/kernel/projectRoot.js';
import type { Figure } from '../lib/figure.js';
import { runTool } from '../lib/tool.js';
import { vmGoals } from './goals.js';
import type { Row } from './measure.js';
import { publish } from './publish.js';

const guest = join(dirname(fileURLToPath(import.meta.url)), 'guest.js');
/** qemu has all three modes; TRELLIS_BENCH_MACHINE=uml is quicker and has no nftables. */
const machine = process.env['TRELLIS_BENCH_MACHINE'] ?? 'qemu';

export async function vm(): Promise<Figure[]> {
  const env = ['TRELLIS_BENCH_SIZES', 'TRELLIS_BENCH_RUNS'].flatMap((name) =>
    process.env[name] === undefined ? [] : ['--env', `${name}=${process.env[name]}`],
  );
  const command = [
    process.execPath,
    join(projectRoot(), 'scripts/vm/run.mjs'),
    '--machine',
    machine,
    '--timeout-seconds',
    '7200',
    ...env,
    '--',
    process.execPath,
    guest,
  ] as const;
  const output = await runTool(command, { onError: (text) => void process.stderr.write(text) });
  const rows = JSON.parse(output.trim().split('\n').at(-1) ?? '') as Row[];
  const title = `Inside a virtual machine (${machine}); compare only within this table`;
  publish('proxy/vm', { title, rows });
  return vmGoals(rows);
}
