// Service-account tokens bound to one pod, asked for with TokenRequest and renewed before they end.
// Guarantees: a token that still works is used while a renewal fails; what belongs to a pod that is gone is dropped.
import type { AuthenticationV1TokenRequest } from '../../api/gen/types.js';
import { SERVICE_ACCOUNTS } from '../../api/resources.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Client } from '../../client/client.js';
import { makeGate } from '../gate.js';
import type { Pod } from '../ports.js';

export interface TokenManager {
  token(
    pod: Pod,
    request: { readonly audience?: string; readonly expirationSeconds?: number },
  ): Promise<string>;
  forget(podUid: string): void;
}

interface Held {
  readonly token: string;
  readonly expiresMs: number;
  readonly renewMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_JITTER_MS = 10_000;
const REQUESTS_AT_ONCE = 4;

export function makeTokenManager(options: {
  readonly client: Client;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** In [0, 1). */
  readonly random?: () => number;
}): TokenManager {
  const { client, now, random = Math.random } = options;
  const pods = new Map<string, Map<string, Held>>();
  const asking = new Map<string, Promise<string>>();
  const gate = makeGate(REQUESTS_AT_ONCE);

  async function ask(pod: Pod, audience: string | undefined, expirationSeconds: number): Promise<Held> {
    const { name, namespace, uid } = pod.metadata;
    const account = { namespace, name: pod.spec.serviceAccountName || 'default' };
    const body: AuthenticationV1TokenRequest = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        audiences: audience === undefined ? [] : [audience],
        expirationSeconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
      },
    };
    const answer = await client
      .of(SERVICE_ACCOUNTS)
      .post<AuthenticationV1TokenRequest>(account, 'token', body);
    const { token, expirationTimestamp } = answer.status ?? {};
    if (!token || !expirationTimestamp) throw new Error('the server answered a TokenRequest without a token');
    const lifeMs = (answer.spec?.expirationSeconds ?? expirationSeconds) * 1000;
    const expiresMs = Date.parse(expirationTimestamp);
    return { token, expiresMs, renewMs: renewalTime({ expiresMs, lifeMs, random: random() }) };
  }

  async function fresh(
    pod: Pod,
    key: string,
    audience: string | undefined,
    expirationSeconds: number,
  ): Promise<string> {
    const { uid } = pod.metadata;
    const held = pods.get(uid)?.get(key);
    try {
      const next = await gate(() => ask(pod, audience, expirationSeconds));
      const tokens = pods.get(uid) ?? new Map<string, Held>();
      pods.set(uid, tokens.set(key, next));
      return next.token;
    } catch (error) {
      if (held !== undefined && now() < held.expiresMs) return held.token;
      const { namespace } = pod.metadata;
      const words = messageOf(error);
      const account = pod.spec.serviceAccountName || 'default';
      throw new Error(`failed to fetch token: ${words} (service account ${namespace}/${account})`, {
        cause: error,
      });
    }
  }

  return {
    async token(pod, { audience, expirationSeconds = 3600 }) {
      const { uid } = pod.metadata;
      const key = JSON.stringify([pod.spec.serviceAccountName, audience, expirationSeconds]);
      const held = pods.get(uid)?.get(key);
      if (held !== undefined && now() < held.renewMs) return held.token;
      const name = `${uid} ${key}`;
      const pending = asking.get(name) ?? fresh(pod, key, audience, expirationSeconds);
      asking.set(name, pending);
      try {
        return await pending;
      } finally {
        asking.delete(name);
      }
    },
    forget: (podUid) => void pods.delete(podUid),
  };
}

/** At 80% of its life or after a day, whichever is first, and a little earlier so that not all come at once. */
export function renewalTime(options: {
  readonly expiresMs: number;
  readonly lifeMs: number;
  readonly random: number;
}): number {
  const { expiresMs, lifeMs, random } = options;
  const issuedMs = expiresMs - lifeMs;
  return Math.min(issuedMs + DAY_MS, expiresMs - lifeMs / 5) - random * MAX_JITTER_MS;
}
