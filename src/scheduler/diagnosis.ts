// Why no node takes a pod, counted over the nodes, and in Kubernetes' words. Pure.
import type { FilterRun } from './filterRun.js';

/** What `scratch.status` says of a slot. */
export const REJECTED = 1;
/** No removal of pods would help. */
export const REJECTED_FOR_GOOD = 2;

export interface Diagnosis {
  readonly nodeCount: number;
  /** Said of the pod as a whole, before any node was looked at. */
  readonly refusal: string | undefined;
  /** How many nodes gave each reason. */
  readonly reasons: ReadonlyMap<string, number>;
  /** The plugins that rejected at least one node: only what changes for them can help. */
  readonly rejectedBy: ReadonlySet<string>;
}

/** Refusals counted by plugin and reason. Neighbours mostly refuse alike, so a run of equals costs no look-up. */
export class Rejections {
  readonly #entries: Rejection[] = [];
  #last: Rejection = { failed: -1, code: 0, count: 0 };

  note(failed: number, code: number): void {
    if (this.#last.failed !== failed || this.#last.code !== code) this.#last = this.#open(failed, code);
    this.#last.count += 1;
  }

  all(): readonly Readonly<Rejection>[] {
    return this.#entries;
  }

  /** There are a handful of reasons at most, so a search is short. */
  #open(failed: number, code: number): Rejection {
    for (const entry of this.#entries) if (entry.failed === failed && entry.code === code) return entry;
    const entry = { failed, code, count: 0 };
    this.#entries.push(entry);
    return entry;
  }
}

interface Rejection {
  readonly failed: number;
  readonly code: number;
  count: number;
}

/** How many nodes gave each reason. */
export function reasonsOf(run: FilterRun, rejections: Rejections): Map<string, number> {
  const reasons = new Map<string, number>();
  for (const { failed, code, count } of rejections.all())
    for (const reason of run.reasonsOf(failed, code)) reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  return reasons;
}

export function diagnose(run: FilterRun, rejections: Rejections, nodeCount: number): Diagnosis {
  const reasons = reasonsOf(run, rejections);
  const rejectedBy = new Set(rejections.all().map(({ failed }) => run.pluginOf(failed)));
  if (run.refused !== undefined) rejectedBy.add(run.refused.plugin.name);
  // Named nodes that do not exist leave nobody to refuse; a node of that name would help.
  if (rejectedBy.size === 0 && nodeCount > 0) rejectedBy.add('NodeAffinity');
  return { nodeCount, refusal: run.refused?.reason, reasons, rejectedBy };
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable. preemption: ...` */
export function diagnosisMessage(
  { nodeCount, reasons, refusal }: Pick<Diagnosis, 'nodeCount' | 'reasons' | 'refusal'>,
  preemption = '',
): string {
  if (nodeCount === 0) return 'no nodes available to schedule pods';
  const counted = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort();
  const parts = refusal === undefined ? counted : [refusal];
  const first = `0/${nodeCount} nodes are available${parts.length === 0 ? '' : `: ${parts.join(', ')}`}.`;
  return preemption === '' ? first : `${first} ${preemption}`;
}
