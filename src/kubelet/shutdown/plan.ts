// Who ends when the machine goes down, and how long each may take. Pure.
// Guarantees: lower priorities first; every pod is in exactly one group.
import type { KubeletConfig } from '../config.js';
import type { Pod } from '../ports.js';

export interface ShutdownPeriod {
  /** Of pods from this priority up to the next. */
  readonly priority: number;
  readonly shutdownGracePeriodSeconds: number;
}

interface ShutdownGroup {
  readonly graceSeconds: number;
  readonly pods: readonly Pod[];
}

/** What system-cluster-critical has. */
const CRITICAL = 2_000_000_000;

type ShutdownConfig = Pick<
  KubeletConfig,
  'shutdownGracePeriod' | 'shutdownGracePeriodCriticalPods' | 'shutdownGracePeriodByPodPriority'
>;

/** By priority, the lowest first; none when shutdowns are not waited for. */
export function shutdownPeriods(config: ShutdownConfig): readonly ShutdownPeriod[] {
  const { shutdownGracePeriodByPodPriority: own, shutdownGracePeriod: all } = config;
  if (own.length > 0) return own.toSorted((a, b) => a.priority - b.priority);
  if (all === 0) return [];
  const critical = config.shutdownGracePeriodCriticalPods;
  return [
    { priority: 0, shutdownGracePeriodSeconds: Math.floor((all - critical) / 1000) },
    { priority: CRITICAL, shutdownGracePeriodSeconds: Math.floor(critical / 1000) },
  ];
}

export const neededMs = (periods: readonly ShutdownPeriod[]): number =>
  periods.reduce((sum, { shutdownGracePeriodSeconds }) => sum + shutdownGracePeriodSeconds, 0) * 1000;

/** A pod below every priority goes with the lowest. Groups without pods are left out. */
export function shutdownGroups(
  periods: readonly ShutdownPeriod[],
  pods: readonly Pod[],
): readonly ShutdownGroup[] {
  const groupOf = ({ spec }: Pod) =>
    Math.max(
      0,
      periods.findLastIndex(({ priority }) => priority <= (spec.priority ?? 0)),
    );
  return periods
    .map(({ shutdownGracePeriodSeconds: graceSeconds }, index) => ({
      graceSeconds,
      pods: pods.filter((pod) => groupOf(pod) === index),
    }))
    .filter((group) => group.pods.length > 0);
}
