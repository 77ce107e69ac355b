// Whether a caller may do what is asked of the kubelet: a right on the node's subresources, as the apiserver judges it.
// Guarantees: nobody is let in without a name; any one of the rights that a path needs suffices.
import type { Log } from '../../api/log.js';
import type { Client } from '../../client/client.js';
import { type Caller, type DelegatedAccess, delegateAccess } from '../../client/delegatedAccess.js';
import type { Attributes } from './routes.js';

export interface Access extends Pick<DelegatedAccess, 'authenticate'> {
  /** Throws when it cannot be decided. */
  authorize(caller: Caller, attributes: Attributes): Promise<boolean>;
}

export function makeAccess(options: {
  readonly client: Client;
  readonly nodeName: string;
  readonly log: Log;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}): Access {
  const { authenticate, authorize } = delegateAccess(options);
  const { nodeName: name } = options;
  return {
    authenticate,
    async authorize(caller, { verb, subresources }) {
      if (verb === '') return false;
      for (const subresource of subresources) {
        const resourceAttributes = { verb, version: 'v1', resource: 'nodes', subresource, name };
        if (await authorize(caller, { resourceAttributes })) return true;
      }
      return false;
    },
  };
}
