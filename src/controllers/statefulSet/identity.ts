// What a StatefulSet's pods are called and what belongs to each: name, labels, host name, volume claims. Pure.
// Guarantees: an ordinal has one pod name and one claim per template for ever, so storage finds its pod again.
import type {
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodTemplateSpec,
  V1StatefulSet,
  V1Volume,
} from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { STATEFUL_SETS } from '../../api/resources.js';
import { podFromTemplate } from '../ownedPods.js';
import type { Pod } from '../pods.js';
import { REVISION_LABEL } from '../revisions.js';

export type StatefulSet = Stored<V1StatefulSet>;
export type PersistentVolumeClaim = Stored<V1PersistentVolumeClaim>;

const POD_NAME = 'statefulset.kubernetes.io/pod-name';
const POD_INDEX = 'apps.kubernetes.io/pod-index';

export const startOf = ({ spec }: StatefulSet): number => spec.ordinals?.start ?? 0;
export const replicasOf = ({ spec }: StatefulSet): number => spec.replicas ?? 1;
export const podName = ({ metadata }: StatefulSet, ordinal: number): string => `${metadata.name}-${ordinal}`;
export const revisionNameOf = ({ metadata }: Pod): string => metadata.labels?.[REVISION_LABEL] ?? '';

/** The ordinal in a pod's name; undefined for a name that this set never gives. */
export function ordinalOf({ metadata }: StatefulSet, name: string): number | undefined {
  const prefix = `${metadata.name}-`;
  const text = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  return /^(0|[1-9][0-9]{0,8})$/.test(text) ? Number(text) : undefined;
}

function claimName({ metadata }: StatefulSet, template: string, ordinal: number): string {
  return `${template}-${metadata.name}-${ordinal}`;
}

interface PodWish {
  readonly set: StatefulSet;
  readonly ordinal: number;
  /** The name of the revision, and its template. */
  readonly revision: string;
  readonly template: V1PodTemplateSpec;
}

export function statefulPod({ set, ordinal, revision, template }: PodWish): V1Pod {
  const draft = podFromTemplate(STATEFUL_SETS, set, template);
  const { generateName: _, ...metadata } = draft.metadata;
  const name = podName(set, ordinal);
  const spec = draft.spec ?? { containers: [] };
  const { serviceName } = set.spec;
  return {
    ...draft,
    metadata: {
      ...metadata,
      name,
      labels: {
        ...metadata.labels,
        [POD_NAME]: name,
        [POD_INDEX]: String(ordinal),
        [REVISION_LABEL]: revision,
      },
    },
    spec: {
      ...spec,
      hostname: name,
      ...(serviceName === undefined ? {} : { subdomain: serviceName }),
      volumes: [...claimVolumes(set, ordinal), ...withoutClaimed(set, spec.volumes ?? [])],
    },
  };
}

function claimVolumes(set: StatefulSet, ordinal: number): V1Volume[] {
  return (set.spec.volumeClaimTemplates ?? []).map(({ metadata }) => {
    const name = metadata?.name ?? '';
    return { name, persistentVolumeClaim: { claimName: claimName(set, name, ordinal), readOnly: false } };
  });
}

/** A claim takes the place of a volume of the same name. */
function withoutClaimed(set: StatefulSet, volumes: readonly V1Volume[]): readonly V1Volume[] {
  const claimed = new Set((set.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata?.name));
  return volumes.filter(({ name }) => !claimed.has(name));
}

/** The claims that the pod of this ordinal mounts. */
export function claimsOf(set: StatefulSet, ordinal: number): readonly V1PersistentVolumeClaim[] {
  const { namespace } = set.metadata;
  return (set.spec.volumeClaimTemplates ?? []).map(({ metadata, spec }) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      ...metadata,
      name: claimName(set, metadata?.name ?? '', ordinal),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...metadata?.labels, ...set.spec.selector.matchLabels },
    },
    ...(spec === undefined ? {} : { spec }),
  }));
}
