// PodTopologyLabels: a pod has the zone and region of its node as labels, so that it can read them from itself.
// Guarantees: what the node says stands over what the pod said; a node that is not known changes nothing.
import type { V1Binding, V1Pod } from '../../api/gen/types.js';
import type { Draft } from '../../api/kind.js';
import { getOwn } from '../../api/ownKeys.js';
import { PODS } from '../../api/resources.js';
import type { AdmissionPlugin } from '../admission.js';
import type { AdmissionLookups } from './lookups.js';
import { draftOf, isAbout } from './requests.js';

const COPIED = ['topology.kubernetes.io/zone', 'topology.kubernetes.io/region'];

export function makePodTopologyLabels({ node }: Pick<AdmissionLookups, 'node'>): AdmissionPlugin {
  return {
    name: 'PodTopologyLabels',
    async mutate(request) {
      if (request.operation !== 'create' || !isAbout(request, PODS)) return;
      const object = request.object as Draft<V1Binding> | Draft<V1Pod> | undefined;
      const isBinding = request.subresource === 'binding';
      const name = isBinding
        ? nodeOfBinding(object as Draft<V1Binding>)
        : draftOf(request, PODS, 'create')?.spec?.nodeName;
      if (object === undefined || name === undefined || name === '') return;
      const labels = (await node({ name }))?.metadata.labels;
      const copied = COPIED.flatMap((key) => {
        const value = labels === undefined ? undefined : getOwn<string>(labels, key);
        return value === undefined ? [] : [[key, value] as const];
      });
      if (copied.length === 0) return;
      object.metadata = {
        ...object.metadata,
        labels: { ...object.metadata?.labels, ...Object.fromEntries(copied) },
      };
    },
  };
}

const nodeOfBinding = (binding: Draft<V1Binding> | undefined): string | undefined =>
  binding?.target?.kind === 'Node' ? binding.target.name : undefined;
