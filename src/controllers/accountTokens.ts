// Secrets of type kubernetes.io/service-account-token: filled with a token of the account that they name.
// Guarantees: a Secret whose account is gone goes too; a token ends with its Secret, and is renewed before its time is over.
import type { AuthenticationV1TokenRequest, V1Secret, V1ServiceAccount } from '../api/gen/types.js';
import { keyOf, nameOfKey, type Stored } from '../api/object.js';
import { SECRETS, SERVICE_ACCOUNTS } from '../api/resources.js';
import { ignoring } from './claim.js';
import { type Controller, type ControllerContext, newQueue, runLoop } from './controller.js';

const NAME = 'serviceaccount-token-controller';
const TYPE = 'kubernetes.io/service-account-token';
const ACCOUNT_NAME = 'kubernetes.io/service-account.name';
const ACCOUNT_UID = 'kubernetes.io/service-account.uid';
const BY_ACCOUNT = 'account';
/** Such tokens have no end in Kubernetes; the API that issues them here wants one. */
const WANTED_SECONDS = 10 * 365 * 24 * 3600;
/** A token is renewed when less than this share of its time is left. */
const RENEW_SHARE = 0.2;

type TokenSecret = Stored<V1Secret>;
type Account = Stored<V1ServiceAccount>;

type TokenAction = 'delete' | 'issue' | { readonly againMs: number };

/** Pure. */
function planToken(secret: TokenSecret, account: Account | undefined, now: number): TokenAction {
  const uid = secret.metadata.annotations?.[ACCOUNT_UID];
  if (account === undefined || (uid !== undefined && uid !== account.metadata.uid)) return 'delete';
  const times = uid === undefined ? undefined : tokenTimes(secret.data?.['token'] ?? '');
  if (times === undefined) return 'issue';
  const leftMs = times.endMs - (times.endMs - times.beginMs) * RENEW_SHARE - now;
  return leftMs <= 0 ? 'issue' : { againMs: leftMs };
}

/** When the token in a Secret was made and when it ends; undefined when there is none. */
function tokenTimes(base64: string): { beginMs: number; endMs: number } | undefined {
  const payload = Buffer.from(base64, 'base64').toString().split('.')[1];
  try {
    const { iat, exp } = JSON.parse(Buffer.from(payload ?? '', 'base64url').toString());
    return Number.isFinite(iat) && Number.isFinite(exp)
      ? { beginMs: iat * 1000, endMs: exp * 1000 }
      : undefined;
  } catch {
    return undefined;
  }
}

export function accountTokenController(rootCa: string): Controller {
  return {
    name: NAME,
    run(context) {
      const { informers, now } = context;
      const accounts = informers.of(SERVICE_ACCOUNTS);
      const secrets = informers.of(SECRETS, { fieldSelector: `type=${TYPE}` });
      const queue = newQueue(context);
      secrets.index(BY_ACCOUNT, (secret) => [accountKeyOf(secret)]);
      const wake = ({ metadata }: TokenSecret) => queue.add(keyOf(metadata));
      secrets.on({ added: wake, updated: wake });
      const wakeSecrets = ({ metadata }: Account) =>
        secrets.byIndex(BY_ACCOUNT, keyOf(metadata)).forEach(wake);
      accounts.on({ added: wakeSecrets, deleted: wakeSecrets });
      return runLoop(context, NAME, {
        queue,
        reconcile: async (key) => {
          const secret = secrets.get(key);
          if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return undefined;
          const account = await accountOf(context, accounts.get(accountKeyOf(secret)), secret);
          const action = planToken(secret, account, now());
          if (action === 'issue' && account !== undefined) await fill(context, rootCa, secret, account);
          if (action === 'delete') await remove(context, secret);
          return typeof action === 'object' ? action.againMs : undefined;
        },
      });
    },
  };
}

function accountKeyOf({ metadata }: TokenSecret): string {
  return keyOf({ name: metadata.annotations?.[ACCOUNT_NAME] ?? '', namespace: metadata.namespace });
}

/** Before a Secret is given up for want of its account, the server is asked. */
async function accountOf(
  { client }: ControllerContext,
  cached: Account | undefined,
  secret: TokenSecret,
): Promise<Account | undefined> {
  if (cached !== undefined) return cached;
  return ignoring(['NotFound'], client.of(SERVICE_ACCOUNTS).get(nameOfKey(accountKeyOf(secret))));
}

async function remove({ client }: ControllerContext, { metadata }: TokenSecret): Promise<void> {
  const preconditions = { uid: metadata.uid, resourceVersion: metadata.resourceVersion };
  await client.of(SECRETS).delete(metadata, { preconditions });
}

async function fill(
  { client }: ControllerContext,
  rootCa: string,
  secret: TokenSecret,
  account: Account,
): Promise<void> {
  const { name, uid, namespace = '' } = secret.metadata;
  const request: AuthenticationV1TokenRequest = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {
      audiences: [],
      expirationSeconds: WANTED_SECONDS,
      boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name, uid },
    },
  };
  const answer = client
    .of(SERVICE_ACCOUNTS)
    .post<AuthenticationV1TokenRequest>(account.metadata, 'token', request);
  const token = (await ignoring(['NotFound'], answer))?.status?.token;
  if (token === undefined) return;
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const annotations = { ...secret.metadata.annotations, [ACCOUNT_UID]: account.metadata.uid };
  const ca = rootCa === '' ? {} : { 'ca.crt': base64(rootCa) };
  const data = { ...secret.data, ...ca, namespace: base64(namespace), token: base64(token) };
  const update = { ...secret, metadata: { ...secret.metadata, annotations }, data };
  await ignoring(['NotFound'], client.of(SECRETS).update(update));
}
