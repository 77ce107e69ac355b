// Keeps the node alive when memory, disk or processes run short: reclaims first, then ends one pod at a time.
// Guarantees: at most one pod a round for pressure; a pod that ends this way says why; pressure is told to the node at once.
import type { Log } from '../../api/log.js';
import { messageOf } from '../../base/errorMessage.js';
import type { KubeletConfig } from '../config.js';
import type { EventSink } from '../events.js';
import type { PodWorkers } from '../podWorkers.js';
import type { Pod } from '../ports.js';
import { podRequest } from '../resources.js';
import type { NodeSample } from '../stats/sample.js';
import { brokenLimit } from './limits.js';
import { isCritical, rankPods, usageOf } from './rank.js';
import { type Observations, observe, type PressureCondition, resourceOf, type Signal } from './signals.js';
import {
  amountOf,
  type Crossed,
  conditionsAfter,
  crossedNow,
  due,
  type Threshold,
  thresholdsOf,
} from './thresholds.js';

interface EvictionOptions {
  readonly config: KubeletConfig;
  readonly sample: () => Promise<NodeSample>;
  /** One that is taken anew, with what each pod has on disk. */
  readonly sampleAnew: () => Promise<NodeSample>;
  /** Pods that have not ended. */
  readonly pods: () => readonly Pod[];
  readonly workers: Pick<PodWorkers, 'terminate'>;
  readonly events: EventSink;
  readonly log: Log;
  readonly now: () => number;
  /** Frees disk without ending a pod: images and dead containers. */
  readonly reclaimDisk: () => Promise<void>;
  /** Nothing of the pod is left on the node. */
  readonly isGone: (uid: string) => boolean;
  readonly pressureChanged: () => void;
  readonly evicted: (signal: string) => void;
  /** An event of the Node. */
  readonly tellNode: (type: 'Warning', reason: string, message: string) => void;
  /** For tests; what the machine says otherwise. */
  readonly observe?: (sample: NodeSample) => Observations;
}

/** What an evicted pod held is free only when it has gone; for so long the next one is spared. */
const LEAVING_MS = 30_000;

export class EvictionManager {
  readonly #options: EvictionOptions;

  readonly #thresholds: readonly Threshold[];
  #crossed: readonly Crossed[] = [];
  #causes: ReadonlyMap<PressureCondition, number> = new Map();
  #leaving: { readonly uid: string; readonly sinceMs: number } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: EvictionOptions) {
    this.#options = options;

