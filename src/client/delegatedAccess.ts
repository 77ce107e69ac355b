// Who calls a component, and whether they may: certificates here, tokens and rights by asking the apiserver.
// Guarantees: a doubt is a refusal; answers are kept for a while and asked for once; tokens are kept only as digests.
import { createHash } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { subjectUser } from '../api/certificates/subject.js';
import type { V1SubjectAccessReview, V1SubjectAccessReviewSpec, V1TokenReview } from '../api/gen/types.js';
import type { Log } from '../api/log.js';
import { messageOf } from '../base/errorMessage.js';
import type { Client } from './client.js';

export interface Caller {
  readonly user: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

interface Credentials {
  /** From a certificate that the client CA has signed. */
  readonly certificate: Caller | undefined;
  readonly bearer: string | undefined;
}

/** What is to be done: to a resource, or at a path. */
type AskedAccess = Pick<V1SubjectAccessReviewSpec, 'resourceAttributes' | 'nonResourceAttributes'>;

export interface DelegatedAccess {
  /** Undefined when the caller is nobody known. */
  authenticate(credentials: Credentials): Promise<Caller | undefined>;
  /** Throws when it cannot be decided. */
  authorize(caller: Caller, asked: AskedAccess): Promise<boolean>;
}

const TOKEN_MS = 2 * 60 * 1000;
const ALLOWED_MS = 5 * 60 * 1000;
const DENIED_MS = 30 * 1000;
const MAX_KEPT = 4096;

export function delegateAccess(options: {
  readonly client: Client;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}): DelegatedAccess {
  const { client, log, now = Date.now } = options;
  const callers = new Kept<Caller | undefined>(now);
  const decisions = new Kept<boolean>(now);
  return {
    async authenticate({ certificate, bearer }) {
      if (certificate !== undefined) return certificate;
      if (bearer === undefined || bearer === '') return undefined;
      const key = createHash('sha256').update(bearer).digest('base64');
      try {
        return await callers.get(
          key,
          () => reviewToken(client, bearer),
          () => TOKEN_MS,
        );
      } catch (error) {
        log.warn('a token could not be reviewed', { error: messageOf(error) });
        return undefined;
      }
    },
    authorize: (caller, asked) =>
      decisions.get(
        JSON.stringify([caller, asked]),
        () => reviewAccess(client, caller, asked),
        (allowed) => (allowed ? ALLOWED_MS : DENIED_MS),
      ),
  };
}

async function reviewToken(client: Client, token: string): Promise<Caller | undefined> {
  const review: V1TokenReview = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token },
  };
  const path = '/apis/authentication.k8s.io/v1/tokenreviews';
  const { status } = await client.raw<V1TokenReview>('POST', path, review);
  const name = status?.user?.username;
  if (status?.authenticated !== true || !name) return undefined;
  const { uid, extra, groups = [] } = status.user ?? {};
  return { user: name, groups, ...(uid && { uid }), ...(extra && { extra }) };
}

async function reviewAccess(
  client: Client,
  { user, groups, uid, extra }: Caller,
  asked: AskedAccess,
): Promise<boolean> {
  const review: V1SubjectAccessReview = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user, groups, ...(uid && { uid }), ...(extra && { extra }), ...asked },
  };
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const { status } = await client.raw<V1SubjectAccessReview>('POST', path, review);
  return status?.allowed === true && status.denied !== true;
}

/** The certificate's common name and organizations, if our CA has signed it and it still holds. */
export function certificateCaller(socket: TLSSocket): Caller | undefined {
  if (!socket.authorized) return undefined;
  const { subject, valid_to: until } = socket.getPeerCertificate();
  const { commonName, organizations } = subjectUser(subject ?? {});
  if (commonName === '' || Date.now() > Date.parse(until)) return undefined;
  return { user: commonName, groups: [...organizations, 'system:authenticated'] };
}

export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer +(\S+)\s*$/i.exec(header ?? '')?.[1];
}

/** Answers for a while. Asked once for all who wait; failures are not kept; the oldest go first when it is full. */
class Kept<Value> {
  readonly #now: () => number;
  readonly #values = new Map<string, { readonly value: Value; readonly untilMs: number }>();
  readonly #asking = new Map<string, Promise<Value>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  async get(key: string, ask: () => Promise<Value>, keepMs: (value: Value) => number): Promise<Value> {
    const known = this.#values.get(key);
    if (known !== undefined && this.#now() < known.untilMs) return known.value;
    const pending = this.#asking.get(key);
    if (pending !== undefined) return pending;
    const asked = ask().finally(() => this.#asking.delete(key));
    this.#asking.set(key, asked);
    const value = await asked;
    this.#values.delete(key);
    this.#values.set(key, { value, untilMs: this.#now() + keepMs(value) });
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= MAX_KEPT) break;
      this.#values.delete(oldest);
    }
    return value;
  }
}
