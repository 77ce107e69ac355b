// When the change happened that an endpoint write answers: what latency is measured from. Pure but for what it remembers.
// Guarantees: a change is told once, to the first write after it; of several the earliest counts.
import type { V1Service } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { type Pod, podCondition, timeOf } from '../pods.js';

export const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

interface Seen {
  readonly service: number;
  readonly pods: ReadonlyMap<string, number>;
}

export class TriggerTimes {
  readonly #seen = new Map<string, Seen>();

  /** The time of what is new since the last call for this key, as the annotation has it; undefined when nothing is. */
  next(key: string, service: Stored<V1Service>, pods: readonly Pod[]): string | undefined {
    const before = this.#seen.get(key);
    const seen = {
      service: timeOf(service.metadata.creationTimestamp) ?? 0,
      pods: new Map(pods.map((pod) => [pod.metadata.uid, readyChangeOf(pod)])),
    };
    this.#seen.set(key, seen);
    const changes = [
      ...(seen.service > (before?.service ?? 0) ? [seen.service] : []),
      ...[...seen.pods].filter(([uid, at]) => at > (before?.pods.get(uid) ?? 0)).map(([, at]) => at),
    ];
    return changes.length === 0 ? undefined : new Date(Math.min(...changes)).toISOString();
  }

  forget(key: string): void {
    this.#seen.delete(key);
  }
}

function readyChangeOf(pod: Pod): number {
  return timeOf(podCondition(pod, 'Ready')?.lastTransitionTime) ?? 0;
}
