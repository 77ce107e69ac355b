// Pods of one namespace with the same labels are one class. Who matches which term is found once a class, not a pod.
// Guarantees: counters of matching pods are exact at all times; they change with the pod, never by a walk over all pods.
import type { Labels } from '../../api/selectors.js';
import type { PodInfo } from '../podInfo.js';
import { type AffinityTerm, matchesTerm, type PodTerm } from '../terms.js';
import { ByNamespace } from './byNamespace.js';

/** Slot to amount; what is zero is absent. */
export type SlotCounts = ReadonlyMap<number, number>;

/** How many pods match a term, node by node. */
interface MatchCounter {
  readonly key: string;
  /** A pod counts when it matches all of them. */
  readonly terms: readonly PodTerm[];
  readonly skipsTerminating: boolean;
  readonly counts: Map<number, number>;
}

type HeldKind = 'affinity' | 'antiAffinity' | 'wish';

/** A term that placed pods hold: how many of them (or the sum of their weights), node by node. */
interface HeldTerm {
  readonly key: string;
  readonly kind: HeldKind;
  readonly terms: readonly PodTerm[];
  readonly topologyKey: string;
  readonly counts: Map<number, number>;
  holders: number;
}

interface PodClass {
  readonly key: string;
  readonly namespace: string;
  readonly labels: Labels | undefined;
  readonly terminating: boolean;
  /** Where its pods are. */
  readonly placed: Map<number, number>;
  matched: MatchCounter[];
  /** Held by placed pods, and speaking of this class. */
  spokenOf: HeldTerm[];
}

const MOST_COUNTERS = 512;
const MOST_EMPTY = 1024;

export class PodClasses {
  readonly #classes = new Map<string, PodClass>();
  /** The one asked for longest ago first. */
  readonly #counters = new Map<string, MatchCounter>();
  readonly #held = new Map<string, HeldTerm>();
  readonly #countersFor = new ByNamespace<MatchCounter>();
  readonly #heldFor = new ByNamespace<HeldTerm>();
  readonly #namespaces = new Map<string, Labels | undefined>();
  #emptyHeld = 0;
  #classLimit = 2 * MOST_EMPTY;

