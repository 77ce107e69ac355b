// Whether the server has the kinds that a controller works on; asked once for all, again while some are missing.
// Guarantees: a controller starts only when its kinds are served, whatever other groups do; a server that cannot answer is
// asked again.
import type { Log } from '../api/log.js';
import type { ResourceType } from '../api/resources.js';
import { qualifiedResource } from '../api/status.js';
import { pause } from '../base/deadline.js';
import { messageOf } from '../base/errorMessage.js';
import type { Client } from '../client/client.js';
import type { Controller } from './controller.js';
import { discover } from './discovery.js';

const AGAIN_MS = 5_000;
const UNREACHABLE_MS = 500;

interface ServedKinds {
  /** True when its kinds are served; false when the end came first. */
  wait(controller: Pick<Controller, 'name' | 'needs'>, signal: AbortSignal): Promise<boolean>;
}

export function makeServedKinds({ client, log }: { client: Client; log: Log }): ServedKinds {
  let asking: Promise<ReadonlySet<string>> | undefined;
  const ask = () => {
    asking ??= discover(client).then(({ served, failed }) => {
      for (const [group, error] of failed) log.warn('cannot ask what a group serves', { group, error });
      return new Set(served.map(kindOf));
    });
    return asking;
  };
  const again = async (delayMs: number, signal: AbortSignal) => {
    const outdated = asking;
    await pause(delayMs, signal);
    if (asking === outdated) asking = undefined;
  };
  return {
    async wait({ name, needs = [] }, signal) {
      let told = false;
      while (needs.length > 0 && !signal.aborted) {
        try {
          const served = await ask();
          const missing = needs.filter((type) => !served.has(kindOf(type)));
          if (missing.length === 0) return true;
          if (!told)
            log.info('waits for kinds that are not served', {
              controller: name,
              missing: missing.map(qualifiedResource),
            });
          told = true;
          await again(AGAIN_MS, signal);
        } catch (error) {
          log.warn('cannot ask what is served, will try again', { error: messageOf(error) });
          await again(UNREACHABLE_MS, signal);
        }
      }
      return !signal.aborted;
    },
  };
}

/** By group and kind: any version will do. */
function kindOf({ group, kind }: Pick<ResourceType, 'group' | 'kind'>): string {
  return `${group}/${kind}`;
}
