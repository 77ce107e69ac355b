// Writes Events about objects, in the background and in order.
// Guarantees: never throws and never makes its caller wait; repeated events are counted, floods dropped and logged.
import type { CoreV1Event, V1ObjectReference } from '../api/gen/types.js';
import { type Log, silentLog } from '../api/log.js';
import type { KubeObject } from '../api/object.js';
import { apiVersionOf, EVENTS, type ResourceType } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import { BackOff } from '../base/backOff.js';
import { pause } from '../base/deadline.js';
import { messageOf } from '../base/errorMessage.js';
import type { Client } from './client.js';
import { ClientError } from './error.js';
import { EventCorrelation, type Verdict } from './eventCorrelation.js';

type EventType = 'Normal' | 'Warning';

export interface EventRecorder {
  /** About an object that has its apiVersion and kind, or about `referenceTo(type, object)`. */
  event(
    about: KubeObject | V1ObjectReference,
    type: EventType,
    reason: string,
    message: string,
    more?: EventDetails,
  ): void;
  /** Resolves when everything recorded so far is written or given up. */
  flush(): Promise<void>;
}

interface EventDetails {
  /** What was being done, such as `Binding`. */
  readonly action: string;
  /** Another object that has to do with it. */
  readonly related?: V1ObjectReference;
}

interface EventRecorderOptions {
  /** Who speaks, such as `kubelet` or `deployment-controller`. */
  readonly component: string;
  readonly host?: string;
  readonly log?: Log;
  readonly now?: () => number;
  readonly pause?: (delayMs: number) => Promise<void>;
}

const TRIES = 4;
const WAITING_LIMIT = 1000;
const LONGEST_MESSAGE = 1024;

export function referenceTo(type: ResourceType, object: KubeObject, fieldPath?: string): V1ObjectReference {
  const { name, namespace, uid, resourceVersion } = object.metadata ?? {};
  const reference = {
    apiVersion: apiVersionOf(type),
    kind: type.kind,
    name,
    namespace,
    uid,
    resourceVersion,
  };
  return fieldPath === undefined ? reference : { ...reference, fieldPath };
}

export function makeEventRecorder(client: Client, options: EventRecorderOptions): EventRecorder {
  const { log = silentLog, now = Date.now } = options;
  const writer = new EventWriter(client, options);
  let last: Promise<void> = Promise.resolve();
  let waiting = 0;
  let dropped = 0;
  return {
    event(about, type, reason, message, details) {
      const event = eventOf({ about, type, reason, message, details, options, time: now() });
      if (event === undefined) return log.warn('event about an object without kind or name', { reason });
      if (waiting >= WAITING_LIMIT) {
        if (dropped++ % WAITING_LIMIT === 0)
          log.warn('events dropped: the apiserver takes them too slowly', { dropped });
        return;
      }
      waiting += 1;
      last = last
        .then(() => writer.persist(event))
        .finally(() => {
          waiting -= 1;
        });
    },
    flush: () => last,
  };
}

class EventWriter {
  readonly #client: Client;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #wait: (delayMs: number) => Promise<void>;
  readonly #correlation = new EventCorrelation();

  constructor(client: Client, options: EventRecorderOptions) {
    this.#client = client;
    this.#log = options.log ?? silentLog;
    this.#now = options.now ?? Date.now;
    this.#wait = options.pause ?? pause;
  }

  async persist(event: CoreV1Event): Promise<void> {
    const backoff = new BackOff({ firstMs: 1_000, longestMs: 10_000, random: Math.random });
    // Judged once, however often it is sent.
    const verdict = this.#correlation.judge(event, this.#now());
    if (verdict.action === 'drop')
      return this.#log.debug('event dropped: too many of this object', fieldsOf(event));
    for (let tries = 1; ; tries++) {
      try {
        return await this.#write(event, verdict);
      } catch (error) {
        const again = tries < TRIES && ClientError.is(error, 'UNREACHABLE');
        if (!again)
          return this.#log.warn('event not written', { ...fieldsOf(event), error: messageOf(error) });
        await this.#wait(backoff.next());
      }
    }
  }

  async #write(event: CoreV1Event, verdict: Exclude<Verdict, { action: 'drop' }>): Promise<void> {
    const { namespace = 'default' } = event.metadata;
    const { key, message } = verdict;
    if (verdict.action === 'count') {
      const patch = { count: verdict.count, message, lastTimestamp: event.lastTimestamp };
      try {
        await this.#client.of(EVENTS).patch({ namespace, name: verdict.name }, 'merge', patch);
        return;
      } catch (error) {
        // Events expire on the server: the next one starts a new count.
        if (!ApiError.is(error, 'NotFound')) throw error;
        this.#correlation.forget(key);
      }
    }
    const { metadata } = await this.#client.of(EVENTS).create({ ...event, message });
    this.#correlation.wrote(key, metadata.name);
  }
}

interface Recorded {
  readonly about: KubeObject | V1ObjectReference;
  readonly type: EventType;
  readonly reason: string;
  readonly message: string;
  readonly details: EventDetails | undefined;
  readonly options: EventRecorderOptions;
  readonly time: number;
}

/** Two events of one millisecond must not share a name; Kubernetes uses nanoseconds. */
let sequence = 0;

function eventOf({
  about,
  type,
  reason,
  message,
  details,
  options,
  time,
}: Recorded): CoreV1Event | undefined {
  const involvedObject = 'metadata' in about ? referenceOf(about) : (about as V1ObjectReference);
  const { name, kind, namespace } = involvedObject;
  if (name === undefined || name === '' || kind === undefined) return undefined;
  sequence = (sequence + 1) % 1_000_000;
  const suffix = (BigInt(time) * 1_000_000n + BigInt(sequence)).toString(16);
  const timestamp = `${new Date(time).toISOString().slice(0, 19)}Z`;
  const { component, host } = options;
  return {
    metadata: {
      name: `${name}.${suffix}`,
      namespace: namespace === undefined || namespace === '' ? 'default' : namespace,
    },
    involvedObject,
    type,
    reason,
    message: message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE - 3)}...` : message,
    source: host === undefined ? { component } : { component, host },
    reportingComponent: component,
    reportingInstance: host ?? '',
    firstTimestamp: timestamp,
    lastTimestamp: timestamp,
    count: 1,
    ...details,
  };
}

function referenceOf({ apiVersion, kind, metadata }: KubeObject): V1ObjectReference {
  const { name, namespace, uid, resourceVersion } = metadata ?? {};
  return { apiVersion, kind, name, namespace, uid, resourceVersion };
}

function fieldsOf({ involvedObject: { kind, namespace, name }, reason }: CoreV1Event) {
  return { kind, namespace, name, reason };
}
