// The apiserver as a cluster runs it: its security, and the addresses of Services.
// Guarantees: the parts read the API only through its own handlers, as the apiserver's own identity.
import type { Log } from '../api/log.js';
import type { Client } from '../client/client.js';
import { openInformers } from '../client/sharedInformers.js';
import type { SharedObjects } from '../client/sharedObjects.js';
import { openClient } from '../client/typedClient.js';
import { makeSecurity, type SecurityOptions } from './auth/security.js';
import { EVENT_TTL_MS, expireEvents } from './eventExpiry.js';
import { reconcileFlowControl } from './flowControl/reconcile.js';
import type { InProcess, ServerParts } from './server.js';
import { makeServiceHooks } from './services/serviceHooks.js';

interface StandardOptions extends Omit<SecurityOptions, 'client' | 'informers'> {
  readonly serviceCidrs: readonly string[];
  /** `30000-32767` unless given. */
  readonly nodePortRange?: string;
  readonly log: Log;
  /** How long an Event is kept after it was last seen: an hour unless given; 0 is for good. */
  readonly eventTtlMs?: number;
  /** Shared with the informers of others in this process. */
  readonly shared?: SharedObjects;
  /** What must be in the cluster before the server says that it is ready, such as its roles. */
  prepare?(client: Client): Promise<void>;
}

/** It may do everything, as in Kubernetes. */
export const APISERVER_USER = {
  name: 'system:apiserver',
  groups: ['system:masters', 'system:authenticated'],
};

export function clusterParts({
  serviceCidrs,
  nodePortRange,
  log,
  shared,
  eventTtlMs = EVENT_TTL_MS,
  prepare,
  ...options
}: StandardOptions): (inProcess: InProcess) => ServerParts {
  return (inProcess) => {
    const client = openClient(inProcess(APISERVER_USER));
    const informers = openInformers(client, { log, ...(shared === undefined ? {} : { shared }) });
    const ports = nodePortRange === undefined ? {} : { nodePortRange };
    try {
      const security = makeSecurity({ ...options, client, informers, log });
      const hooks = new Map([['services', makeServiceHooks({ client, serviceCidrs, ...ports })]]);
      // Last: nothing after it can be refused.
      const stopExpiring = eventTtlMs > 0 ? expireEvents({ client, ttlMs: eventTtlMs, log }) : undefined;
      const stopFlowControl = reconcileFlowControl({ client, informers, log });
      return {
        ...security,
        ready: async () => {
          await security.ready();
          await prepare?.(client);
        },
        hooks,
        close: () => {
          stopExpiring?.();
          stopFlowControl();
          informers.stop();
        },
      };
    } catch (error) {
      // An option was wrong: what was begun must not keep the process.
      informers.stop();
      throw error;
    }
  };
}
