// All that a kubelet listens on, as its configuration says: its API, its health, and the read-only port if there is one.
// Guarantees: /configz names the addresses and ports in use; what was opened is closed when one of them cannot be had.
import path from 'node:path';
import type { RunningKubelet } from '../dependencies.js';
import { openHealthz } from './healthz.js';
import { nodeRoutes } from './nodeRoutes.js';
import { openReadOnly } from './readOnly.js';
import { type KubeletServerOptions, openKubeletServer } from './server.js';

export interface KubeletServers {
  readonly port: number;
  readonly healthzPort: number;
  /** 0 when it is off. */
  readonly readOnlyPort: number;
  /** For renewed certificates; connections that are open keep theirs. */
  renew(tls: KubeletServerOptions['tls']): void;
  close(): Promise<void>;
}

export async function openKubeletServers(
  kubelet: Pick<RunningKubelet, 'config' | 'pods' | 'pod' | 'stats' | 'unhealthy'>,
  {
    otherPaths,
    ...options
  }: Pick<KubeletServerOptions, 'tls' | 'access' | 'runtime' | 'log'> & {
    /** Of others than the kubelet; not answered while the way into containers is closed. */
    readonly otherPaths?: KubeletServerOptions['others'] | undefined;
  },
): Promise<KubeletServers> {
  const { address, port, readOnlyPort, healthzPort, healthzBindAddress, rootDir } = kubelet.config;
  const { tlsMinVersion, tlsCipherSuites, enableDebuggingHandlers } = kubelet.config;
  const health = () => kubelet.unhealthy();
  const own = nodeRoutes(kubelet);
  const further = enableDebuggingHandlers ? otherPaths : undefined;
  const others: typeof own = (request, response) =>
    own(request, response) || further?.(request, response) === true;
  const shared = {
    address,
    health,
    pods: { list: () => kubelet.pods(), get: (at: string, name: string) => kubelet.pod(at, name) },
    others,
  };
  const opened: { close(): Promise<void> }[] = [];
  const kept = <T extends { close(): Promise<void> }>(server: T): T => {
    opened.push(server);
    return server;
  };
  const close = async () => void (await Promise.all(opened.map((server) => server.close())));
  try {
    const checkpointsDir = path.join(rootDir, 'checkpoints');
    const limits = { tlsMinVersion, tlsCipherSuites, enableDebuggingHandlers };
    const server = kept(await openKubeletServer({ ...shared, ...options, ...limits, port, checkpointsDir }));
    const readOnly = readOnlyPort && kept(await openReadOnly({ ...shared, port: readOnlyPort })).port;
    const healthz = kept(await openHealthz({ address: healthzBindAddress, port: healthzPort, health }));
    return {
      port: server.port,
      healthzPort: healthz.port,
      readOnlyPort: readOnly,
      renew: (tls) => server.renew(tls),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
