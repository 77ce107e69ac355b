// All HTTP servers of a running proxy: its health, its metrics, and the health check node ports of services.
// Guarantees: everything it opened is closed by `close`, and when one of them cannot be opened.
import type { Log } from '../../api/log.js';
import type { Listening } from '../../client/listen.js';
import type { NodeProxy } from '../proxy.js';
import { makeHealth } from './health.js';
import { openSmallServer } from './http.js';
import { metricsAnswer } from './metrics.js';
import { serviceHealthServers } from './serviceHealth.js';

interface ListenOn {
  readonly address: string;
  readonly port: number;
}

interface ProxyServersOptions {
  readonly proxy: NodeProxy;
  readonly mode: string;
  /** For /configz. */
  readonly config: object;
  readonly healthz: ListenOn;
  readonly metrics: ListenOn;
  readonly syncPeriodMs: number;
  /** True: a port that cannot be had is an error; else it is logged, and the proxy serves without. */
  readonly mustListen: boolean;
  readonly log: Log;
}

export interface ProxyServers {
  /** Opens and closes health check node ports as the services ask for them now. */
  follow(): Promise<void>;
  close(): Promise<void>;
}

export async function openProxyServers(options: ProxyServersOptions): Promise<ProxyServers> {
  const { proxy, mode, config, syncPeriodMs, mustListen, log } = options;
  const health = makeHealth({ proxy, syncPeriodMs });
  const services = serviceHealthServers({
    health: proxy.tracker.health,
    isProxyHealthy: () => health.isHealthy(),
    log,
  });
  const answers = [
    ['healthz', options.healthz, (path: string) => health.answer(path)],
    ['metrics', options.metrics, metricsAnswer({ metrics: proxy.metrics, mode, config })],
  ] as const;
  const servers: Listening[] = [];
  const close = async () => {
    await Promise.all(servers.map((server) => server.close()));
    await services.close();
  };
  for (const [what, where, answer] of answers)
    try {
      servers.push(await openSmallServer({ ...where, answer }));
    } catch (error) {
      if (mustListen) {
        await close();
        throw error;
      }
      log.warn('a port of the proxy cannot be had', { what, ...where, error });
    }
  return { follow: () => services.follow(), close };
}
