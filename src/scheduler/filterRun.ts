// One pod held against nodes by all filters of a profile. Pure, but for what-ifs that it takes back itself.
// Guarantees: a node is asked only until the first refusal; asking allocates nothing.
import { isRefused, type NodeFilter, type Plugin } from './plugin.js';
import type { PodInfo } from './podInfo.js';
import type { Snapshot } from './snapshot/snapshot.js';

export class FilterRun {
  readonly #pod: PodInfo;
  readonly #snapshot: Snapshot;
  readonly #plugins: readonly Plugin[];
  readonly #filters: (NodeFilter | undefined)[] = [];
  /** Whether a filter that looks at other nodes' pods has anything to say. */
  #looksAround: boolean;
  /** Whether one that looks at the node's own pods has. */
  readonly #looksAtPods: boolean;
  /** The plugin that refused the pod as a whole, and why. */
  refused: { readonly plugin: Plugin; readonly reason: string } | undefined;
  /** Of the last refusal: which plugin, and its number for the reason. */
  failed = -1;
  code = 0;

  constructor(pod: PodInfo, snapshot: Snapshot, plugins: readonly Plugin[]) {
    this.#pod = pod;
    this.#snapshot = snapshot;
    this.#plugins = plugins;
    plugins.forEach((plugin, at) => {
      if (this.refused === undefined) this.#prepare(plugin, at);
    });
    this.#looksAround =
      pod.contestsVolumes ||
      plugins.some((plugin, at) => plugin.looksAround === true && this.#filters[at] !== undefined);
    this.#looksAtPods = plugins.some(
      (plugin, at) => plugin.looksAtPods === true && this.#filters[at] !== undefined,
    );
  }

  #prepare(plugin: Plugin, at: number): void {
    const filter = plugin.filter?.(this.#pod, this.#snapshot);
    if (filter !== undefined && isRefused(filter)) this.refused = { plugin, reason: filter.refused };
    else this.#filters[at] = filter;
  }

  /** The slots that alone come into question, when a filter knows them beforehand. */
  only(): readonly number[] | undefined {
    const lists = this.#filters.flatMap((filter) => (filter?.only === undefined ? [] : [filter.only]));
    if (lists.length === 0) return undefined;
    return lists.reduce((left, right) => left.filter((slot) => right.includes(slot)));
  }

  test(slot: number): boolean {
    const filters = this.#filters;
    for (let at = 0; at < filters.length; at += 1) {
      const filter = filters[at];
      if (filter === undefined) continue;
      const code = filter.test(slot);
      if (code === 0) continue;
      this.failed = at;
      this.code = code;
      return false;
    }
    return true;
  }

  /** The same, with those pods on the node too. They may yet go elsewhere, so the node must also do without them. */
  testBeside(slot: number, others: readonly PodInfo[]): boolean {
    if (this.seesOnlySums(others)) return this.#testSumsBeside(slot, others);
    for (const other of others) this.#snapshot.place(other, slot);
    this.lookAround();
    const fits = this.test(slot);
    for (const other of others) this.#snapshot.displace(other, slot);
    this.lookAround();
    return fits;
  }

  #testSumsBeside(slot: number, others: readonly PodInfo[]): boolean {
    const { table } = this.#snapshot;
    for (const other of others) table.lend(slot, other, 1);
    const fits = this.test(slot);
    for (const other of others) table.lend(slot, other, -1);
    return fits;
  }

  /** Pods have moved: filters that count pods of other nodes count again, where that can matter. */
  lookAround(): void {
    if (!this.#looksAround && this.#snapshot.classes.of(this.#pod).spokenOf.length === 0) return;
    this.#looksAround = true;
    this.#plugins.forEach((plugin, at) => {
      if (plugin.looksAround === true) this.#prepare(plugin, at);
    });
  }

  /** Whether of a node's pods, and of these others, only the sums of their requests matter to this pod. */
  seesOnlySums(others: readonly PodInfo[] = []): boolean {
    if (this.#looksAtPods || this.#looksAround) return false;
    if (this.#snapshot.classes.of(this.#pod).spokenOf.length > 0) return false;
    return others.every(({ antiAffinity }) => antiAffinity.length === 0);
  }

  /** What the last refusal of this node means. */
  isFinal(slot: number): boolean {
    return this.#filters[this.failed]?.isFinal(this.code, slot) ?? false;
  }

  reasonsOf(failed: number, code: number): readonly string[] {
    return this.#filters[failed]?.reasons(code) ?? [];
  }

  pluginOf(failed: number): string {
    return this.#plugins[failed]?.name ?? '';
  }
}
