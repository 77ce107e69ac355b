// The pods that the runtime runs, as /runningpods tells them.
// Guarantees: what the runtime says, whether or not any source still knows the pod.
import type { V1PodList } from '../../api/gen/types.js';
import type { RuntimeService } from '../../cri/runtime.js';
import { CONTAINER_NAME } from '../names.js';

export async function runningPods(runtime: RuntimeService): Promise<V1PodList> {
  const [sandboxes, containers] = await Promise.all([runtime.listPodSandbox(), runtime.listContainers()]);
  const running = containers.filter(({ state }) => state === 'CONTAINER_RUNNING');
  const items = sandboxes
    .filter(({ state }) => state === 'SANDBOX_READY')
    .map(({ id, metadata: { name, namespace, uid } }) => ({
      metadata: { name, namespace, uid },
      spec: {
        containers: running
          .filter(({ podSandboxId }) => podSandboxId === id)
          .map(({ labels, metadata, image }) => ({
            name: labels[CONTAINER_NAME] ?? metadata.name,
            image: image.image,
          })),
      },
    }));
  return { kind: 'PodList', apiVersion: 'v1', metadata: {}, items };
}
