// The bootstrap tokens of a running cluster: made, listed, deleted; and the command by which a machine joins with one.
// Guarantees: a token that was made can be used at once: its signature is there when `createToken` returns.
import { setTimeout as sleep } from 'node:timers/promises';
import { CONFIG_MAPS, SECRETS } from '../../api/resources.js';
import { ApiError } from '../../api/status.js';
import type { Client } from '../../client/client.js';
import { TOKENS } from '../../controllers/bootstrapTokens/tokens.js';
import { ClusterError } from '../error.js';
import { accessOf, caHash } from './discovery.js';
import { CLUSTER_INFO, INFO_KEY } from './objects.js';
import {
  type JoinToken,
  newToken,
  secretName,
  type TokenView,
  tokenId,
  tokenSecret,
  tokenText,
  viewOf,
} from './token.js';

const SIGNED_WITHIN_MS = 15_000;
const POLL_MS = 50;

export interface CreateTokenOptions {
  /** Made here unless given. */
  readonly token?: JoinToken | undefined;
  /** 0 for one that never ends. */
  readonly ttlMs: number;
  readonly description?: string | undefined;
}

export async function createToken(client: Client, options: CreateTokenOptions): Promise<JoinToken> {
  const { token = newToken(), ttlMs, description } = options;
  const expiresAt = ttlMs === 0 ? undefined : Date.now() + ttlMs;
  try {
    await client.of(SECRETS).create(tokenSecret({ token, expiresAt, description }));
  } catch (error) {
    if (!ApiError.is(error, 'AlreadyExists')) throw error;
    const text = `there is a token ${token.id} already; delete it with "trellis token delete ${token.id}"`;
    throw new ClusterError('BAD_TOKEN', text, { cause: error });
  }
  await signed(client, token);
  return token;
}

async function signed(client: Client, { id }: JoinToken): Promise<void> {
  for (let waited = 0; waited < SIGNED_WITHIN_MS; waited += POLL_MS) {
    const { data = {} } = await client.of(CONFIG_MAPS).get(CLUSTER_INFO);
    if (data[`jws-${INFO_KEY}-${id}`] !== undefined) return;
    await sleep(POLL_MS);
  }
  throw new ClusterError(
    'TIMEOUT',
    `token ${id} was made, but the control plane has not signed the cluster-info with it; see "trellis logs server"`,
  );
}

export async function listTokens(client: Client): Promise<readonly TokenView[]> {
  const { items } = await client.of(SECRETS).list(TOKENS);
  return items.map(viewOf);
}

/** `token` is a whole token or its first part. */
export async function deleteToken(client: Client, token: string): Promise<string> {
  const id = tokenId(token);
  try {
    await client.of(SECRETS).get(secretName(id));
  } catch (error) {
    if (!ApiError.is(error, 'NotFound')) throw error;
    throw new ClusterError('BAD_TOKEN', `there is no token ${id}; see "trellis token list"`, {
      cause: error,
    });
  }
  await client.of(SECRETS).delete(secretName(id));
  return id;
}

/** `trellis` is how the command is typed there. */
export async function joinCommand(client: Client, token: JoinToken, trellis = 'trellis'): Promise<string> {
  const { data = {} } = await client.of(CONFIG_MAPS).get(CLUSTER_INFO);
  const { server, ca } = accessOf(data[INFO_KEY] ?? '', 'this cluster');
  return `${trellis} agent --server ${server} --token ${tokenText(token)} --ca-cert-hash ${caHash(ca)}`;
}
