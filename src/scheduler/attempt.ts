// One attempt at one pod: choose a node, ask the extenders if there are any, then bind it, make room, or say why not.
// Guarantees: a choice sees all choices before it; where an extender took its time, the cluster is looked at anew.
import type { Log } from '../api/log.js';
import { keyOf } from '../api/object.js';
import { messageOf } from '../base/errorMessage.js';
import { type Choice, chooseNode, type Profile, Scratch } from './choose.js';
import { type Diagnosis, diagnosisMessage } from './diagnosis.js';
import { callExtenders, callExtendersOnVictims } from './extenders/callExtenders.js';
import type { Extender } from './extenders/extender.js';
import { extenderPlugin } from './extenders/plugin.js';
import { FilterRun } from './filterRun.js';
import type { SchedulerMetrics } from './metrics.js';
import { planVolumes } from './plugins/volumeBinding.js';
import type { PodInfo } from './podInfo.js';
import type { Budgets } from './preemption/budgets.js';
import { findCandidates, gentlest } from './preemption/preempt.js';
import { type Victims, victimsOf } from './preemption/victims.js';
import type { SchedulerState } from './state.js';
import { KnownVerdicts, type Verdicts } from './verdicts.js';
import type { Writer } from './writer.js';

interface AttemptsOptions {
  readonly state: SchedulerState;
  readonly writer: Writer;
  readonly metrics: SchedulerMetrics;
  readonly extenders: readonly Extender[];
  readonly log: Log;
  budgets(): Budgets;
  random(): number;
}

interface Attempt {
  readonly info: PodInfo;
  readonly profile: Profile;
  /** Those whose business the pod is. */
  readonly extenders: readonly Extender[];
  readonly started: number;
}

export class Attempts {
  readonly #options: AttemptsOptions;
  readonly #scratch = new Scratch();
  readonly #verdicts = new KnownVerdicts();
  /** Where in the order of nodes the next choice begins. */
  #start = 0;

  constructor(options: AttemptsOptions) {
    this.#options = options;
  }

  /** Done when it returns, unless an extender has to be waited for: then no other attempt may begin before it ends. */
  schedule(key: string): Promise<void> | undefined {
    const { state, extenders } = this.#options;
    const pod = state.waiting(key);
    const profile = pod === undefined ? undefined : state.profileOf(pod);
    if (pod === undefined || profile === undefined) {
      state.queue.remove(key);
      return undefined;
    }
    const info = state.infoOf(pod);
    const attempt = {
      info,
      profile,
      extenders: extenders.filter((extender) => extender.isInterestedIn(info)),
      started: performance.now(),
    };
    const choice = this.#choose(attempt, this.#verdictsFor(attempt));
    return choice.slot >= 0 && attempt.extenders.some(judgesNodes)
      ? this.#callExtenders(attempt, choice)
      : this.#settle(attempt, choice);
  }

