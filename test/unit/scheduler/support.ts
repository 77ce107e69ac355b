// Pods and nodes for scheduler tests, with only what a test is about.
import type { V1Node, V1NodeSpec, V1Pod, V1PodSpec } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { isRefused, type Plugin } from '../../../src/scheduler/plugin.js';
import { podInfoOf } from '../../../src/scheduler/podInfo.js';
import { findCandidates, gentlest } from '../../../src/scheduler/preemption/preempt.js';
import type { Victims } from '../../../src/scheduler/preemption/victims.js';
import { Snapshot } from '../../../src/scheduler/snapshot/snapshot.js';

export function makePod(name: string, spec: Partial<V1PodSpec> = {}, extra: object = {}): Stored<V1Pod> {
  return {
    metadata: { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: '1', creationTimestamp: '' },
    spec: { containers: [{ name: 'c' }], ...spec },
    status: {},
    ...extra,
  };
}

/** A pod of one container with these requests. */
export const requesting = (name: string, requests: Record<string, string>, spec: Partial<V1PodSpec> = {}) =>
  makePod(name, { containers: [{ name: 'c', resources: { requests } }], ...spec });

export function makeNode(
  name: string,
  {
    allocatable,
    labels,
    spec,
  }: { allocatable?: object; labels?: Record<string, string>; spec?: V1NodeSpec } = {},
): Stored<V1Node> {
  return {
    metadata: {
      name,
      uid: `uid-${name}`,
      resourceVersion: '1',
      creationTimestamp: '',
      labels: { 'kubernetes.io/hostname': name, ...labels },
    },
    spec: spec ?? {},
    status: { allocatable: { cpu: '4', memory: '8Gi', pods: '110', ...allocatable } },
  };
}

/** A node and the pods on it. */
export type Filled = readonly [node: Stored<V1Node>, ...pods: Stored<V1Pod>[]];

export function snapshotOf(...filled: readonly Filled[]): Snapshot {
  const snapshot = new Snapshot();
  for (const [node, ...pods] of filled) {
    snapshot.setNode(node);
    for (const pod of pods) snapshot.setPod({ ...pod, spec: { ...pod.spec, nodeName: node.metadata.name } });
  }
  return snapshot;
}

/** What a plugin says against a pod on the first node; empty when it has nothing against it. */
export function refusalsOf(
  plugin: Plugin,
  pod: Stored<V1Pod>,
  snapshot: Snapshot,
  nodeName?: string,
): readonly string[] {
  const filter = plugin.filter?.(podInfoOf(pod), snapshot);
  if (filter === undefined) return [];
  if (isRefused(filter)) return [filter.refused];
  const slot = nodeName === undefined ? (snapshot.order()[0] ?? 0) : (snapshot.table.slotOf(nodeName) ?? 0);
  const code = filter.test(slot);
  return code === 0 ? [] : filter.reasons(code);
}

/** The scores a plugin gives the nodes, by name; undefined when they are all the same to it. */
export function scoresOf(
  plugin: Plugin,
  pod: Stored<V1Pod>,
  snapshot: Snapshot,
): Readonly<Record<string, number>> | undefined {
  const slots = snapshot.order();
  const out = new Float64Array(slots.length);
  const scorer = plugin.score?.(podInfoOf(pod), snapshot);
  if (scorer === undefined) return undefined;
  scorer.score(slots, slots.length, out);
  return Object.fromEntries([...slots].map((slot, at) => [snapshot.table.names[slot] ?? '', out[at] ?? 0]));
}

/** The victims on the node that preemption would choose, or why there is none. */
export function choosePreemption(
  ...asked: Parameters<typeof findCandidates>
): { readonly victims: Victims } | { readonly message: string } {
  const found = findCandidates(...asked);
  if ('message' in found) return found;
  const victims = gentlest(found.candidates);
  return victims === undefined ? { message: '' } : { victims };
}
