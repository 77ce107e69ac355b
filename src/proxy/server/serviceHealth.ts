// Health check node ports: one small server per service that has one, which reports its local endpoints.
// Guarantees: servers follow the services; a port that cannot be had is tried again with the next change.
import type { Log } from '../../api/log.js';
import type { Listening } from '../../client/listen.js';
import type { ServiceHealth } from '../tracker.js';
import { json, openSmallServer } from './http.js';

interface ServiceHealthOptions {
  readonly health: ReadonlyMap<string, ServiceHealth>;
  isProxyHealthy(): boolean;
  readonly address?: string;
  readonly log: Log;
}

interface ServiceHealthServers {
  /** Opens and closes what the services ask for now. */
  follow(): Promise<void>;
  close(): Promise<void>;
}

export function serviceHealthServers(options: ServiceHealthOptions): ServiceHealthServers {
  const { health, isProxyHealthy, address = '0.0.0.0', log } = options;
  const servers = new Map<string, { readonly port: number; readonly server: Listening }>();
  let last: Promise<void> = Promise.resolve();
  const answer = (key: string) => () => {
    const found = health.get(key);
    const { namespace = '', name = '', localEndpoints = 0 } = found ?? {};
    const isWell = isProxyHealthy();
    const status = localEndpoints > 0 && isWell ? 200 : 503;
    const body = { service: { namespace, name }, localEndpoints, serviceProxyHealthy: isWell };
    return json(status, body, { 'x-load-balancing-endpoint-weight': String(localEndpoints) });
  };
  const follow = async () => {
    for (const [key, { port, server }] of servers) {
      if (health.get(key)?.port === port) continue;
      servers.delete(key);
      await server.close();
    }
    for (const [key, { port }] of health) {
      if (servers.has(key)) continue;
      try {
        servers.set(key, { port, server: await openSmallServer({ address, port, answer: answer(key) }) });
      } catch (error) {
        log.error('the health check of a service cannot listen', { service: key, port, error });
      }
    }
  };
  const inTurn = (work: () => Promise<void>) => {
    last = last.then(work, work);
    return last;
  };
  return {
    follow: () => inTurn(follow),
    close: () =>
      inTurn(async () => {
        await Promise.all([...servers.values()].map(({ server }) => server.close()));
        servers.clear();
      }),
  };
}
