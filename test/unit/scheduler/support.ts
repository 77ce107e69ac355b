// Pods and nodes for scheduler tests, with only what a test is about.
import type { V1Node, V1NodeSpec, V1Pod, V1PodSpec } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { NodeInfo } from '../../../src/scheduler/nodeInfo.js';
import { podInfoOf } from '../../../src/scheduler/podInfo.js';

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

export function nodeWith(node: Stored<V1Node>, ...pods: Stored<V1Pod>[]): NodeInfo {
  const info = new NodeInfo(node.metadata.name);
  info.node = node;
  for (const pod of pods) info.add(podInfoOf(pod));
  return info;
}
