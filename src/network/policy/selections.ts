// Which pods each selection of the policies takes, kept current change by change. Pure.
// Guarantees: a pod is compared only with selections of its namespace and labels (and those that demand no label), and a
// selection only with pods that have its label, however many others there are; a membership is told exactly when it changes.
import type { V1LabelSelector } from '../../api/gen/types.js';
import {
  compileLabelSelector,
  type LabelMatcher,
  type Labels,
  labelSelectorString,
  matchesNothing,
} from '../../api/selectors.js';
import { type PodSelection, type PolicyPod, podKey } from './model.js';

/** A selection that at least one policy uses; equal ones are one object. */
export interface Selection {
  /** Equal for equal selections. */
  readonly text: string;
  readonly members: ReadonlyMap<string, PolicyPod>;
  /** How many of them run on this node. */
  readonly localMembers: number;
}

export interface MembershipChange {
  readonly selection: Selection;
  readonly key: string;
  readonly before: PolicyPod | undefined;
  readonly after: PolicyPod | undefined;
}

interface Entry {
  readonly text: string;
  readonly members: Map<string, PolicyPod>;
  /** A label that its pods must have; empty when it demands none. */
  readonly label: string;
  readonly namespace: string | undefined;
  takesNamespace(name: string): boolean;
  takesLabels(labels: Labels): boolean;
  localMembers: number;
  users: number;
}

const ANY = '*';
/** A blank is in no label and no namespace. */
const bucketOf = (namespace: string, label: string) => `${namespace} ${label}`;
/** What a pod is found by: each of its labels, and nothing at all. */
const wordsOf = ({ labels }: PolicyPod) => [
  '',
  ...Object.entries(labels).map(([key, value]) => `${key}=${value}`),
];

export class Selections {
  readonly #pods = new Map<string, PolicyPod>();
  /** By namespace, then by word. */
  readonly #podsOf = new Map<string, Map<string, Set<PolicyPod>>>();
  readonly #namespaces = new Map<string, Labels>();
  readonly #entries = new Map<string, Entry>();
  readonly #buckets = new Map<string, Set<Entry>>();
  readonly #byPod = new Map<string, Set<Entry>>();
  readonly #onChange: (change: MembershipChange) => void;
  /** How often a pod was compared with a selection. */
  comparisons = 0;

  constructor(onChange: (change: MembershipChange) => void) {
    this.#onChange = onChange;
  }

