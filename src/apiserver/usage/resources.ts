// metrics.k8s.io: what nodes and pods use now, computed from what their kubelets measure. `kubectl top` reads it.
// Guarantees: only what was measured is told; a pod or node without a measurement is left out, never shown as idle.
import type { KindDefinition } from '../../api/kind.js';
import { NODES, PODS, type ResourceType } from '../../api/resources.js';
import { isType } from '../discovery/resources.js';
import type { CachedObject } from '../registry/cached.js';
import { allOf, listObjects } from '../registry/list.js';
import { type MeasuredResource, type ServerContext, timestamp } from '../serverContext.js';
import { Summaries, type Use } from './summaries.js';

/** The kubelet measures over its housekeeping period. */
const WINDOW = '10s';
const GROUP = { group: 'metrics.k8s.io', version: 'v1beta1' } as const;

export function usageResources(server: ServerContext): readonly MeasuredResource[] {
  const summaries = new Summaries(server);
  return [nodeUse(server, summaries), podUse(server, summaries)];
}

function nodeUse(server: ServerContext, summaries: Summaries): MeasuredResource {
  const measure = async (node: CachedObject) => {
    const { name = '' } = node.summary.metadata ?? {};
    const summary = await summaries.of(name);
    const usage = usageOf(summary?.node);
    if (usage === undefined) return [];
    return [{ metadata: metadataOf(server, node), ...timeOf(summary?.node), usage }];
  };
  return {
    ...GROUP,
    resource: 'nodes',
    kind: 'NodeMetrics',
    singular: '',
    namespaced: false,
    list: async (_namespace, query) => inParallel(await find(server, NODES, '', query), measure),
  };
}

function podUse(server: ServerContext, summaries: Summaries): MeasuredResource {
  const measure = async (pod: CachedObject) => {
    const { name, namespace } = pod.summary.metadata ?? {};
    const node = pod.summary.fields['spec.nodeName'] ?? '';
    if (node === '') return [];
    const own = (await summaries.of(node))?.pods?.find(
      ({ podRef }) => podRef.name === name && podRef.namespace === namespace,
    );
    const containers = (own?.containers ?? []).map((one) => ({ name: one.name, usage: usageOf(one) }));
    if (containers.length === 0 || containers.some(({ usage }) => usage === undefined)) return [];
    return [{ metadata: metadataOf(server, pod), ...timeOf(own?.containers?.[0]), containers }];
  };
  return {
    ...GROUP,
    resource: 'pods',
    kind: 'PodMetrics',
    singular: '',
    namespaced: true,
    list: async (namespace, query) => inParallel(await find(server, PODS, namespace, query), measure),
  };
}

async function find(server: ServerContext, type: ResourceType, namespace: string, query: URLSearchParams) {
  const kind = server.kinds.find((known) => isType(known.type, type)) as KindDefinition;
  return allOf(await listObjects(server, kind, namespace, query));
}

/** Each asks for its node; those of one node share one question. */
async function inParallel<T>(
  objects: readonly CachedObject[],
  measure: (object: CachedObject) => Promise<T[]>,
): Promise<T[]> {
  return (await Promise.all(objects.map(measure))).flat();
}

function metadataOf({ now }: ServerContext, { summary }: CachedObject) {
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