  /** A pod with a place promised sees its own node as nobody else does. */
  #verdictsFor({ info, profile }: Attempt): Verdicts | undefined {
    const { snapshot, nominations } = this.#options.state;
    return nominations.nodeOf(info.key) === undefined
      ? this.#verdicts.of(info, profile.filters, snapshot.table)
      : undefined;
  }

  #choose({ info, profile }: Attempt, verdicts?: Verdicts): Choice {
    const { state, random } = this.#options;
    const { snapshot, nominations } = state;
    const choice = chooseNode(info, snapshot, profile, {
      scratch: this.#scratch,
      random,
      start: this.#start,
      nominations,
      verdicts,
    });
    this.#start = (this.#start + choice.visited) % Math.max(1, snapshot.nodeCount);
    return choice;
  }

  #settle(attempt: Attempt, { slot, diagnosis }: Choice): Promise<void> | undefined {
    const { metrics } = this.#options;
    const seconds = secondsSince(attempt.started);
    metrics.decided(seconds);
    if (slot >= 0) {
      this.#bind(attempt, slot);
      return undefined;
    }
    metrics.attempted(attempt.profile.schedulerName, 'unschedulable', seconds);
    return diagnosis === undefined ? undefined : this.#refuse(attempt, diagnosis);
  }

  #bind({ info, extenders, started }: Attempt, slot: number): void {
    const { state, writer } = this.#options;
    const { snapshot } = state;
    const { key, pod } = info;
    const nodeName = snapshot.table.names[slot] ?? '';
    snapshot.assume(info, nodeName);
    state.unnominate(key, nodeName);
    const plan = planVolumes(info, snapshot, slot);
    for (const { volume, claim } of plan?.bindings ?? [])
      snapshot.reservedVolumes.set(volume, claim.metadata.uid);
    const binder = extenders.find(({ settings }) => settings.bindVerb !== undefined);
    writer.bind({ pod, key, nodeName, started, binder }, plan);
  }

  async #callExtenders(attempt: Attempt, { feasible }: Choice): Promise<void> {
    const { state, log } = this.#options;
    const { table } = state.snapshot;
    const slots = this.#scratch.feasible.subarray(0, feasible);
    const nodes = [...slots].flatMap((slot) => table.nodes[slot] ?? []);
    state.queue.listen(attempt.info.key);
    const said = await this.#orFail(attempt, callExtenders(attempt.extenders, attempt.info, { nodes, log }));
    const now = said === undefined ? undefined : this.#asItIsNow(attempt);
    if (said === undefined || now === undefined) return;
    const plugin = extenderPlugin(said, state.snapshot);
    const { filters, scores } = now.profile;
    const profile = {
      ...now.profile,
      filters: [...filters, plugin],
      scores: [...scores, { plugin, weight: 1 }],
    };
    await this.#settle(now, this.#choose({ ...now, profile }));
  }

  /** Undefined when the extenders failed the pod. */
  async #orFail<T>(attempt: Attempt, answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer;
    } catch (error) {
      this.#fail(attempt, error);
      return undefined;
    }
  }

  /** After a wait: the pod may have changed, or be gone. */
  #asItIsNow(attempt: Attempt): Attempt | undefined {
    const { state } = this.#options;
    const { key, pod: before } = attempt.info;
    const pod = state.waiting(key);
    if (pod?.metadata.uid === before.metadata.uid) return { ...attempt, info: state.infoOf(pod) };
    if (pod === undefined) state.queue.remove(key);
    else state.queue.backOff(key);
    return undefined;
  }

  #fail({ info, profile, started }: Attempt, error: unknown): void {
    const { state, writer, metrics, log } = this.#options;
    log.warn('scheduling failed', { pod: info.key, error: messageOf(error) });
    metrics.attempted(profile.schedulerName, 'error', secondsSince(started));
    state.queue.backOff(info.key);
    writer.report(info.pod, 'SchedulerError', messageOf(error));
  }

  #refuse(attempt: Attempt, diagnosis: Diagnosis): Promise<void> | undefined {
    const found = this.#candidates(attempt, diagnosis);
    if (found === undefined || 'message' in found) {
      this.#report(attempt, diagnosis, found?.message ?? '');
      return undefined;
    }
    const { candidates } = found;
    if (attempt.extenders.some(({ settings }) => settings.preemptVerb !== undefined))
      return this.#callExtendersOnVictims(attempt, diagnosis, candidates);
    this.#preempt(attempt, diagnosis, gentlest(candidates));
    return undefined;
  }

  /** Where room could be made for the pod; undefined when that is out of the question. */
  #candidates(attempt: Attempt, { refusal }: Diagnosis) {
    const { info, profile } = attempt;
    const { state, metrics, budgets, random } = this.#options;
    const { snapshot, nominations } = state;
    if (!profile.preempts || snapshot.nodeCount === 0 || refusal !== undefined) return undefined;
    const run = new FilterRun(info, snapshot, profile.filters);
    const verdicts = run.seesOnlySums() ? this.#verdictsFor(attempt) : undefined;
    const whatIf = { pod: info, snapshot, run, nominations, budgets: budgets(), verdicts };
    const found = findCandidates(whatIf, { scratch: this.#scratch, random });
    if ('message' in found) metrics.preempted(undefined);
    return found;
  }

  async #callExtendersOnVictims(
    attempt: Attempt,
    diagnosis: Diagnosis,
    candidates: readonly Victims[],
  ): Promise<void> {
    const { state, log } = this.#options;
    const { table } = state.snapshot;
    const offered = new Map(candidates.map((one) => [table.names[one.slot] ?? '', one]));
    state.queue.listen(attempt.info.key);
    const asked = callExtendersOnVictims(attempt.extenders, attempt.info, { candidates: offered, log });
    const left = await this.#orFail(attempt, asked);
    const now = left === undefined ? undefined : this.#asItIsNow(attempt);
    if (left === undefined || now === undefined) return;
    const still = [...left].flatMap(([node, { pods, violations }]) => {
      const slot = table.slotOf(node);
      const arePlaced = pods.length > 0 && pods.every((one) => state.isPlaced(one));
      return slot === undefined || !arePlaced ? [] : [victimsOf(slot, pods, violations)];
    });
    this.#preempt(now, diagnosis, gentlest(still));
  }

  /** Makes room for the pod, if victims were found. */
  #preempt(attempt: Attempt, diagnosis: Diagnosis, victims: Victims | undefined): void {
    const { state, writer, metrics, log } = this.#options;
    const { info } = attempt;
    metrics.preempted(victims?.pods.length);
    if (victims === undefined) {
      this.#report(attempt, diagnosis, 'preemption: the extenders left no node to make room on.');
      return;
    }
    const nodeName = state.snapshot.table.names[victims.slot] ?? '';
    log.info('preempting', { pod: keyOf(info.pod.metadata), node: nodeName, victims: victims.pods.length });
    writer.preempt(info, nodeName, { ...victims, message: diagnosisMessage(diagnosis) });
    state.nominations.set(info, nodeName);
    state.queue.unschedulable(info.key, diagnosis.rejectedBy);
  }

  #report({ info }: Attempt, diagnosis: Diagnosis, preemption: string): void {
    const { state, writer } = this.#options;
    state.queue.unschedulable(info.key, diagnosis.rejectedBy);
    const promised = state.nominations.nodeOf(info.key);
    writer.report(info.pod, 'Unschedulable', diagnosisMessage(diagnosis, preemption), promised);
  }
}

function judgesNodes({ settings }: Extender): boolean {
  return settings.filterVerb !== undefined || settings.prioritizeVerb !== undefined;
}

function secondsSince(started: number): number {
  return (performance.now() - started) / 1000;
}