    this.#thresholds = thresholdsOf(options.config);
  }

  start(): void {
    const periodMs = this.#options.config.evictionPeriodMs;
    const next = async () => {
      await this.round().catch((error: unknown) =>
        this.#options.log.warn('cannot look for pressure', { error: messageOf(error) }),
      );
      if (!this.#stopped) this.#timer = setTimeout(() => void next(), periodMs);
    };
    this.#timer = setTimeout(() => void next(), periodMs);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  has(condition: PressureCondition): boolean {
    return this.#causes.has(condition);
  }

  /** Answers the pods that it ended. */
  async round(): Promise<readonly Pod[]> {
    const { now, config, reclaimDisk, tellNode } = this.#options;
    let sample = await this.#options.sample();
    const overLimit = this.#evictOverLimit(sample);
    if (overLimit.length > 0) return overLimit;
    this.#look(sample);
    let [worst] = due(this.#crossed, now());
    if (worst === undefined || this.#isOneLeaving()) return [];
    tellNode('Warning', 'EvictionThresholdMet', `Attempting to reclaim ${resourceOf(worst.signal)}`);
    if (worst.signal !== 'memory.available' && worst.signal !== 'pid.available') {
      await reclaimDisk();
      sample = await this.#options.sampleAnew();
      // What was freed may be enough; the thresholds' own minimum says how much that is.
      this.#crossed = crossedNow(this.#thresholds, this.#observe(sample), this.#crossed, now());
      [worst] = due(this.#crossed, now());
      if (worst === undefined) return [];
    }
    const seen = this.#observe(sample).get(worst.signal);
    const candidates = this.#options.pods().map((pod) => ({
      pod,
      sample: sample.pods.find(({ uid }) => uid === pod.metadata.uid),
    }));
    const [first] = rankPods(candidates, worst.signal);
    if (first === undefined || seen === undefined) return [];
    const message = lowText(worst, seen, first);
    const graceSeconds =
      worst.graceMs === 0
        ? 0
        : Math.min(config.evictionMaxPodGracePeriod, first.pod.spec.terminationGracePeriodSeconds ?? 30);
    this.#evict(first.pod, worst.signal, message, graceSeconds);
    this.#leaving = { uid: first.pod.metadata.uid, sinceMs: now() };
    return [first.pod];
  }

  #isOneLeaving(): boolean {
    const leaving = this.#leaving;
    if (leaving === undefined || this.#options.isGone(leaving.uid)) return false;
    return this.#options.now() - leaving.sinceMs < LEAVING_MS;
  }

  #look(sample: NodeSample): void {
    const { now, config, pressureChanged, log } = this.#options;
    const nowMs = now();
    this.#crossed = crossedNow(this.#thresholds, this.#observe(sample), this.#crossed, nowMs);
    const transitionMs = config.evictionPressureTransition;
    const before = [...this.#causes.keys()].sort().join();
    const counted = this.#crossed.filter(({ threshold, sinceMs }) => nowMs - sinceMs >= threshold.graceMs);
    this.#causes = conditionsAfter(this.#causes, counted, { nowMs, transitionMs });
    const after = [...this.#causes.keys()].sort().join();
    if (before === after) return;
    log.warn('the pressure on the node has changed', { conditions: after });
    pressureChanged();
  }

  #observe(sample: NodeSample): Observations {
    return (this.#options.observe ?? observationsOf)(sample);
  }

  #evictOverLimit(sample: NodeSample): readonly Pod[] {
    const ended: Pod[] = [];
    for (const pod of this.#options.pods()) {
      const own = sample.pods.find(({ uid }) => uid === pod.metadata.uid);
      const message = own === undefined || isCritical(pod) ? undefined : brokenLimit(pod, own);
      if (message === undefined) continue;
      this.#evict(pod, 'ephemeral-storage', message, 0);
      ended.push(pod);
    }
    return ended;
  }

  #evict(pod: Pod, signal: string, message: string, graceSeconds: number): void {
    const { workers, events, log, evicted } = this.#options;
    log.warn('evicting a pod', { pod: `${pod.metadata.namespace}/${pod.metadata.name}`, signal, message });
    events.event(pod, { type: 'Warning', reason: 'Evicted', message });
    workers.terminate(pod.metadata.uid, {
      graceSeconds,
      failure: { reason: 'Evicted', message, isDisruption: true },
    });
    evicted(signal);
  }
}

function observationsOf(sample: NodeSample): Observations {
  const { fs, imageFs, usage, memoryTotalBytes, pidsUsed, pidsMax } = sample;
  const disk = (one: NodeSample['fs']) => ({
    diskAvailableBytes: one.availableBytes,
    diskTotalBytes: one.capacityBytes,
    inodesFree: one.inodesFree,
    inodesTotal: one.inodes,
  });
  const used = (usage.memoryBytes ?? 0) - (usage.inactiveFileBytes ?? 0);
  const node = { memoryAvailableBytes: memoryTotalBytes - used, memoryTotalBytes, pidsUsed, pidsMax };
  return observe({ ...disk(fs), ...node }, disk(imageFs));
}

/** As `kubectl describe pod` shows it: what was short, and what of the pod used it. */
function lowText(
  { signal, value }: Threshold,
  seen: { readonly available: number; readonly capacity: number },
  candidate: Parameters<typeof usageOf>[0],
): string {
  const resource = resourceOf(signal);
  const limit = Math.floor(amountOf(value, seen));
  const head = `The node was low on resource: ${resource}. Threshold quantity: ${quantity(signal, limit)}, available: ${quantity(signal, seen.available)}. `;
  if (resource !== 'memory' && resource !== 'ephemeral-storage') return head;
  const used = usageOf(candidate, signal);
  const request = podRequest(candidate.pod.spec, resource);
  if (used <= request) return head;
  const [container] = candidate.pod.spec.containers;
  return `${head}Container ${container?.name ?? ''} was using ${quantity(signal, used)}, request is ${quantity(signal, request)}, has larger consumption of ${resource}. `;
}

const quantity = (signal: Signal, amount: number) =>
  amount === 0 || resourceOf(signal) === 'pids' || resourceOf(signal) === 'inodes'
    ? String(Math.floor(amount))
    : `${Math.floor(amount / 1024)}Ki`;