  /** The class of a pod that is placed, or that looks for a place. */
  of(pod: PodInfo): PodClass {
    const key = pod.terminating ? `\x01${pod.classKey}` : pod.classKey;
    const known = this.#classes.get(key);
    if (known !== undefined) return known;
    const { labels } = pod.pod.metadata;
    if (this.#classes.size > this.#classLimit) this.#dropEmptyClasses();
    const { namespace, terminating } = pod;
    const made: PodClass = {
      key,
      namespace,
      labels,
      terminating,
      placed: new Map(),
      matched: [],
      spokenOf: [],
    };
    this.#match(made);
    this.#classes.set(key, made);
    return made;
  }

  /** Adds (1) or takes away (-1) one pod on a node. */
  count(pod: PodInfo, slot: number, sign: 1 | -1): void {
    const own = this.of(pod);
    addTo(own.placed, slot, sign);
    for (const { counts } of own.matched) addTo(counts, slot, sign);
    if (pod.affinity.length + pod.antiAffinity.length + pod.wishes.length === 0) return;
    for (const term of pod.affinity) this.#hold('affinity', term, slot, sign, 1);
    for (const term of pod.antiAffinity) this.#hold('antiAffinity', term, slot, sign, 1);
    for (const term of pod.wishes) this.#hold('wish', term, slot, sign, term.weight);
  }

  /** The pods that match every one of the terms, node by node. Live: it changes as pods come and go. */
  matching(terms: readonly PodTerm[], { skipTerminating }: { skipTerminating: boolean }): SlotCounts {
    const key = `${skipTerminating}${terms.map((term) => term.key).join('\0')}`;
    let counter = this.#counters.get(key);
    if (counter === undefined) {
      counter = { key, terms, skipsTerminating: skipTerminating, counts: new Map() };
      this.#countersFor.add(counter);
      for (const own of this.#classes.values()) if (this.#counts(counter, own)) join(counter, own);
    } else this.#counters.delete(key);
    this.#counters.set(key, counter);
    if (this.#counters.size > MOST_COUNTERS) this.#dropOldCounters();
    return counter.counts;
  }

  namespaceLabels(namespace: string): Labels | undefined {
    return this.#namespaces.get(namespace);
  }

  /** Who selects by the labels of namespaces sees other pods now. */
  setNamespace(namespace: string, labels: Labels | undefined): void {
    if (labels === undefined) this.#namespaces.delete(namespace);
    else this.#namespaces.set(namespace, labels);
    for (const own of this.#classes.values()) {
      if (own.namespace !== namespace) continue;
      for (const { counts } of own.matched)
        for (const [slot, count] of own.placed) addTo(counts, slot, -count);
      this.#match(own);
    }
  }

  #match(own: PodClass): void {
    own.matched = [];
    own.spokenOf = [];
    for (const counter of this.#countersFor.candidates(own.namespace))
      if (this.#counts(counter, own)) join(counter, own);
    for (const held of this.#heldFor.candidates(own.namespace))
      if (this.#matchesAll(held.terms, own)) own.spokenOf.push(held);
  }

  #counts({ terms, skipsTerminating }: MatchCounter, own: PodClass): boolean {
    return !(skipsTerminating && own.terminating) && this.#matchesAll(terms, own);
  }

  #matchesAll(terms: readonly PodTerm[], own: PodClass): boolean {
    const labels = this.#namespaces.get(own.namespace);
    return terms.every((term) => matchesTerm(term, own, labels));
  }

  #hold(kind: HeldKind, term: AffinityTerm, slot: number, sign: 1 | -1, amount: number): void {
    const key = `${kind}\0${term.topologyKey}\0${term.key}`;
    let held = this.#held.get(key);
    if (held === undefined) {
      held = { key, kind, terms: [term], topologyKey: term.topologyKey, counts: new Map(), holders: 0 };
      this.#emptyHeld += 1;
      this.#held.set(key, held);
      this.#heldFor.add(held);
      for (const own of this.#classes.values())
        if (this.#matchesAll(held.terms, own)) own.spokenOf.push(held);
    }
    if (held.holders === 0) this.#emptyHeld -= 1;
    held.holders += sign;
    addTo(held.counts, slot, sign * amount);
    if (held.holders === 0) this.#emptyHeld += 1;
    if (this.#emptyHeld > MOST_EMPTY) this.#dropEmptyHeld();
  }

  #dropOldCounters(): void {
    const gone = new Set([...this.#counters.values()].slice(0, MOST_COUNTERS / 2));
    for (const counter of gone) {
      this.#counters.delete(counter.key);
      this.#countersFor.remove(counter);
    }
    for (const own of this.#classes.values())
      own.matched = own.matched.filter((counter) => !gone.has(counter));
  }

  #dropEmptyHeld(): void {
    for (const held of [...this.#held.values()]) {
      if (held.holders > 0) continue;
      this.#held.delete(held.key);
      this.#heldFor.remove(held);
    }
    for (const own of this.#classes.values())
      own.spokenOf = own.spokenOf.filter(({ holders }) => holders > 0);
    this.#emptyHeld = 0;
  }

  #dropEmptyClasses(): void {
    for (const [key, own] of this.#classes) if (own.placed.size === 0) this.#classes.delete(key);
    this.#classLimit = 2 * Math.max(MOST_EMPTY, this.#classes.size);
  }
}

function join(counter: MatchCounter, own: PodClass): void {
  own.matched.push(counter);
  for (const [slot, count] of own.placed) addTo(counter.counts, slot, count);
}

function addTo(counts: Map<number, number>, slot: number, amount: number): void {
  const sum = (counts.get(slot) ?? 0) + amount;
  if (sum === 0) counts.delete(slot);
  else counts.set(slot, sum);
}
