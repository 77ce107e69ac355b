// The bootstrap signer: signs the public `cluster-info` with every token that may, so that who holds one can trust it.
// Guarantees: a signature goes with its token; the ConfigMap is written only when a signature changes.
import type { V1ConfigMap } from '../../api/gen/types.js';
import { sameJson } from '../../api/ownKeys.js';
import { CONFIG_MAPS, SECRETS } from '../../api/resources.js';
import { ignoring } from '../claim.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import {
  detachedSignature,
  expiryOf,
  type SigningToken,
  signingTokenOf,
  TOKENS,
  type TokenSecret,
} from './tokens.js';

const NAME = 'bootstrap-signer-controller';
const PLACE = { namespace: 'kube-public', fieldSelector: 'metadata.name=cluster-info' };
const KEY = 'kube-public/cluster-info';
const CONTENT = 'kubeconfig';
const SIGNATURE = 'jws-kubeconfig-';

export const bootstrapSigner: Controller = {
  name: NAME,
  run(context) {
    const { informers, client, now } = context;
    const infos = informers.of(CONFIG_MAPS, PLACE);
    const tokens = informers.of(SECRETS, TOKENS);
    const queue = newQueue(context);
    const wake = () => queue.add(KEY);
    infos.on({ added: wake, updated: wake });
    tokens.on({ added: wake, updated: wake, deleted: wake });
    return runLoop(context, NAME, {
      queue,
      workers: 1,
      reconcile: async () => {
        const info = infos.get(KEY);
        if (info === undefined) return undefined;
        const all = tokens.list();
        const signing = all
          .map((token) => signingTokenOf(token, now()))
          .filter((token) => token !== undefined);
        const data = signedData(info.data ?? {}, signing);
        if (data !== undefined)
          await ignoring(['NotFound'], client.of(CONFIG_MAPS).update({ ...info, data }));
        return nextExpiryInMs(all, now());
      },
    });
  },
};

/** The data with exactly the signatures that there should be; undefined when it has them. Pure. */
export function signedData(
  data: NonNullable<V1ConfigMap['data']>,
  tokens: readonly SigningToken[],
): NonNullable<V1ConfigMap['data']> | undefined {
  const content = data[CONTENT];
  const others = Object.entries(data).filter(([key]) => !key.startsWith(SIGNATURE));
  const signatures =
    content === undefined
      ? []
      : tokens.map((token) => [`${SIGNATURE}${token.id}`, detachedSignature(content, token)] as const);
  const signed = Object.fromEntries([...others, ...signatures]);
  return sameJson(sorted(signed), sorted(data)) ? undefined : signed;
}

const sorted = (data: Readonly<Record<string, string>>) =>
  Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1));

export function nextExpiryInMs(tokens: readonly TokenSecret[], now: number): number | undefined {
  const waits = tokens.map((token) => (expiryOf(token) ?? Infinity) - now).filter((wait) => wait > 0);
  const soonest = Math.min(Infinity, ...waits);
  return soonest === Infinity ? undefined : soonest;
}
