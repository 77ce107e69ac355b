// Requests as a service account: its token is asked for when it is first needed and again before it ends.
// Guarantees: the account is made when it is missing, unless others make it; one token is asked for at a time; a token that the
// server refuses is not used again.
import type { AuthenticationV1TokenRequest, V1BoundObjectReference } from '../api/gen/types.js';
import type { ObjectName } from '../api/object.js';
import { SERVICE_ACCOUNTS } from '../api/resources.js';
import { ApiError } from '../api/status.js';
import type { Client } from './client.js';
import { ClientError } from './error.js';
import type { Transport } from './transport.js';

interface AccountTransportOptions {
  readonly account: ObjectName;
  /** Carries the requests; it has no identity of its own. Left open by `close`: several accounts share it. */
  readonly transport: Transport;
  /** Who may make the account and ask for its tokens. */
  readonly issuer: Client;
  /** With which tokens end. An account with tokens that are bound is made by others. */
  readonly boundTo?: V1BoundObjectReference;
  readonly now?: () => number;
}

interface Token {
  readonly text: string;
  readonly renewAtMs: number;
}

const LIFE_SECONDS = 3600;
/** A token is renewed when this share of its time has passed. */
const RENEW_AFTER = 0.8;

export function openAccountTransport(options: AccountTransportOptions): Transport {
  const { transport, now = Date.now } = options;
  let held: Token | undefined;
  let asking: Promise<Token> | undefined;
  const token = async (): Promise<string> => {
    if (held !== undefined && now() < held.renewAtMs) return held.text;
    asking ??= issue(options, now).finally(() => {
      asking = undefined;
    });
    held = await asking;
    return held.text;
  };
  return {
    async request(request) {
      const text = await token();
      const headers = { ...request.headers, authorization: `Bearer ${text}` };
      const response = await transport.request({ ...request, headers });
      if (response.status === 401 && held?.text === text) held = undefined;
      return response;
    },
    close: () => {},
  };
}

async function issue(
  { account, issuer, boundTo }: AccountTransportOptions,
  now: () => number,
): Promise<Token> {
  const accounts = issuer.of(SERVICE_ACCOUNTS);
  const request: AuthenticationV1TokenRequest = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      audiences: [],
      expirationSeconds: LIFE_SECONDS,
      ...(boundTo === undefined ? {} : { boundObjectRef: boundTo }),
    },
  };
  const ask = () => accounts.post<AuthenticationV1TokenRequest>(account, 'token', request);
  const askedAtMs = now();
  const { status } = await ask().catch(async (error: unknown) => {
    if (boundTo !== undefined || !ApiError.is(error, 'NotFound')) throw error;
    await accounts.create({ metadata: { ...account } }).catch((refusal: unknown) => {
      if (!ApiError.is(refusal, 'AlreadyExists')) throw refusal;
    });
    return ask();
  });
  if (status?.token === undefined)
    throw new ClientError('BAD_ANSWER', `no token for the service account ${account.name} was answered`);
  const lifeMs = Date.parse(String(status.expirationTimestamp)) - askedAtMs;
  return { text: status.token, renewAtMs: askedAtMs + lifeMs * RENEW_AFTER };
}
