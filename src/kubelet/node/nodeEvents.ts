// What a node's owner is told when its state changes: events with Kubernetes' reasons and words. Pure.
// Guarantees: an event for a change only; a node that is as it was gives none.
import type { V1Node, V1NodeStatus } from '../../api/gen/types.js';
import type { EventType } from '../events.js';

export interface NodeEvent {
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
}

/** The reason by the status that a condition has now. */
const BY_CONDITION: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  MemoryPressure: { True: 'NodeHasInsufficientMemory', False: 'NodeHasSufficientMemory' },
  DiskPressure: { True: 'NodeHasDiskPressure', False: 'NodeHasNoDiskPressure' },
  PIDPressure: { True: 'NodeHasInsufficientPID', False: 'NodeHasSufficientPID' },
  Ready: { True: 'NodeReady', False: 'NodeNotReady' },
};

/** `before` is what the API had, undefined for a node that is new. */
export function nodeEvents(name: string, before: V1NodeStatus | undefined, now: V1NodeStatus): NodeEvent[] {
  const conditions = (now.conditions ?? []).flatMap(({ type, status }) => {
    const reason = BY_CONDITION[type]?.[status];
    const old = before?.conditions?.find((one) => one.type === type)?.status;
    return reason === undefined || old === status ? [] : [turned(name, reason)];
  });
  return [...rebooted(name, before, now), ...conditions];
}

/** A person, or `kubectl cordon`, has closed or opened the node for new pods. */
export function schedulingEvents(name: string, before: V1Node, now: V1Node): NodeEvent[] {
  const isClosed = now.spec?.unschedulable === true;
  if ((before.spec?.unschedulable === true) === isClosed) return [];
  return [turned(name, isClosed ? 'NodeNotSchedulable' : 'NodeSchedulable')];
}

const turned = (name: string, reason: string): NodeEvent => ({
  type: 'Normal',
  reason,
  message: `Node ${name} status is now: ${reason}`,
});

function rebooted(name: string, before: V1NodeStatus | undefined, now: V1NodeStatus): NodeEvent[] {
  const [old, id] = [before?.nodeInfo?.bootID, now.nodeInfo?.bootID];
  if (!old || !id || old === id) return [];
  return [{ type: 'Warning', reason: 'Rebooted', message: `Node ${name} has been rebooted, boot id: ${id}` }];
}
