// How the kubelet tells what happened to a pod or a node: events with Kubernetes' reasons and words.
// Guarantees: telling never fails and never waits.
import type { V1Container } from '../api/gen/types.js';
import type { KubeObject } from '../api/object.js';
import { NODES, PODS } from '../api/resources.js';
import { type EventRecorder, referenceTo } from '../client/eventRecorder.js';
import type { Pod } from './ports.js';

export type EventType = 'Normal' | 'Warning';

export interface EventSink {
  event(
    about: KubeObject,
    event: {
      readonly type: EventType;
      readonly reason: string;
      readonly message: string;
      /** Such as `spec.containers{web}`. */
      readonly fieldPath?: string;
    },
  ): void;
}

/** Where a container stands in its pod's spec, as events name it. */
export function fieldPathOf(pod: Pod, container: Pick<V1Container, 'name'>): string {
  const has = (list: readonly { readonly name: string }[] = []) =>
    list.some(({ name }) => name === container.name);
  const init = has(pod.spec.initContainers) ? 'initContainers' : undefined;
  const list = init ?? (has(pod.spec.ephemeralContainers) ? 'ephemeralContainers' : 'containers');
  return `spec.${list}{${container.name}}`;
}

/** Events to the API, about pods and nodes. */
export function eventsThrough(recorder: EventRecorder): EventSink {
  return {
    event(about, { type, reason, message, fieldPath }) {
      const kind = about.kind === 'Node' ? NODES : PODS;
      recorder.event(referenceTo(kind, about, fieldPath), type, reason, message);
    },
  };
}

export const noEvents: EventSink = { event: () => {} };
