// What the scheduler knows, kept by the informers: nodes and pods in the snapshot, waiting pods in the queue.
// Guarantees: every change reaches the snapshot before it wakes anyone; a pod made anew has nothing of its predecessor.
import type { V1Node, V1Pod } from '../api/gen/types.js';
import { keyOf, type Stored } from '../api/object.js';
import { NAMESPACES, NODES, PODS } from '../api/resources.js';
import type { Informer, Informers } from '../client/informer.js';
import type { Profile } from './choose.js';
import {
  type ClusterEvent,
  deservesFreshStart,
  freesItsNode,
  isWaiting,
  labelsDiffer,
  nodeEvents,
  onlyReports,
} from './events.js';
import { extenderEvents } from './extenders/plugin.js';
import { Nominations } from './nominations.js';
import type { Plugin } from './plugin.js';
import { type PodInfo, podInfoOf } from './podInfo.js';
import { SchedulingQueue } from './queue.js';
import { slimPod } from './slimPod.js';
import { Snapshot } from './snapshot/snapshot.js';

interface StateOptions {
  readonly informers: Informers;
  readonly profiles: ReadonlyMap<string, Profile>;
  /** Whether bound pods are held without what no plugin reads. */
  readonly slimPods?: boolean;
  now(): number;
  /** Called when there may be something to do. */
  wake(): void;
  readonly firstBackOffMs?: number;
  readonly longestBackOffMs?: number;
}

export class SchedulerState {
  readonly snapshot = new Snapshot();
  readonly nominations = new Nominations(this.snapshot);
  readonly queue: SchedulingQueue;
  /** Pods whose victims are being sent away; until that is done nothing else can help them. */
  readonly preempting = new Set<string>();
  readonly #options: StateOptions;
  readonly #plugins = new Map<string, ReadonlyMap<string, Plugin>>();
  /** Of pods that wait: each is looked at again and again. */
  readonly #infos = new WeakMap<Stored<V1Pod>, PodInfo>();

