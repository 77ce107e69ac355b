// A control plane whose store holds many Deployments with running pods on many nodes.
// Guarantees: what it holds was made through the API once and copied; it has read everything and come to rest.
import { DEPLOYMENTS } from '../../src/api/resources.js';
import type { ControlPlane, Testbed } from './controlPlane.js';
import { web } from './deployment.js';
import { type Filling, fill } from './fill.js';
import { playKubelets } from './kubelets.js';

const REST_SHARE = 0.1;
const LOOK_MS = 1_000;
const PATIENCE_MS = 300_000;

export async function settledPlane(
  testbed: Testbed,
  filling: Filling & { readonly replicas: number },
): Promise<ControlPlane> {
  const first = await testbed.start();
  const kubelets = await playKubelets(first.client, 1);
  try {
    await first.client.of(DEPLOYMENTS).create(web('web-0', 'registry.local/web:1', filling.replicas));
    await kubelets.until(() => kubelets.ready().length === filling.replicas);
    await atRest(first);
  } finally {
    kubelets.stop();
    await first.stop();
  }
  await fill(testbed.storeFolder, filling);
  const plane = await testbed.start();
  await atRest(plane);
  return plane;
}

/** Resolves when the process has little to do. */
async function atRest(plane: ControlPlane): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let quiet = 0; quiet < 2; ) {
    if (performance.now() > deadline) throw new Error('the control plane does not come to rest');
    const cpu = plane.cpuSeconds();
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    quiet = (plane.cpuSeconds() - cpu) * 1000 < LOOK_MS * REST_SHARE ? quiet + 1 : 0;
  }
}
