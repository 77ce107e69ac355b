// In which order pods go when the node runs short. Pure.
// Guarantees: critical and static pods never go; ties are broken by name, so the order is the same each time.

import { isMirror, isStatic } from '../names.js';
import type { Pod } from '../ports.js';
import { podRequest } from '../resources.js';
import { ephemeralBytes, type PodSample, workingSet } from '../stats/sample.js';
import { resourceOf, type Signal } from './signals.js';

/** Below it are users' pods; from here on system-cluster-critical and system-node-critical. */
const CRITICAL = 2_000_000_000;

export const isCritical = (pod: Pod) =>
  isStatic(pod) || isMirror(pod) || (pod.spec.priority ?? 0) >= CRITICAL;

interface Candidate {
  readonly pod: Pod;
  /** Absent while nothing was measured: it is then taken to use nothing. */
  readonly sample: PodSample | undefined;
}

/** The first goes first. */
export function rankPods(candidates: readonly Candidate[], signal: Signal): readonly Candidate[] {
  const resource = resourceOf(signal);
  const rows = candidates
    .filter(({ pod }) => !isCritical(pod))
    .map((candidate) => {
      const used = usageOf(candidate, signal);
      const requested =
        resource === 'memory' || resource === 'ephemeral-storage'
          ? podRequest(candidate.pod.spec, resource)
          : 0;
      return { candidate, over: used - requested, exceeds: used > requested };
    });
  const priority = ({ candidate }: (typeof rows)[number]) => candidate.pod.spec.priority ?? 0;
  return rows
    .sort(
      (a, b) =>
        // Processes and inodes cannot be requested: there priority alone comes before usage.
        (resource === 'pids' || resource === 'inodes' ? 0 : Number(b.exceeds) - Number(a.exceeds)) ||
        priority(a) - priority(b) ||
        b.over - a.over ||
        nameOf(a.candidate).localeCompare(nameOf(b.candidate)),
    )
    .map(({ candidate }) => candidate);
}

export function usageOf({ sample }: Candidate, signal: Signal): number {
  if (sample === undefined) return 0;
  switch (resourceOf(signal)) {
    case 'memory':
      return workingSet(sample.usage) ?? 0;
    case 'pids':
      return sample.usage.processes ?? 0;
    case 'inodes':
      return (
        sample.volumes.reduce((sum, { inodesUsed }) => sum + inodesUsed, 0) +
        sample.containers.reduce((sum, { rootfs }) => sum + (rootfs?.inodesUsed ?? 0), 0)
      );
    case 'ephemeral-storage':
      return ephemeralBytes(sample);
  }
}

const nameOf = ({ pod }: Candidate) => `${pod.metadata.namespace}/${pod.metadata.name}`;
