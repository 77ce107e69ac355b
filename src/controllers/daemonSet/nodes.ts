// On which nodes a DaemonSet's pods belong, and what they put up with there. Pure.
// Guarantees: a pod that may stay is told from one that may be made; both follow from the template and the node alone.
import type { V1DaemonSet, V1NodeSelector, V1Pod, V1PodSpec, V1Toleration } from '../../api/gen/types.js';
import { matchesNode } from '../../api/nodeSelector.js';
import type { Stored } from '../../api/object.js';
import { DAEMON_SETS } from '../../api/resources.js';
import type { Node } from '../node/health.js';
import { toleratesAll } from '../nodeMatch.js';
import { podFromTemplate } from '../ownedPods.js';
import type { Pod } from '../pods.js';
import { REVISION_LABEL } from '../revisions.js';

export type DaemonSet = Stored<V1DaemonSet>;

const PREFIX = 'node.kubernetes.io/';
const GENERATION_ANNOTATION = 'deprecated.daemonset.template.generation';
const GENERATION_LABEL = 'pod-template-generation';

const exists = (name: string, effect: string): V1Toleration => ({
  key: `${PREFIX}${name}`,
  operator: 'Exists',
  effect,
});
/** A daemon stays where ordinary pods would be driven off. */
const TOLERATIONS: readonly V1Toleration[] = [
  exists('not-ready', 'NoExecute'),
  exists('unreachable', 'NoExecute'),
  exists('disk-pressure', 'NoSchedule'),
  exists('memory-pressure', 'NoSchedule'),
  exists('pid-pressure', 'NoSchedule'),
  exists('unschedulable', 'NoSchedule'),
];
const HOST_NETWORK_TOLERATION = exists('network-unavailable', 'NoSchedule');

function daemonTolerations(spec: V1PodSpec | undefined): readonly V1Toleration[] {
  const own = spec?.tolerations ?? [];
  const added = spec?.hostNetwork === true ? [...TOLERATIONS, HOST_NETWORK_TOLERATION] : TOLERATIONS;
  const isPresent = (wanted: V1Toleration) =>
    own.some(
      ({ key, operator, effect }) =>
        key === wanted.key && operator === wanted.operator && effect === wanted.effect,
    );
  return [...own, ...added.filter((toleration) => !isPresent(toleration))];
}

interface Belonging {
  readonly shouldRun: boolean;
  /** A taint that came later keeps new pods off, and leaves those that are there. */
  readonly mayStay: boolean;
}

export function belongsOn({ spec }: DaemonSet, node: Node): Belonging {
  const template: V1PodSpec = spec.template.spec ?? { containers: [] };
  if (template.nodeName && template.nodeName !== node.metadata.name)
    return { shouldRun: false, mayStay: false };
  if (!matchesNode(template, node)) return { shouldRun: false, mayStay: false };
  const tolerations = daemonTolerations(template);
  const mayStay = toleratesAll(tolerations, node, ['NoExecute']);
  return { shouldRun: mayStay && toleratesAll(tolerations, node, ['NoSchedule']), mayStay };
}

/** The node a daemon pod stands on or is meant for. */
export function targetNode({ spec }: Pod): string | undefined {
  if (spec.nodeName) return spec.nodeName;
  const terms =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  for (const { key, operator, values } of terms.flatMap(({ matchFields }) => matchFields ?? []))
    if (key === 'metadata.name' && operator === 'In') return values?.[0];
  return undefined;
}

/** The pod for one node: the scheduler binds it there, so that it knows of the node's room. */
export function daemonPod(set: DaemonSet, nodeName: string, hash: string): V1Pod {
  const draft = podFromTemplate(DAEMON_SETS, set, set.spec.template);
  const generation = set.metadata.annotations?.[GENERATION_ANNOTATION];
  const pinned: V1NodeSelector = {
    nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] }],
  };
  const spec = draft.spec ?? { containers: [] };
  return {
    ...draft,
    metadata: {
      ...draft.metadata,
      labels: {
        ...draft.metadata.labels,
        [REVISION_LABEL]: hash,
        ...(generation === undefined ? {} : { [GENERATION_LABEL]: generation }),
      },
    },
    spec: {
      ...spec,
      affinity: {
        ...spec.affinity,
        nodeAffinity: {
          ...spec.affinity?.nodeAffinity,
          requiredDuringSchedulingIgnoredDuringExecution: pinned,
        },
      },
      tolerations: daemonTolerations(spec),
    },
  };
}
