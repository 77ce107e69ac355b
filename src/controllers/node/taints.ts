// The taints that a node's conditions ask for, beside those that people put there. Pure.
// Guarantees: only taints of this controller come and go; a taint that stays keeps the time it was added.
import type { V1Taint } from '../../api/gen/types.js';
import { stampOf } from '../pods.js';
import { type Node, nodeCondition } from './health.js';

const PREFIX = 'node.kubernetes.io/';
const NOT_READY = `${PREFIX}not-ready`;
const UNREACHABLE = `${PREFIX}unreachable`;
export const OUT_OF_SERVICE = `${PREFIX}out-of-service`;

/** Condition, the status at which it counts, and its taint. */
const BY_CONDITION = [
  ['Ready', 'False', NOT_READY],
  ['Ready', 'Unknown', UNREACHABLE],
  ['MemoryPressure', 'True', `${PREFIX}memory-pressure`],
  ['DiskPressure', 'True', `${PREFIX}disk-pressure`],
  ['PIDPressure', 'True', `${PREFIX}pid-pressure`],
  ['NetworkUnavailable', 'True', `${PREFIX}network-unavailable`],
] as const;

const UNSCHEDULABLE = `${PREFIX}unschedulable`;
const OWN_NO_SCHEDULE = new Set<string>([...BY_CONDITION.map(([, , key]) => key), UNSCHEDULABLE]);
const OWN_NO_EXECUTE = new Set<string>([NOT_READY, UNREACHABLE]);

interface TaintWish {
  readonly node: Node;
  /** Whether pods may be driven off now: not when the whole cluster looks dead, nor faster than the rate allows. */
  readonly mayEvict: boolean;
  readonly now: number;
}

/** The node's taints as they should be, or undefined when they are. */
export function planTaints({ node, mayEvict, now }: TaintWish): readonly V1Taint[] | undefined {
  const present = node.spec.taints ?? [];
  const wanted = [
    ...noScheduleKeys(node).map((key) => [key, 'NoSchedule'] as const),
    ...noExecute(node, mayEvict),
  ];
  const isSilentSoFar = nodeCondition(node, 'Ready') === undefined;
  // What a new node was given at its birth stays until it has spoken for the first time.
  const isOwn = ({ key, effect }: V1Taint) =>
    !(isSilentSoFar && OWN_NO_EXECUTE.has(key)) &&
    ((effect === 'NoSchedule' && OWN_NO_SCHEDULE.has(key)) ||
      (effect === 'NoExecute' && OWN_NO_EXECUTE.has(key)));
  const next = [
    ...present.filter((taint) => !isOwn(taint) || wanted.some(([key, effect]) => isSame(taint, key, effect))),
    ...wanted
      .filter(([key, effect]) => !present.some((taint) => isSame(taint, key, effect)))
      .map(([key, effect]) => ({ key, effect, timeAdded: stampOf(now) })),
  ];
  const same = next.length === present.length && next.every((taint, index) => taint === present[index]);
  return same ? undefined : next;
}

const isSame = (taint: V1Taint, key: string, effect: string) => taint.key === key && taint.effect === effect;

function noScheduleKeys(node: Node): string[] {
  const keys: string[] = BY_CONDITION.filter(
    ([type, status]) => nodeCondition(node, type)?.status === status,
  ).map(([, , key]) => key);
  return node.spec.unschedulable === true ? [...keys, UNSCHEDULABLE] : keys;
}

/** A node that already drives pods off goes on doing so, under the taint that now fits. */
function noExecute(node: Node, mayEvict: boolean): (readonly [string, 'NoExecute'])[] {
  const state = nodeCondition(node, 'Ready')?.status;
  if (state === undefined || state === 'True' || !mayEvict) return [];
  return [[state === 'False' ? NOT_READY : UNREACHABLE, 'NoExecute']];
}

export function evicts({ spec }: Node): boolean {
  return (spec.taints ?? []).some(({ key, effect }) => effect === 'NoExecute' && OWN_NO_EXECUTE.has(key));
}
