// Service-account tokens bound to one pod, asked for with TokenRequest and renewed before they end.
// Guarantees: a token that still works is used while a renewal fails; what belongs to a pod that is gone is dropped.
import type { AuthenticationV1TokenRequest } from '../../api/gen/types.js';
import { SERVICE_ACCOUNTS } from '../../api/resources.js';
import { messageOf } from '../../base/errorMessage.js';
import type { Client } from '../../client/client.js';
import { makeGate } from '../gate.js';
import type { Pod } from '../ports.js';

interface Held {
  readonly token: string;
  readonly expiresMs: number;
  readonly renewMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_JITTER_MS = 10_000;
const REQUESTS_AT_ONCE = 4;

interface TokenManagerOptions {
  readonly client: Client;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** In [0, 1). */
  readonly random?: () => number;
}

/** What one token is asked for. */
interface Wish {
  readonly pod: Pod;
  readonly audience: string | undefined;
  readonly expirationSeconds: number;
}

export class TokenManager {
  readonly #options: TokenManagerOptions;
  readonly #pods = new Map<string, Map<string, Held>>();
  readonly #asking = new Map<string, Promise<string>>();
  readonly #gate = makeGate(REQUESTS_AT_ONCE);

  constructor(options: TokenManagerOptions) {
    this.#options = options;
  }

  async token(
    pod: Pod,
    request: { readonly audience?: string; readonly expirationSeconds?: number },
  ): Promise<string> {
    const { audience, expirationSeconds = 3600 } = request;
    const { uid } = pod.metadata;
    const key = JSON.stringify([pod.spec.serviceAccountName, audience, expirationSeconds]);
    const held = this.#pods.get(uid)?.get(key);
    if (held !== undefined && this.#options.now() < held.renewMs) return held.token;
    const name = `${uid} ${key}`;
    const pending = this.#asking.get(name) ?? this.#fresh(key, { pod, audience, expirationSeconds });
    this.#asking.set(name, pending);
    try {
      return await pending;
    } finally {
      this.#asking.delete(name);
    }
  }

  forget(podUid: string): void {
    this.#pods.delete(podUid);
  }

  async #fresh(key: string, wish: Wish): Promise<string> {
    const { uid, namespace } = wish.pod.metadata;
    const held = this.#pods.get(uid)?.get(key);
    try {
      const next = await this.#gate(() => this.#ask(wish));
      const tokens = this.#pods.get(uid) ?? new Map<string, Held>();
      this.#pods.set(uid, tokens.set(key, next));
      return next.token;
    } catch (cause) {
      if (held !== undefined && this.#options.now() < held.expiresMs) return held.token;
      const account = `${namespace}/${accountOf(wish.pod)}`;
      throw new Error(`failed to fetch token: ${messageOf(cause)} (service account ${account})`, { cause });
    }
  }

  async #ask({ pod, audience, expirationSeconds }: Wish): Promise<Held> {
    const { client, random = Math.random } = this.#options;
    const { name, namespace, uid } = pod.metadata;
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
      .post<AuthenticationV1TokenRequest>({ namespace, name: accountOf(pod) }, 'token', body);
    const { token, expirationTimestamp } = answer.status ?? {};
    if (!token || !expirationTimestamp) throw new Error('the server answered a TokenRequest without a token');
    const lifeMs = (answer.spec?.expirationSeconds ?? expirationSeconds) * 1000;
    const expiresMs = Date.parse(expirationTimestamp);
    return { token, expiresMs, renewMs: renewalTime({ expiresMs, lifeMs, random: random() }) };
  }
}

const accountOf = ({ spec }: Pod) => spec.serviceAccountName || 'default';

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
