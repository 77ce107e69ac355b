// 1,000 Services of 10 pods each: how soon their slices are right, and how soon a pod's readiness reaches its slice.
// Guarantees: a slice counts when it has the ten addresses; times are as a watcher over TLS sees them.
import type { V1EndpointSlice } from '../../src/api/gen/types.js';
import type { Stored } from '../../src/api/object.js';
import { ENDPOINT_SLICES, NODES, PODS, SERVICES } from '../../src/api/resources.js';
import { pause } from '../../src/base/deadline.js';
import { openInformers } from '../../src/client/sharedInformers.js';
import { repeated } from '../lib/compare.js';
import { againstLimit, type Figure } from '../lib/figure.js';
import { runsOf } from '../lib/options.js';
import { type ControlPlane, inParallel, makeTestbed, WRITES } from './controlPlane.js';
import { keepAlive } from './kubelets.js';
import { settledPlane } from './settled.js';

const RUNS = 3;
const COUNT = 1_000;
const PODS_EACH = 10;
const NODE_COUNT = 20;
const RIGHT_SECONDS = 3;
const CHANGE_MS = 20;
const CHANGES = 50;
const LOOK_MS = 50;

export async function services(): Promise<Figure[]> {
  const runs = await repeated(runsOf(RUNS), measure);
  const [rightAfter, changes] = [runs.map(({ seconds }) => seconds), runs.flatMap(({ times }) => times)];
  const name = `${COUNT} Services x ${PODS_EACH} pods: slices right`;
  return [
    againstLimit({ name, samples: rightAfter, unit: 's' }, RIGHT_SECONDS),
    againstLimit({ name: 'readiness change reaches its slice', samples: changes, unit: 'ms' }, CHANGE_MS),
  ];
}

async function measure(): Promise<{ seconds: number; times: number[] }> {
  const testbed = await makeTestbed();
  const ending = new AbortController();
  try {
    const plane = await settledPlane(testbed, { deployments: COUNT, replicas: PODS_EACH, nodes: NODE_COUNT });
    const { client } = plane;
    const informers = openInformers(client);
    void keepAlive(client, { nodes: informers.of(NODES), count: NODE_COUNT, signal: ending.signal });
    const right = new Set<string>();
    const told = new Map<string, () => void>();
    let allRight = () => {};
    const see = (slice: Stored<V1EndpointSlice>) => {
      if (slice.endpoints?.length === PODS_EACH) right.add(slice.metadata.name);
      if (right.size === COUNT) allRight();
      for (const { targetRef, conditions } of slice.endpoints ?? [])
        if (conditions?.ready === false) told.get(targetRef?.name ?? '')?.();
    };
    informers.of(ENDPOINT_SLICES).on({ added: see, updated: see });
    await informers.synced();
    const before = await plane.calls();
    const [start, cpu] = [performance.now(), plane.cpuSeconds()];
    const done = new Promise<void>((resolve) => {
      allRight = resolve;
    });
    await inParallel(COUNT, (number) => {
      const name = `web-${number}`;
      return client.of(SERVICES).create({
        metadata: { name, namespace: 'default' },
        spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] },
      });
    });
    await done;
    const seconds = (performance.now() - start) / 1000;
    tell('slices right', plane.cpuSeconds() - cpu);
    const writes = await endpointsWritten(plane, before);
    tell(`Endpoints too, ${(writes / COUNT).toFixed(2)} writes a Service`, plane.cpuSeconds() - cpu);
    const { items } = await client.of(PODS).list({ namespace: 'default', limit: CHANGES });
    const times: number[] = [];
    for (const { metadata, status } of items.slice(0, CHANGES)) {
      const conditions = (status.conditions ?? []).map((condition) =>
        condition.type === 'Ready' ? { ...condition, status: 'False' } : condition,
      );
      const seen = new Promise<void>((resolve) => told.set(metadata.name, resolve));
      const begin = performance.now();
      await client.of(PODS).patch(metadata, 'merge', { status: { conditions } }, { subresource: 'status' });
      await seen;
      times.push(performance.now() - begin);
    }
    informers.stop();
    return { seconds, times };
  } finally {
    ending.abort();
    await testbed.clean();
  }
}

/** Waits until the older form is written too; answers how many writes there were by then. */
async function endpointsWritten(plane: ControlPlane, before: ReadonlyMap<string, number>): Promise<number> {
  for (;;) {
    const calls = await plane.calls();
    const since = (what: string) => (calls.get(what) ?? 0) - (before.get(what) ?? 0);
    if (since('POST endpoints') < COUNT) {
      await pause(LOOK_MS);
      continue;
    }
    return [...calls.keys()].filter((what) => WRITES.test(what)).reduce((sum, what) => sum + since(what), 0);
  }
}

function tell(text: string, cpu: number): void {
  process.stderr.write(`  ${text}: ${cpu.toFixed(1)} s of the control plane's CPU\n`);
}
