// All probes of the node: which there are, and what they say of each container.
// Guarantees: no probe waits for another; a pod that is removed leaves no timer.
import type { V1Container, V1ContainerStatus, V1Probe } from '../../api/gen/types.js';
import type { Log } from '../../api/log.js';
import { allContainers, isRestartable } from '../names.js';
import type { Pod, ProbeKind, Probes } from '../ports.js';
import type { ProbeAnswer } from './result.js';
import { timingOf } from './result.js';
import { type Exec, type ProbeTarget, runProbe } from './run.js';
import { bareId, type Clock, ProbeWorker } from './worker.js';

interface ProbeEvent {
  readonly type: 'Warning';
  readonly reason: 'Unhealthy' | 'ProbeWarning';
  readonly message: string;
  /** `spec.containers{name}`: the part of the pod that the event is about. */
  readonly fieldPath: string;
}

interface ProbesOptions {
  readonly exec: Exec;
  readonly clock?: Clock;
  /** A result has changed: the pod wants to be looked at. */
  readonly onResult: (podUid: string) => void;
  readonly onEvent: (pod: Pod, event: ProbeEvent) => void;
  readonly log: Log;
  /** Every probe that was run, for the metrics. */
  readonly onProbe?:
    | ((pod: Pod, container: string, kind: ProbeKind, answer: ProbeAnswer) => void)
    | undefined;
  /** In [0, 1): spreads the first probes. */
  readonly random?: () => number;
  /** How a probe is run; by default over the network and `exec`. */
  readonly run?: (target: ProbeTarget) => Promise<ProbeAnswer>;
}

/** Besides the port's answer, the grace period that the failed probe names for this restart. */
interface ProbeFailure {
  readonly kind: ProbeKind;
  readonly message: string;
  readonly terminationGracePeriodSeconds?: number;
}

interface Probed {
  pod: Pod;
  /** Containers whose status has been seen, with or without probes. */
  known: ReadonlySet<string>;
  /** By `container/kind`. */
  readonly workers: Map<
    string,
    { readonly worker: ProbeWorker; readonly probe: V1Probe; readonly name: string }
  >;
}

const KINDS: readonly ProbeKind[] = ['startup', 'readiness', 'liveness'];
const TITLES = { startup: 'Startup', readiness: 'Readiness', liveness: 'Liveness' } as const;

export class ContainerProbes implements Probes {
  readonly #options: ProbesOptions;
  readonly #clock: Clock;
  readonly #run: (target: ProbeTarget) => Promise<ProbeAnswer>;
  readonly #pods = new Map<string, Probed>();
  readonly #bornMs: number;

  constructor(options: ProbesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#run = options.run ?? ((target) => runProbe(options.exec, target));
    this.#bornMs = this.#clock.now();
  }

  update(pod: Pod, statuses: readonly V1ContainerStatus[], podIp: string | undefined): void {
    const { uid, deletionTimestamp } = pod.metadata;
    const probed = this.#pods.get(uid) ?? { pod, known: new Set(), workers: new Map() };
    probed.pod = pod;
    probed.known = new Set(statuses.map(({ containerID }) => bareId(containerID)));
    this.#pods.set(uid, probed);
    for (const container of probedContainers(pod)) {
      for (const kind of KINDS) {
        const probe = container[`${kind}Probe`];
        if (probe && !probed.workers.has(`${container.name}/${kind}`))
          this.#start(probed, container, kind, probe);
      }
    }
    const { containerStatuses = [], initContainerStatuses = [] } = pod.status;
    const toldStatuses = [...containerStatuses, ...initContainerStatuses];
    for (const { worker, name } of probed.workers.values()) {
      const status = statuses.find((one) => one.name === name);
      const told = toldStatuses.find((one) => one.name === name);
      worker.observe({ status, podIp, told, ending: deletionTimestamp !== undefined });
    }
  }

