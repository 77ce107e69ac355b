// What a scheduler holds in memory at 5,000 nodes and 30,000 pods: `Scheduler` on informers, as `trellis scheduler` has it.
// Guarantees: a process of its own; nodes and pods as our own server answers them, with defaults, status and managed fields.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { makeTestbed } from '../controllers/controlPlane.js';
import { settledPlane } from '../controllers/settled.js';
import { repeated } from '../lib/compare.js';
import { againstLimit, type Figure, told } from '../lib/figure.js';
import { runsOf, scaled } from '../lib/options.js';
import { residentMb } from '../lib/process.js';

const RUNS = 3;
const NODES = 5_000;
const [DEPLOYMENTS, REPLICAS] = [300, 100];
const LIMIT_MB = 300;
const FOLLOW = fileURLToPath(new URL('./follow.js', import.meta.url));

export async function memory(): Promise<Figure[]> {
  const testbed = await makeTestbed();
  try {
    const filling = { deployments: scaled(DEPLOYMENTS), replicas: REPLICAS, nodes: scaled(NODES) };
    const { server } = await settledPlane(testbed, filling);
    const runs = await repeated(runsOf(RUNS), () => resident(testbed.folder, server));
    const what = `a scheduler of ${filling.nodes} nodes and ${filling.deployments * REPLICAS} pods`;
    return [
      againstLimit({ name: `memory, ${what}`, unit: 'MB', samples: runs.map(({ kept }) => kept) }, LIMIT_MB),
      told({
        name: `the same, before the garbage of its first lists is collected`,
        unit: 'MB',
        samples: runs.map(({ started }) => started),
      }),
    ];
  } finally {
    await testbed.clean();
  }
}

async function resident(folder: string, server: string): Promise<{ started: number; kept: number }> {
  const child = fork(FOLLOW, [folder, server], { execArgv: ['--expose-gc', ...process.execArgv] });
  const pid = child.pid ?? 0;
  try {
    await message(child);
    const started = residentMb(pid);
    child.send('collect');
    await message(child);
    return { started, kept: residentMb(pid) };
  } finally {
    child.kill();
  }
}

function message(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', (code) => reject(new Error(`the scheduler ended with ${code}`)));
  });
}
