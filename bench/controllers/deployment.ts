// A Deployment of 1,000 replicas: made, then rolled, with the kubelets played.
// Guarantees: times are from the request to the last pod seen; calls are the server's own count less what is played.
import type { V1Deployment, V1Pod } from '../../src/api/gen/types.js';
import type { Stored } from '../../src/api/object.js';
import { DEPLOYMENTS } from '../../src/api/resources.js';
import { repeated } from '../lib/compare.js';
import { againstLimit, type Figure } from '../lib/figure.js';
import { runsOf } from '../lib/options.js';
import { type ControlPlane, makeTestbed, WRITES } from './controlPlane.js';
import { type Kubelets, playKubelets } from './kubelets.js';

const RUNS = 3;
const REPLICAS = 1_000;
const NODES = 20;
const CREATED_SECONDS = 3;
/** A pod is made, bound and deleted: three; what the sets' states and the events add is little. */
const CALLS_A_POD = 4;

export function web(name: string, image: string, replicas: number): V1Deployment {
  const labels = { app: name };
  return {
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'main', image, ports: [{ containerPort: 8080 }] }] },
      },
    },
  };
}

export async function deployment(): Promise<Figure[]> {
  const runs = await repeated(runsOf(RUNS), measure);
  const [created, calls] = [runs.map((run) => run.created), runs.map((run) => run.callsAPod)];
  const what = `a Deployment of ${REPLICAS} replicas`;
  return [
    againstLimit({ name: `${what}: all pods made`, samples: created, unit: 's' }, CREATED_SECONDS),
    againstLimit(
      {
        name: 'its rolling update: writes per pod by controllers and scheduler',
        samples: calls,
        unit: 'calls',
      },
      CALLS_A_POD,
    ),
  ];
}

async function measure(): Promise<{ created: number; callsAPod: number }> {
  const testbed = await makeTestbed();
  let kubelets: Kubelets | undefined;
  try {
    const plane = await testbed.start();
    kubelets = await playKubelets(plane.client, NODES);
    const created = await create(plane, kubelets);
    return { created, callsAPod: await roll(plane, kubelets) };
  } finally {
    kubelets?.stop();
    await testbed.clean();
  }
}

/** Seconds until the pods are there. */
async function create({ client, cpuSeconds }: ControlPlane, kubelets: Kubelets): Promise<number> {
  const [start, cpu] = [performance.now(), cpuSeconds()];
  await client.of(DEPLOYMENTS).create(web('web', 'registry.local/web:1', REPLICAS));
  await kubelets.until(() => kubelets.pods().length === REPLICAS);
  const created = (performance.now() - start) / 1000;
  await kubelets.until(() => kubelets.ready().length === REPLICAS);
  const ready = (performance.now() - start) / 1000;
  tell(`made in ${created.toFixed(1)} s, ready in ${ready.toFixed(1)} s`, cpuSeconds() - cpu);
  return created;
}

/** Writes for each pod that was replaced. */
async function roll(plane: ControlPlane, kubelets: Kubelets): Promise<number> {
  const { client } = plane;
  const deployments = client.of(DEPLOYMENTS);
  const before = { calls: await plane.calls(), played: kubelets.requests, cpu: plane.cpuSeconds() };
  const start = performance.now();
  const containers = [{ name: 'main', image: 'registry.local/web:2' }];
  await deployments.patch({ name: 'web', namespace: 'default' }, 'strategic', {
    spec: { template: { spec: { containers } } },
  });
  const isNew = ({ spec }: Stored<V1Pod>) => spec.containers[0]?.image === 'registry.local/web:2';
  await kubelets.until(
    () => kubelets.pods().length === REPLICAS && kubelets.ready().filter(isNew).length === REPLICAS,
  );
  const seconds = (performance.now() - start) / 1000;
  const calls = [...(await plane.calls())]
    .map(([what, count]) => [what, count - (before.calls.get(what) ?? 0)] as const)
    .filter(([what, count]) => count > 0 && WRITES.test(what))
    .sort(([, a], [, b]) => b - a);
  const all = calls.reduce((sum, [, count]) => sum + count, 0);
  tell(`rolled in ${seconds.toFixed(1)} s`, plane.cpuSeconds() - before.cpu);
  process.stderr.write(`  ${calls.map(([what, count]) => `${count} ${what}`).join(', ')}\n`);
  return (all - (kubelets.requests - before.played)) / REPLICAS;
}

function tell(text: string, cpu: number): void {
  process.stderr.write(`  ${text}, ${cpu.toFixed(1)} s of the control plane's CPU\n`);
}
