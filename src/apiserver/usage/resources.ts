// metrics.k8s.io: what nodes and pods use now, computed from what their kubelets measure. `kubectl top` reads it.
// Guarantees: only what was measured is told; a pod or node without a measurement is left out, never shown as idle.
import type { KindDefinition } from '../../api/kind.js';
import { NODES, PODS, type ResourceType } from '../../api/resources.js';
import { isType } from '../discovery/resources.js';
import { type Machinery, type MeasuredResource, timestamp } from '../machinery.js';
import type { CachedObject } from '../registry/cached.js';
import { allOf, listObjects } from '../registry/list.js';
import { Summaries, type Use } from './summaries.js';

/** The kubelet measures over its housekeeping period. */
const WINDOW = '10s';
const GROUP = { group: 'metrics.k8s.io', version: 'v1beta1' } as const;

export function usageResources(machinery: Machinery): readonly MeasuredResource[] {
  const summaries = new Summaries(machinery);
  return [nodeUse(machinery, summaries), podUse(machinery, summaries)];
}

function nodeUse(machinery: Machinery, summaries: Summaries): MeasuredResource {
  const measure = async (node: CachedObject) => {
    const { name = '' } = node.summary.metadata ?? {};
    const summary = await summaries.of(name);
    const usage = usageOf(summary?.node);
    if (usage === undefined) return [];
    return [{ metadata: metadataOf(machinery, node), ...timeOf(summary?.node), usage }];
  };
  return {
    ...GROUP,
    resource: 'nodes',
    kind: 'NodeMetrics',
    singular: '',
    namespaced: false,
    list: async (_namespace, query) => inParallel(await find(machinery, NODES, '', query), measure),
  };
}

function podUse(machinery: Machinery, summaries: Summaries): MeasuredResource {
  const measure = async (pod: CachedObject) => {
    const { name, namespace } = pod.summary.metadata ?? {};
    const node = pod.summary.fields['spec.nodeName'] ?? '';
    if (node === '') return [];
    const own = (await summaries.of(node))?.pods?.find(
      ({ podRef }) => podRef.name === name && podRef.namespace === namespace,
    );
    const containers = (own?.containers ?? []).map((one) => ({ name: one.name, usage: usageOf(one) }));
    if (containers.length === 0 || containers.some(({ usage }) => usage === undefined)) return [];
    return [{ metadata: metadataOf(machinery, pod), ...timeOf(own?.containers?.[0]), containers }];
  };
  return {
    ...GROUP,
    resource: 'pods',
    kind: 'PodMetrics',
    singular: '',
    namespaced: true,
    list: async (namespace, query) => inParallel(await find(machinery, PODS, namespace, query), measure),
  };
}

async function find(machinery: Machinery, type: ResourceType, namespace: string, query: URLSearchParams) {
  const kind = machinery.kinds.find((known) => isType(known.type, type)) as KindDefinition;
  return allOf(await listObjects(machinery, kind, namespace, query));
}

/** Each asks for its node; those of one node share one question. */
async function inParallel<T>(
  objects: readonly CachedObject[],
  measure: (object: CachedObject) => Promise<T[]>,
): Promise<T[]> {
  return (await Promise.all(objects.map(measure))).flat();
}

function metadataOf({ now }: Machinery, { summary }: CachedObject) {
  const { labels } = summary;
  return {
    ...summary.metadata,
    creationTimestamp: timestamp(now()),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
  };
}

const timeOf = (use: Use | undefined) => ({ timestamp: use?.cpu?.time ?? null, window: WINDOW });

function usageOf(use: Use | undefined): { cpu: string; memory: string } | undefined {
  const cores = use?.cpu?.usageNanoCores;
  const bytes = use?.memory?.workingSetBytes;
  if (cores === undefined || bytes === undefined) return undefined;
  return { cpu: `${Math.round(cores)}n`, memory: `${Math.round(bytes / 1024)}Ki` };
}
