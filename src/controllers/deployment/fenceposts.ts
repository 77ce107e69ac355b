// How far a rolling update may go above and below the desired number of pods. Pure.
// Guarantees: never both zero, else an update could not move.
import type { V1Deployment } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { resolveIntOrPercent } from '../intOrPercent.js';

interface Fenceposts {
  readonly desired: number;
  readonly maxSurge: number;
  readonly maxUnavailable: number;
}

export function isRolling({ spec }: Stored<V1Deployment>): boolean {
  return (spec.strategy?.type ?? 'RollingUpdate') === 'RollingUpdate';
}

export function fencepostsOf(deployment: Stored<V1Deployment>): Fenceposts {
  const desired = deployment.spec.replicas ?? 1;
  if (!isRolling(deployment) || desired === 0) return { desired, maxSurge: 0, maxUnavailable: 0 };
  const { maxSurge, maxUnavailable } = deployment.spec.strategy?.rollingUpdate ?? {};
  const surge = resolveIntOrPercent(maxSurge ?? '25%', desired, 'up');
  const unavailable = resolveIntOrPercent(maxUnavailable ?? '25%', desired, 'down');
  // Percentages of a small number may both round to nothing.
  const floor = surge === 0 && unavailable === 0 ? 1 : unavailable;
  return { desired, maxSurge: surge, maxUnavailable: Math.min(floor, desired) };
}
