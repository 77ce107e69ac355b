// A whole control plane killed in the middle of its work: what starts on its store goes on, and makes nothing twice.
// TRELLIS_LARGE=1 does it with 5,000 nodes and 30,000 pods.
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ControlPlane,
  inParallel,
  makeTestbed,
  type Testbed,
} from '../../../bench/controllers/controlPlane.js';
import { web } from '../../../bench/controllers/deployment.js';
import { type Kubelets, playKubelets } from '../../../bench/controllers/kubelets.js';
import { controllerOf } from '../../../src/api/object.js';
import { DEPLOYMENTS, REPLICA_SETS } from '../../../src/api/resources.js';

const LARGE = process.env['TRELLIS_LARGE'] === '1';
const [NODES, COUNT, REPLICAS] = LARGE ? [5_000, 300, 100] : [20, 4, 25];
const PODS = COUNT * REPLICAS;
const LIMIT_MS = LARGE ? 3_600_000 : 240_000;

let testbed: Testbed;
let kubelets: Kubelets | undefined;
beforeAll(async () => {
  testbed = await makeTestbed(path.resolve('dist/bench/controllers/serve.js'));
}, 60_000);
afterAll(async () => {
  kubelets?.stop();
  await testbed.clean();
}, 60_000);

/** The large run is long, and worth its figures. */
function tell(start: number, what: string, plane: ControlPlane): void {
  if (!LARGE) return;
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  process.stderr.write(`${seconds} s: ${what}; the control plane has ${plane.residentMb().toFixed(0)} MB\n`);
}

async function begin(): Promise<ControlPlane> {
  const plane = await testbed.start();
  kubelets = await playKubelets(plane.client, NODES);
  return plane;
}

test(
  `${PODS} pods on ${NODES} nodes are there once, though the control plane died on the way`,
  async () => {
    const start = performance.now();
    const first = await begin();
    await inParallel(COUNT, (number) =>
      first.client.of(DEPLOYMENTS).create(web(`web-${number}`, 'registry.local/web:1', REPLICAS)),
    );
    const before = kubelets?.seen ?? new Set();
    await kubelets?.until(() => before.size >= PODS / 3);
    kubelets?.stop();
    tell(start, `killed with ${before.size} pods made`, first);
    await first.kill();
    const second = await begin();
    const made = () => new Set([...before, ...(kubelets?.seen ?? [])]);
    await kubelets?.until(() => kubelets?.ready().length === PODS);
    tell(start, `${made().size} pods made, all ready`, second);
    const sets = new Map<string, number>();
    for (const pod of kubelets?.pods() ?? []) {
      const { name = '' } = controllerOf(pod) ?? {};
      sets.set(name, (sets.get(name) ?? 0) + 1);
    }
    expect([...sets.values()]).toEqual(new Array(COUNT).fill(REPLICAS));
    expect((await second.client.of(REPLICA_SETS).list({ namespace: 'default' })).items).toHaveLength(COUNT);
    expect(made().size).toBe(PODS);
  },
  LIMIT_MS,
);
