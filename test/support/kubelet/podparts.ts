// The pod that tests of volumes, environment and probes share.
// Guarantees: only what a test names differs.
import type { V1PodSpec, V1PodStatus } from '../../../src/api/gen/types.js';
import type { Pod } from '../../../src/kubelet/ports.js';

export function podWith(
  spec: Partial<V1PodSpec>,
  { status = {}, ...metadata }: Partial<Pod['metadata']> & { readonly status?: V1PodStatus } = {},
): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid: '0b5e6c1e-0000-4000-8000-000000000001',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
    spec: { containers: [{ name: 'main', image: 'busybox' }], ...spec },
    status,
  };
}