  #start(probed: Probed, container: V1Container, kind: ProbeKind, probe: V1Probe): void {
    const { onProbe, onResult, random = Math.random } = this.#options;
    const { uid } = probed.pod.metadata;
    const { periodMs } = timingOf(probe);
    const worker = new ProbeWorker({
      kind,
      container,
      probe,
      clock: this.#clock,
      firstDelayMs: this.#clock.now() - this.#bornMs < periodMs ? random() * periodMs : 0,
      run: this.#run,
      isStarted: (id) => this.isStarted(uid, id),
      onAnswer: (_, answer) => {
        onProbe?.(probed.pod, container.name, kind, answer);
        this.#report(probed.pod, container, kind, answer);
      },
      onChange: () => {
        if (kind === 'startup') for (const other of probed.workers.values()) other.worker.hurry();
        onResult(uid);
      },
    });
    probed.workers.set(`${container.name}/${kind}`, { worker, probe, name: container.name });
  }

  #report(pod: Pod, container: V1Container, kind: ProbeKind, { outcome, output }: ProbeAnswer): void {
    if (outcome === 'success') return;
    const { log, onEvent } = this.#options;
    const verb = { failure: 'failed', warning: 'warning', unknown: 'errored and resulted in unknown state' }[
      outcome
    ];
    const reason = outcome === 'warning' ? 'ProbeWarning' : 'Unhealthy';
    const list = pod.spec.initContainers?.includes(container) ? 'initContainers' : 'containers';
    const message = `${TITLES[kind]} probe ${verb}: ${output}`;
    log.debug('probe', { pod: pod.metadata.name, container: container.name, message });
    onEvent(pod, { type: 'Warning', reason, message, fieldPath: `spec.${list}{${container.name}}` });
  }

  remove(podUid: string): void {
    for (const { worker } of this.#pods.get(podUid)?.workers.values() ?? []) worker.stop();
    this.#pods.delete(podUid);
  }

  isReady(podUid: string, containerId: string): boolean {
    return this.isStarted(podUid, containerId) && this.#hasPassed(podUid, containerId, 'readiness');
  }

  isStarted(podUid: string, containerId: string): boolean {
    return this.#hasPassed(podUid, containerId, 'startup');
  }

  hasFailed(podUid: string, containerId: string): ProbeFailure | undefined {
    for (const kind of ['startup', 'liveness'] as const) {
      const found = this.#resultOf(podUid, containerId, kind);
      if (found?.result !== 'failure') continue;
      const grace = found.probe.terminationGracePeriodSeconds;
      const message = `Container ${found.name} failed ${kind} probe`;
      return { kind, message, ...(grace === undefined ? {} : { terminationGracePeriodSeconds: grace }) };
    }
    return undefined;
  }

  /** A container that no update has named yet passes only where no container of its pod has such a probe. */
  #hasPassed(podUid: string, containerId: string, kind: ProbeKind): boolean {
    const found = this.#resultOf(podUid, containerId, kind);
    if (found !== undefined) return found.result === 'success';
    const { known, workers } = this.#pods.get(podUid) ?? {};
    if (known === undefined || workers === undefined || known.has(bareId(containerId))) return true;
    return ![...workers.values()].some(({ worker }) => worker.kind === kind);
  }

  /** What the workers of this kind say of the container; undefined when none of them knows it. */
  #resultOf(podUid: string, containerId: string, kind: ProbeKind) {
    for (const entry of this.#pods.get(podUid)?.workers.values() ?? []) {
      const result = entry.worker.kind === kind ? entry.worker.resultFor(bareId(containerId)) : undefined;
      if (result !== undefined) return { result, ...entry };
    }
    return undefined;
  }

  /** Stops all probes. */
  stop(): void {
    for (const podUid of [...this.#pods.keys()]) this.remove(podUid);
  }
}

/** Init containers are probed only if they stay. */
const probedContainers = (pod: Pod) =>
  allContainers(pod).filter((one) => !pod.spec.initContainers?.includes(one) || isRestartable(one));

const systemClock: Clock = {
  now: Date.now,
  after(delayMs, call) {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
};