  constructor(options: StateOptions) {
    this.#options = options;
    for (const [name, { filters }] of options.profiles)
      this.#plugins.set(name, new Map([...filters, extenderEvents].map((plugin) => [plugin.name, plugin])));
    const { firstBackOffMs, longestBackOffMs } = options;
    this.queue = new SchedulingQueue({
      now: options.now,
      wokenBy: (key, plugins) => [
        ...new Set(this.#rejecting(key, plugins).flatMap((plugin) => plugin.wokenBy)),
      ],
      helps: (event, key, plugins) => this.#helps(event, key, plugins),
      ...(firstBackOffMs === undefined ? {} : { firstBackOffMs }),
      ...(longestBackOffMs === undefined ? {} : { longestBackOffMs }),
    });
  }

  /** Returns what ends it. */
  follow(): () => void {
    const { informers } = this.#options;
    const stops = [
      informers.of(NAMESPACES).on({
        added: ({ metadata }) => this.#seeNamespace(metadata.name, metadata.labels ?? {}),
        updated: ({ metadata }) => this.#seeNamespace(metadata.name, metadata.labels ?? {}),
        deleted: ({ metadata }) => this.#seeNamespace(metadata.name, undefined),
      }),
      informers.of(NODES).on({
        added: (node) => {
          this.snapshot.setNode(node);
          this.wake({ kind: 'node added', node });
        },
        updated: (node, previous) => this.#seeNode(node, previous),
        deleted: (node) => {
          this.snapshot.removeNode(node.metadata.name);
          this.wake({ kind: 'node removed' });
        },
      }),
      this.#pods().on({
        added: (pod) => this.#seePod(pod),
        updated: (pod, previous) => {
          if (pod.metadata.uid === previous.metadata.uid) {
            this.#seePod(pod, previous);
            return;
          }
          // Deleted and made anew between two looks: the new pod has nothing of the old one.
          this.#losePod(previous);
          this.#seePod(pod);
        },
        deleted: (pod) => this.#losePod(pod),
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** The pod when it is still there to be placed, by one of our profiles. */
  waiting(key: string): Stored<V1Pod> | undefined {
    const pod = this.pod(key);
    return pod !== undefined && this.#isWaiting(pod) ? pod : undefined;
  }

  pod(key: string): Stored<V1Pod> | undefined {
    return this.#pods().get(key);
  }

  /** Whether this very pod still has its place on a node. */
  isPlaced({ key, pod }: PodInfo): boolean {
    return this.snapshot.podOf(key)?.pod.metadata.uid === pod.metadata.uid;
  }

  /** What a waiting pod asks for. */
  infoOf(pod: Stored<V1Pod>): PodInfo {
    const known = this.#infos.get(pod);
    if (known !== undefined) return known;
    const info = podInfoOf(pod);
    this.#infos.set(pod, info);
    return info;
  }

  profileOf({ spec }: Stored<V1Pod>): Profile | undefined {
    return this.#options.profiles.get(spec.schedulerName || 'default-scheduler');
  }

  /** How many pods wait, by what they wait for. */
  pending(): Readonly<Record<'active' | 'backoff' | 'unschedulable' | 'gated', number>> {
    const isGated = (pod: Stored<V1Pod>) =>
      (pod.spec.schedulingGates ?? []).length > 0 && !pod.spec.nodeName && this.profileOf(pod) !== undefined;
    const gated = this.#pods().list().filter(isGated).length;
    return { ...this.queue.sizes(), gated };
  }

  wake(event: ClusterEvent): void {
    this.queue.wake(event);
    this.#options.wake();
  }

  /** The place that was kept for a pod is free for others, unless it takes it itself. */
  unnominate(key: string, taken?: string): void {
    const nominated = this.nominations.nodeOf(key);
    this.nominations.remove(key);
    if (nominated !== undefined && nominated !== taken) this.wake({ kind: 'pod removed' });
  }

  #pods(): Informer<V1Pod> {
    const { informers, slimPods = false } = this.#options;
    return informers.of(PODS, slimPods ? { keep: slimPod } : {});
  }

  #isWaiting(pod: Stored<V1Pod>): boolean {
    return isWaiting(pod, (name) => this.#options.profiles.has(name));
  }

  #rejecting(key: string, names: ReadonlySet<string>): readonly Plugin[] {
    const pod = this.pod(key);
    const plugins = this.#plugins.get(pod?.spec.schedulerName || 'default-scheduler');
    return [...names].flatMap((name) => plugins?.get(name) ?? []);
  }

  #helps(event: ClusterEvent, key: string, names: ReadonlySet<string>): boolean {
    const pod = this.pod(key);
    if (pod === undefined || this.preempting.has(key)) return false;
    const info = this.infoOf(pod);
    return this.#rejecting(key, names).some(
      ({ wokenBy, helps }) =>
        wokenBy.includes(event.kind) && (helps === undefined || helps(event, info, this.snapshot)),
    );
  }

  #seeNamespace(name: string, labels: Readonly<Record<string, string>> | undefined): void {
    this.snapshot.classes.setNamespace(name, labels);
    this.wake({ kind: 'namespace' });
  }

  #seeNode(node: Stored<V1Node>, previous: Stored<V1Node>): void {
    this.snapshot.setNode(node);
    for (const kind of nodeEvents(node, previous)) this.wake({ kind, node });
  }

  #losePod(pod: Stored<V1Pod>): void {
    const key = keyOf(pod.metadata);
    const held = this.snapshot.podOf(key);
    this.queue.remove(key);
    this.snapshot.removePod(key);
    this.unnominate(key);
    if (held !== undefined) this.wake({ kind: 'pod removed', pod: held });
  }

  #seePod(pod: Stored<V1Pod>, previous?: Stored<V1Pod>): void {
    const key = keyOf(pod.metadata);
    if (pod.spec.nodeName) this.#seeBound(pod, key, previous);
    else if (!this.#isWaiting(pod)) {
      this.queue.remove(key);
      this.unnominate(key);
    } else if (!this.snapshot.isAssumed(key)) this.#seeWaiting(pod, key, previous);
  }

  #seeBound(pod: Stored<V1Pod>, key: string, previous: Stored<V1Pod> | undefined): void {
    if (previous?.spec.nodeName && onlyReports(pod, previous) && this.snapshot.refreshPod(pod)) return;
    this.queue.remove(key);
    this.unnominate(key, pod.spec.nodeName);
    this.snapshot.setPod(pod);
    const info = this.snapshot.podOf(key) ?? podInfoOf(pod);
    if (!previous?.spec.nodeName) this.wake({ kind: 'pod added', pod: info });
    else if (freesItsNode(pod, previous)) this.wake({ kind: 'pod removed', pod: info });
    else if (labelsDiffer(pod, previous)) this.wake({ kind: 'pod labels', pod: info });
  }

  #seeWaiting(pod: Stored<V1Pod>, key: string, previous?: Stored<V1Pod>): void {
    // A scheduler that starts anew honours the room that its predecessor made.
    const nominated = pod.status?.nominatedNodeName;
    if (nominated && this.nominations.nodeOf(key) === undefined && previous === undefined)
      this.nominations.set(this.infoOf(pod), nominated);
    if (previous !== undefined && this.#isWaiting(previous) && !deservesFreshStart(pod, previous)) return;
    this.queue.add({ key, priority: pod.spec.priority ?? 0 });
    this.#options.wake();
  }
}
