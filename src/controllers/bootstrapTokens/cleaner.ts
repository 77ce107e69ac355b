// The token cleaner: bootstrap tokens go when their time is over.
// Guarantees: only the Secret that was seen to have expired is deleted.
import { keyOf, nameOfKey } from '../../api/object.js';
import { SECRETS } from '../../api/resources.js';
import { ignoring } from '../claim.js';
import { type Controller, newQueue, runLoop } from '../controller.js';
import { expiryOf, TOKENS, type TokenSecret } from './tokens.js';

const NAME = 'token-cleaner-controller';

export const tokenCleaner: Controller = {
  name: NAME,
  run(context) {
    const { informers, client, now } = context;
    const tokens = informers.of(SECRETS, TOKENS);
    const queue = newQueue(context);
    const wake = ({ metadata }: TokenSecret) => queue.add(keyOf(metadata));
    tokens.on({ added: wake, updated: wake });
    return runLoop(context, NAME, {
      queue,
      reconcile: async (key) => {
        const token = tokens.get(key);
        const expiry = token === undefined ? undefined : expiryOf(token);
        if (token === undefined || expiry === undefined) return undefined;
        if (expiry > now()) return expiry - now();
        const { uid } = token.metadata;
        await ignoring(['Conflict'], client.of(SECRETS).delete(nameOfKey(key), { preconditions: { uid } }));
        return undefined;
      },
    });
  },
};
