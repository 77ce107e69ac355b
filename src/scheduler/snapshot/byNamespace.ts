// Things with terms, found by the namespaces they may speak of.
// Guarantees: whatever could match a pod of a namespace is among its candidates.
import type { PodTerm } from '../terms.js';

export class ByNamespace<T extends { readonly terms: readonly PodTerm[] }> {
  readonly #named = new Map<string, Set<T>>();
  /** Those that select namespaces by label. */
  readonly #selecting = new Set<T>();

  add(item: T): void {
    for (const members of this.#places(item, true)) members.add(item);
  }

  remove(item: T): void {
    for (const members of this.#places(item, false)) members.delete(item);
    for (const name of item.terms[0]?.namespaces ?? [])
      if (this.#named.get(name)?.size === 0) this.#named.delete(name);
  }

  *candidates(namespace: string): Iterable<T> {
    yield* this.#named.get(namespace) ?? [];
    yield* this.#selecting;
  }

  /** A pod must match all terms, so the first decides where to look. */
  #places({ terms: [first] }: T, make: boolean): Set<T>[] {
    if (first === undefined) return [];
    if (first.namespaceSelector !== undefined) return [this.#selecting];
    return [...first.namespaces].flatMap((name) => {
      const members = this.#named.get(name) ?? (make ? new Set<T>() : undefined);
      if (members === undefined) return [];
      this.#named.set(name, members);
      return [members];
    });
  }
}