  /** Each call needs a `release`. Members that are there already are not told. */
  acquire(wanted: PodSelection): Selection {
    const text = selectionText(wanted);
    const known = this.#entries.get(text);
    if (known !== undefined) {
      known.users += 1;
      return known;
    }
    const entry = this.#open(text, wanted);
    const places = entry.namespace === undefined ? this.#podsOf.keys() : [entry.namespace];
    for (const place of places)
      for (const pod of this.#podsOf.get(place)?.get(entry.label) ?? [])
        if (this.#takes(entry, pod)) this.#join(entry, podKey(pod), pod);
    return entry;
  }

  release(selection: Selection): void {
    const entry = this.#entries.get(selection.text);
    if (entry === undefined || --entry.users > 0) return;
    this.#entries.delete(entry.text);
    this.#buckets.get(bucketOf(entry.namespace ?? ANY, entry.label))?.delete(entry);
    for (const key of entry.members.keys()) this.#byPod.get(key)?.delete(entry);
  }

  pod(key: string): PolicyPod | undefined {
    return this.#pods.get(key);
  }

  pods(): ReadonlyMap<string, PolicyPod> {
    return this.#pods;
  }

  /** The selections that take this pod. */
  *of(key: string): Iterable<Selection> {
    yield* this.#byPod.get(key) ?? [];
  }

  setPod(pod: PolicyPod): void {
    const key = podKey(pod);
    this.#unlist(this.#pods.get(key));
    this.#pods.set(key, pod);
    const siblings = inner(this.#podsOf, pod.namespace, () => new Map<string, Set<PolicyPod>>());
    for (const word of wordsOf(pod)) inner(siblings, word, () => new Set<PolicyPod>()).add(pod);
    const wanted = new Set(this.#candidates(pod).filter((entry) => this.#takes(entry, pod)));
    for (const entry of [...(this.#byPod.get(key) ?? [])]) if (!wanted.has(entry)) this.#leave(entry, key);
    for (const entry of wanted) {
      const was = entry.members.get(key);
      this.#join(entry, key, pod);
      if (was !== pod) this.#onChange({ selection: entry, key, before: was, after: pod });
    }
  }

  removePod(key: string): void {
    const pod = this.#pods.get(key);
    if (pod === undefined) return;
    for (const entry of [...(this.#byPod.get(key) ?? [])]) this.#leave(entry, key);
    this.#byPod.delete(key);
    this.#pods.delete(key);
    this.#unlist(pod);
  }

  /** `labels` undefined: the namespace is gone. */
  setNamespace(name: string, labels: Labels | undefined): void {
    if (labels === undefined) this.#namespaces.delete(name);
    else this.#namespaces.set(name, labels);
    for (const pod of [...(this.#podsOf.get(name)?.get('') ?? [])]) this.setPod(pod);
  }

  #unlist(pod: PolicyPod | undefined): void {
    const siblings = this.#podsOf.get(pod?.namespace ?? '');
    if (pod === undefined || siblings === undefined) return;
    for (const word of wordsOf(pod)) {
      siblings.get(word)?.delete(pod);
      if (siblings.get(word)?.size === 0) siblings.delete(word);
    }
    if (siblings.size === 0) this.#podsOf.delete(pod.namespace);
  }

  #open(text: string, wanted: PodSelection): Entry {
    const takesLabels = matcherOf(wanted.pods);
    const namespace = 'namespace' in wanted ? wanted.namespace : undefined;
    const matcher = 'namespace' in wanted ? undefined : matcherOf(wanted.namespaces);
    const entry: Entry = {
      text,
      members: new Map(),
      label: demandedLabel(wanted.pods),
      namespace,
      takesNamespace: (name) =>
        matcher === undefined ? name === namespace : matcher(this.#namespaces.get(name) ?? {}),
      takesLabels,
      localMembers: 0,
      users: 1,
    };
    this.#entries.set(text, entry);
    inner(this.#buckets, bucketOf(namespace ?? ANY, entry.label), () => new Set<Entry>()).add(entry);
    return entry;
  }

  #candidates(pod: PolicyPod): Entry[] {
    const words = wordsOf(pod);
    return [pod.namespace, ANY].flatMap((place) =>
      words.flatMap((word) => [...(this.#buckets.get(bucketOf(place, word)) ?? [])]),
    );
  }

  #takes(entry: Entry, pod: PolicyPod): boolean {
    this.comparisons += 1;
    return entry.takesLabels(pod.labels) && entry.takesNamespace(pod.namespace);
  }

  #join(entry: Entry, key: string, pod: PolicyPod): void {
    entry.localMembers += localCount(pod) - localCount(entry.members.get(key));
    entry.members.set(key, pod);
    inner(this.#byPod, key, () => new Set<Entry>()).add(entry);
  }

  #leave(entry: Entry, key: string): void {
    const before = entry.members.get(key);
    entry.localMembers -= localCount(before);
    entry.members.delete(key);
    this.#byPod.get(key)?.delete(entry);
    this.#onChange({ selection: entry, key, before, after: undefined });
  }
}

const localCount = (pod: PolicyPod | undefined) => (pod?.isLocal === true ? 1 : 0);

function inner<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** What cannot be read takes nobody. */
function matcherOf(selector: V1LabelSelector): LabelMatcher {
  try {
    return compileLabelSelector(selector);
  } catch {
    return matchesNothing;
  }
}

/** One label that every pod of the selection must have, to find it by; empty when it demands none. */
function demandedLabel({ matchLabels, matchExpressions }: V1LabelSelector): string {
  const [equal] = Object.entries(matchLabels ?? {});
  if (equal !== undefined) return `${equal[0]}=${equal[1]}`;
  const single = matchExpressions?.find(({ operator, values }) => operator === 'In' && values?.length === 1);
  return single === undefined ? '' : `${single.key}=${single.values?.[0]}`;
}

/** For people too: "pods app=web of namespaces team=a". */
export function selectionText(selection: PodSelection): string {
  const text = (selector: V1LabelSelector) => {
    try {
      return labelSelectorString(selector) || 'all';
    } catch {
      return `unreadable ${JSON.stringify(selector)}`;
    }
  };
  const place =
    'namespace' in selection
      ? `namespace ${selection.namespace}`
      : `namespaces with ${text(selection.namespaces)}`;
  return `pods with ${text(selection.pods)} in ${place}`;
}
