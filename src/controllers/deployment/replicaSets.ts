// A Deployment's ReplicaSets: which is new, which are old, what is written on them. Pure.
// Guarantees: the new one is the oldest whose template equals the Deployment's; nothing else decides it.
import type { V1Deployment, V1PodTemplateSpec, V1ReplicaSet } from '../../api/gen/types.js';
import { sameMeaning } from '../../api/meaning.js';
import type { Stored } from '../../api/object.js';
import { DEPLOYMENTS } from '../../api/resources.js';
import { controllerReference } from '../claim.js';
import { fencepostsOf } from './fenceposts.js';
import { TEMPLATE_HASH, templateHash } from './hash.js';

export type Deployment = Stored<V1Deployment>;
export type ReplicaSet = Stored<V1ReplicaSet>;
type Annotations = Readonly<Record<string, string>>;

export const REVISION = 'deployment.kubernetes.io/revision';
const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history';
const MAX_REVISION = 2n ** 63n - 1n;
export const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas';
export const MAX_REPLICAS = 'deployment.kubernetes.io/max-replicas';
/** These describe the Deployment itself and are not handed down. */
const OWN_ANNOTATIONS = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  'deprecated.deployment.rollback.to',
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
]);

export const replicasOf = ({ spec }: ReplicaSet): number => spec.replicas ?? 1;

export function byAge(a: ReplicaSet, b: ReplicaSet): number {
  const times = Date.parse(a.metadata.creationTimestamp) - Date.parse(b.metadata.creationTimestamp);
  return times !== 0 ? times : a.metadata.name < b.metadata.name ? -1 : 1;
}

export function splitReplicaSets(deployment: Deployment, sets: readonly ReplicaSet[]) {
  const ordered = [...sets].sort(byAge);
  const current = ordered.find(({ spec }) => sameTemplate(spec.template, deployment.spec.template));
  return { current, old: ordered.filter((set) => set !== current) };
}

export function sameTemplate(a: V1PodTemplateSpec | undefined, b: V1PodTemplateSpec): boolean {
  return a !== undefined && sameMeaning('V1PodTemplateSpec', withoutHash(a), withoutHash(b));
}

function withoutHash({ metadata, spec }: V1PodTemplateSpec): unknown {
  const { creationTimestamp: _, ...rest } = metadata ?? {};
  const labels = Object.fromEntries(
    Object.entries(metadata?.labels ?? {}).filter(([key]) => key !== TEMPLATE_HASH),
  );
  return { metadata: { ...rest, labels }, spec };
}

/** As wide as Kubernetes' (64 bits): an adopted set may say any of them. */
export function revisionOf({ metadata }: ReplicaSet | Deployment): bigint {
  const text = metadata.annotations?.[REVISION] ?? '';
  const revision = /^[0-9]{1,19}$/.test(text) ? BigInt(text) : 0n;
  return revision < MAX_REVISION ? revision : 0n;
}

/** One above every old one, so that going back to a template makes it the newest again. */
export function nextRevision(old: readonly ReplicaSet[]): bigint {
  return old.map(revisionOf).reduce(larger, 0n) + 1n;
}

export const larger = (a: bigint, b: bigint) => (a > b ? a : b);

/** The new ReplicaSet's annotations: the Deployment's, its revision and those it had before, and the sizes. */
export function newSetAnnotations(
  deployment: Deployment,
  current: ReplicaSet | undefined,
  revision: bigint,
): Annotations {
  const had = current?.metadata.annotations ?? {};
  const handedDown = Object.entries(deployment.metadata.annotations ?? {}).filter(
    ([key]) => !OWN_ANNOTATIONS.has(key),
  );
  const merged: Record<string, string> = { ...had, ...Object.fromEntries(handedDown) };
  const before = current === undefined ? 0n : revisionOf(current);
  if (before < revision) {
    merged[REVISION] = String(revision);
    if (before > 0n) merged[REVISION_HISTORY] = [...listOf(had[REVISION_HISTORY]), String(before)].join(',');
  }
  // Sizes are written when the set is first seen or scaled; here they are only completed.
  return { ...sizeAnnotations(deployment), ...merged };
}

export function sizeAnnotations(deployment: Deployment): Annotations {
  const { desired, maxSurge } = fencepostsOf(deployment);
  return { [DESIRED_REPLICAS]: String(desired), [MAX_REPLICAS]: String(desired + maxSurge) };
}

interface NewReplicaSet {
  readonly deployment: Deployment;
  readonly replicas: number;
  readonly revision: bigint;
}

export function makeReplicaSet({ deployment, replicas, revision }: NewReplicaSet): V1ReplicaSet {
  const { metadata, spec, status } = deployment;
  const hash = templateHash(spec.template, status?.collisionCount ?? 0);
  const { template, minReadySeconds } = spec;
  const labels = { ...template.metadata?.labels, [TEMPLATE_HASH]: hash };
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${metadata.name}-${hash}`,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      labels,
      annotations: newSetAnnotations(deployment, undefined, revision),
      ownerReferences: [controllerReference(DEPLOYMENTS, deployment)],
    },
    spec: {
      replicas,
      ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
      selector: {
        ...spec.selector,
        matchLabels: { ...spec.selector.matchLabels, [TEMPLATE_HASH]: hash },
      },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
}

function listOf(text: string | undefined): string[] {
  return text === undefined || text === '' ? [] : text.split(',');
}
