// ConfigMaps and Secrets as pods need them: fetched one by one, and kept for a while.
// Guarantees: a node asks only for what its own pods name; what a pod first sees was asked for after the pod was seen; pods
// that come together share a request.
import type { V1ConfigMap, V1Secret } from '../../api/gen/types.js';
import type { KubeObject, Stored } from '../../api/object.js';
import { CONFIG_MAPS, type ResourceType, SECRETS } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import type { Client } from '../../client/client.js';
import { KubeletError } from '../error.js';
import { makeGate } from '../gate.js';

interface ObjectRequest {
  readonly podUid: string;
  readonly namespace: string;
  readonly name: string;
}

export interface PodObjects {
  /** Undefined when there is none; throws when the server cannot be asked. */
  configMap(request: ObjectRequest): Promise<Stored<V1ConfigMap> | undefined>;
  secret(request: ObjectRequest): Promise<Stored<V1Secret> | undefined>;
  forget(podUid: string): void;
}

interface ObjectSource {
  readonly client: Client;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** How long an answer serves pods that have seen the object before, whichever of them asked. */
  readonly keepMs?: number;
}

const REQUESTS_AT_ONCE = 4;
/** How long an answer serves a pod that is new to it: the variables and volumes of one start ask once. */
const FRESH_MS = 1_000;

interface Kept {
  readonly at: number;
  /** When the server was asked, by the count of `turns`; undefined while that waits for other requests. */
  readonly asked: { at?: number };
  readonly answer: Promise<KubeObject | undefined>;
  /** Pods that have had this object; the last one that goes takes it along. */
  readonly users: Set<string>;
}

export function makePodObjects({ client, now, keepMs = FRESH_MS }: ObjectSource): PodObjects {
  const kept = new Map<string, Kept>();
  /** When a pod first asked for anything: after it was first seen. Counted, since a clock may stand still. */
  const firstAsked = new Map<string, number>();
  let turns = 0;
  const gate = makeGate(REQUESTS_AT_ONCE);

  async function get<T extends KubeObject>(
    type: ResourceType<T>,
    { podUid, namespace, name }: ObjectRequest,
  ): Promise<Stored<T> | undefined> {
    const key = `${type.resource}/${namespace}/${name}`;
    const known = kept.get(key);
    const isNew = known?.users.has(podUid) !== true;
    known?.users.add(podUid);
    const since = firstAsked.get(podUid) ?? ++turns;
    firstAsked.set(podUid, since);
    const isLater = (known?.asked.at ?? Number.POSITIVE_INFINITY) > since;
    if (known !== undefined && isLater && now() - known.at < (isNew ? FRESH_MS : keepMs))
      return known.answer as Promise<Stored<T> | undefined>;
    const asked: Kept['asked'] = {};
    const answer = gate(() => {
      asked.at = ++turns;
      return client.of(type).get({ namespace, name });
    }).catch(undefinedIfNotFound);
    const entry = { at: now(), asked, answer, users: known?.users ?? new Set([podUid]) };
    kept.set(key, entry);
    // A failure is not kept: the next one who asks tries again.
    answer.catch(() => {
      if (kept.get(key) === entry) kept.delete(key);
    });
    return answer;
  }

  return {
    configMap: (request) => get(CONFIG_MAPS, request),
    secret: (request) => get(SECRETS, request),
    forget(podUid) {
      firstAsked.delete(podUid);
      for (const [key, { users }] of kept) if (users.delete(podUid) && users.size === 0) kept.delete(key);
    },
  };
}

function undefinedIfNotFound(error: unknown): undefined {
  if (!ApiError.is(error, 'NotFound')) throw error;
}

/** The sentence of the kubelet, which names the kind in the singular. */
export function objectNotFound(
  reason: 'FailedMount' | 'CreateContainerConfigError',
  kind: 'configmap' | 'secret',
  name: string,
): KubeletError {
  return new KubeletError(reason, `${kind} "${name}" not found`);
}

/** `data` and `binaryData` of a ConfigMap, as bytes. */
export function configMapData({ data = {}, binaryData = {} }: V1ConfigMap): Map<string, Uint8Array> {
  return new Map([
    ...Object.entries(data).map(([key, text]): [string, Uint8Array] => [key, Buffer.from(text, 'utf8')]),
    ...secretData({ data: binaryData }),
  ]);
}

export function secretData({ data = {} }: V1Secret): Map<string, Uint8Array> {
  return new Map(Object.entries(data).map(([key, base64]) => [key, Buffer.from(base64, 'base64')]));
}
