// The pods of all sources as one ordered stream of changes.
// Guarantees: a pod is told as added once, then as changed only when it did; nothing is told twice.
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../ports.js';

type PodSourceName = 'api' | 'file' | 'http';
type PodOp = 'ADD' | 'UPDATE' | 'REMOVE' | 'RECONCILE';

export interface PodUpdate {
  readonly op: PodOp;
  readonly source: PodSourceName;
  readonly pods: readonly Pod[];
}

export class PodConfig {
  readonly #sources: readonly PodSourceName[];
  readonly #deliver: (update: PodUpdate) => void;

  readonly #bySource = new Map<PodSourceName, Map<string, Pod>>();
  readonly #ready = new Set<PodSourceName>();

  constructor(sources: readonly PodSourceName[], deliver: (update: PodUpdate) => void) {
    this.#sources = sources;
    this.#deliver = deliver;
  }

  /** Everything that the source has. */
  set(source: PodSourceName, pods: readonly Pod[]): void {
    const before = this.#of(source);
    const after = new Map(pods.map((pod) => [pod.metadata.uid, pod]));
    this.#bySource.set(source, after);
    for (const update of changes(source, before, after)) this.#deliver(update);
    this.#ready.add(source);
  }

  put(source: PodSourceName, pod: Pod): void {
    const pods = this.#of(source);
    const op = changeOf(pods.get(pod.metadata.uid), pod);
    this.#bySource.set(source, pods.set(pod.metadata.uid, pod));
    if (op !== undefined) this.#deliver({ op, source, pods: [pod] });
  }

  remove(source: PodSourceName, uid: string): void {
    const pod = this.#of(source).get(uid);
    if (pod === undefined) return;
    this.#of(source).delete(uid);
    this.#deliver({ op: 'REMOVE', source, pods: [pod] });
  }

  markReady(source: PodSourceName): void {
    this.#ready.add(source);
  }

  /** Until every source has spoken, a pod that nobody names may still be somebody's. */
  allReady(): boolean {
    return this.#sources.every((source) => this.#ready.has(source));
  }

  #of(source: PodSourceName): Map<string, Pod> {
    return this.#bySource.get(source) ?? new Map();
  }
}

/** Removals first: a changed static pod ends before its successor of the same name begins. */
function changes(
  source: PodSourceName,
  before: ReadonlyMap<string, Pod>,
  after: ReadonlyMap<string, Pod>,
): PodUpdate[] {
  const sorted: Record<PodOp, Pod[]> = { REMOVE: [], ADD: [], UPDATE: [], RECONCILE: [] };
  for (const [uid, pod] of before) if (!after.has(uid)) sorted.REMOVE.push(pod);
  for (const [uid, pod] of after) {
    const op = changeOf(before.get(uid), pod);
    if (op !== undefined) sorted[op].push(pod);
  }
  return (Object.keys(sorted) as PodOp[])
    .filter((op) => sorted[op].length > 0)
    .map((op) => ({ op, source, pods: sorted[op] }));
}

function changeOf(before: Pod | undefined, after: Pod): PodOp | undefined {
  if (before === undefined) return 'ADD';
  const same = (read: (pod: Pod) => unknown) => isDeepStrictEqual(read(before), read(after));
  const meta = ({ metadata }: Pod) => [
    metadata.labels,
    metadata.annotations,
    metadata.deletionTimestamp,
    metadata.deletionGracePeriodSeconds,
    metadata.generation,
  ];
  if (!same(({ spec }) => spec) || !same(meta)) return 'UPDATE';
  return same(({ status }) => status) ? undefined : 'RECONCILE';
}
