// What a control plane with 5,000 nodes and 30,000 pods needs while nothing happens: processor time and memory.
// Guarantees: the kernel's account of one process that holds store, apiserver, controllers and scheduler.
import { repeated } from '../lib/compare.js';
import { againstLimit, type Figure } from '../lib/figure.js';
import { runsOf, scaled } from '../lib/options.js';
import { makeTestbed } from './controlPlane.js';
import { settledPlane } from './settled.js';

const RUNS = 3;
const NODES = 5_000;
const [DEPLOYMENTS, REPLICAS] = [300, 100];
const IDLE_PERCENT = 1;
const MEMORY_MB = 900;
/** Shorter than what a silent node is granted: then its pods would be evicted, which is no rest. */
const WATCH_MS = 15_000;

export async function idle(): Promise<Figure[]> {
  const runs = await repeated(runsOf(RUNS), measure);
  const what = `${scaled(NODES)} nodes and ${scaled(DEPLOYMENTS) * REPLICAS} pods`;
  const samples = (name: 'percent' | 'mb') => runs.map((run) => run[name]);
  return [
    againstLimit({ name: `CPU at rest, ${what}`, samples: samples('percent'), unit: '%' }, IDLE_PERCENT),
    againstLimit({ name: `memory, ${what}`, samples: samples('mb'), unit: 'MB' }, MEMORY_MB),
  ];
}

async function measure(): Promise<{ percent: number; mb: number }> {
  const testbed = await makeTestbed();
  try {
    const plane = await settledPlane(testbed, {
      deployments: scaled(DEPLOYMENTS),
      replicas: REPLICAS,
      nodes: scaled(NODES),
    });
    const [start, cpu] = [performance.now(), plane.cpuSeconds()];
    await new Promise((resolve) => setTimeout(resolve, WATCH_MS));
    const percent = ((plane.cpuSeconds() - cpu) / (performance.now() - start)) * 100_000;
    return { percent, mb: plane.residentMb() };
  } finally {
    await testbed.clean();
  }
}
