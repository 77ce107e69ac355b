// One extender: a server of someone else's that filters, rates and binds, asked over HTTP as kube-scheduler asks it.
// Guarantees: no call lasts longer than its time; whatever is not an answer is a failure that names the extender.
import type { V1Node, V1Pod } from '../../api/gen/types.js';
import type { Stored } from '../../api/object.js';
import { messageOf } from '../../base/errorMessage.js';
import { readBody } from '../../client/answer.js';
import { type HttpsOptions, openHttps } from '../../client/httpTransport.js';
import type { Transport } from '../../client/transport.js';
import { SchedulerError } from '../error.js';
import type { PodInfo } from '../podInfo.js';
import { filterAnswer, preemptionAnswer, ratings, textAt } from './answers.js';

export interface ExtenderSettings {
  readonly urlPrefix: string;
  /** Absent verbs are not asked. */
  readonly filterVerb?: string | undefined;
  readonly prioritizeVerb?: string | undefined;
  readonly preemptVerb?: string | undefined;
  readonly bindVerb?: string | undefined;
  readonly weight: number;
  readonly timeoutMs: number;
  /** It knows the nodes itself: names are enough. */
  readonly nodeCacheCapable: boolean;
  /** Pods may be scheduled though it does not answer. */
  readonly ignorable: boolean;
  /** Only pods that ask for one of these are its business; all are when there are none. */
  readonly managedResources: readonly { readonly name: string; readonly ignoredByScheduler: boolean }[];
  readonly tls: Omit<HttpsOptions, 'server'>;
}

export type Node = Stored<V1Node>;

/** Victims by node. */
export type Candidates = ReadonlyMap<
  string,
  { readonly pods: readonly PodInfo[]; readonly violations: number }
>;

export interface FilterVerdict {
  readonly passed: ReadonlySet<string>;
  /** Node to the reason; of the second kind no removal of pods would help. */
  readonly failed: ReadonlyMap<string, string>;
  readonly failedForGood: ReadonlyMap<string, string>;
}

export class Extender {
  readonly settings: ExtenderSettings;
  readonly #transport: Transport;
  readonly #managed: ReadonlySet<string>;

  constructor(settings: ExtenderSettings) {
    this.settings = settings;
    this.#transport = openHttps({ server: settings.urlPrefix, ...settings.tls });
    this.#managed = new Set(settings.managedResources.map(({ name }) => name));
  }

  isInterestedIn({ spec }: PodInfo): boolean {
    if (this.#managed.size === 0) return true;
    return [...spec.containers, ...(spec.initContainers ?? [])].some(({ resources }) =>
      [...Object.keys(resources?.requests ?? {}), ...Object.keys(resources?.limits ?? {})].some((name) =>
        this.#managed.has(name),
      ),
    );
  }

  async filter(pod: Stored<V1Pod>, nodes: readonly Node[]): Promise<FilterVerdict> {
    const answer = await this.#ask(this.settings.filterVerb ?? '', this.#arguments(pod, nodes));
    return this.#read(() => filterAnswer(answer, nodes));
  }

  /** Node to rating, 0 to 10. */
  async prioritize(pod: Stored<V1Pod>, nodes: readonly Node[]): Promise<ReadonlyMap<string, number>> {
    const answer = await this.#ask(this.settings.prioritizeVerb ?? '', this.#arguments(pod, nodes));
    return this.#read(() => ratings(answer));
  }

  /** The candidates that it leaves, each with the victims that it wants. */
  async preempt(pod: Stored<V1Pod>, candidates: Candidates): Promise<Candidates> {
    const { nodeCacheCapable, preemptVerb = '' } = this.settings;
    const shown = (one: PodInfo) => (nodeCacheCapable ? { UID: one.pod.metadata.uid } : one.pod);
    const byNode = Object.fromEntries(
      [...candidates].map(([node, { pods, violations }]) => [
        node,
        { Pods: pods.map(shown), NumPDBViolations: violations },
      ]),
    );
    const answer = await this.#ask(preemptVerb, {
      Pod: pod,
      [nodeCacheCapable ? 'NodeNameToMetaVictims' : 'NodeNameToVictims']: byNode,
    });
    return this.#read(() => preemptionAnswer(answer, candidates));
  }

  async bind({ metadata: { name, namespace, uid } }: Stored<V1Pod>, node: string): Promise<void> {
    const body = { PodName: name, PodNamespace: namespace, PodUID: uid, Node: node };
    const answer = await this.#ask(this.settings.bindVerb ?? '', body);
    const error = this.#read(() => textAt(answer, 'error'));
    if (error !== undefined && error !== '') throw this.#failure(error);
  }

  close(): void {
    this.#transport.close();
  }

  #arguments(pod: Stored<V1Pod>, nodes: readonly Node[]): object {
    return this.settings.nodeCacheCapable
      ? { Pod: pod, NodeNames: nodes.map(({ metadata }) => metadata.name) }
      : { Pod: pod, Nodes: { apiVersion: 'v1', kind: 'NodeList', metadata: {}, items: nodes } };
  }

  async #ask(verb: string, body: object): Promise<unknown> {
    const limit = new AbortController();
    const timer = setTimeout(() => limit.abort(), this.settings.timeoutMs);
    try {
      const response = await this.#transport.request({
        method: 'POST',
        path: `/${verb}`,
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify(body),
        signal: limit.signal,
      });
      const bytes = await readBody(response);
      if (limit.signal.aborted) throw new Error('the answer was cut short');
      if (response.status !== 200) throw new Error(`it answered ${response.status}`);
      return JSON.parse(bytes.toString('utf8'));
    } catch (error) {
      const late = `no answer to ${verb} within ${this.settings.timeoutMs / 1000} s`;
      throw this.#failure(limit.signal.aborted ? late : messageOf(error), error);
    } finally {
      clearTimeout(timer);
    }
  }

  #read<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw this.#failure(messageOf(error), error);
    }
  }

  #failure(what: string, cause?: unknown): SchedulerError {
    return new SchedulerError('EXTENDER', `extender ${this.settings.urlPrefix}: ${what}`, { cause });
  }
}
