// Whether a node still answers: its Lease and its status, watched by our own clock. Pure.
// Guarantees: a node's clock is never compared with ours; only that something changed counts, and when we saw it.
import type { V1Lease, V1Node, V1NodeCondition } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { stampOf, timeOf } from '../pods.js';

export type Node = Stored<V1Node>;

export interface NodeHealth {
  /** When we last saw a sign of life. */
  readonly seenMs: number;
  readonly heartbeat: string | undefined;
  readonly renewTime: string | undefined;
}

export interface HealthLimits {
  readonly gracePeriodMs: number;
  /** For a node that has never reported: it may still be starting. */
  readonly startupGracePeriodMs: number;
}

export function observeHealth(
  before: NodeHealth | undefined,
  node: Node,
  lease: Stored<V1Lease> | undefined,
  now: number,
): NodeHealth {
  const heartbeat = nodeCondition(node, 'Ready')?.lastHeartbeatTime;
  const renewTime = lease?.spec?.renewTime;
  if (before === undefined) {
    // Never reported: its age is all that is known. Otherwise a new watcher gives every node a fresh start.
    const isNew = nodeCondition(node, 'Ready') === undefined;
    const seenMs = isNew ? (timeOf(node.metadata.creationTimestamp) ?? now) : now;
    return { seenMs, heartbeat, renewTime };
  }
  const alive = heartbeat !== before.heartbeat || (renewTime !== undefined && renewTime !== before.renewTime);
  return { seenMs: alive ? now : before.seenMs, heartbeat, renewTime };
}

export function nodeCondition({ status }: Node, type: string): V1NodeCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

/** True, False or Unknown; a node without the condition is Unknown. */
export function readiness(node: Node): string {
  return nodeCondition(node, 'Ready')?.status ?? 'Unknown';
}

const WATCHED = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'] as const;

/** The conditions that a silent node must get, or undefined while it is heard or already marked. */
export function silentConditions(
  node: Node,
  { seenMs }: NodeHealth,
  { gracePeriodMs, startupGracePeriodMs }: HealthLimits,
  now: number,
): readonly V1NodeCondition[] | undefined {
  const hasReported = nodeCondition(node, 'Ready') !== undefined;
  if (now - seenMs <= (hasReported ? gracePeriodMs : startupGracePeriodMs)) return undefined;
  const stamp = stampOf(now);
  const present = node.status?.conditions ?? [];
  let changed = false;
  const marked = WATCHED.flatMap((type): V1NodeCondition[] => {
    const old = present.find((condition) => condition.type === type);
    if (old?.status === 'Unknown') return [old];
    changed = true;
    if (old === undefined)
      return [
        {
          type,
          status: 'Unknown',
          reason: 'NodeStatusNeverUpdated',
          message: 'Kubelet never posted node status.',
          lastHeartbeatTime: node.metadata.creationTimestamp,
          lastTransitionTime: stamp,
        },
      ];
    return [
      {
        ...old,
        status: 'Unknown',
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
        lastTransitionTime: stamp,
      },
    ];
  });
  if (!changed) return undefined;
  return [...present.filter(({ type }) => !(WATCHED as readonly string[]).includes(type)), ...marked];
}
