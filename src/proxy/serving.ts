// A proxy at work in one mode: flows tracked, rules synced, health and metrics told.
// Guarantees: resolves when the kernel has the first state; ending it leaves the rules in place.

import type { ProxyMode } from '../../proxy-modes/mode.js';
import type { Log } from '../api/log.js';
import type { Informers } from '../client/informer.js';
import { openConntrack } from '../kernel/conntrack/adapter.js';
import type { ConntrackPort } from '../kernel/conntrack/port.js';
import { setOomScoreAdj } from '../kernel/oomScore.js';
import { hostAndPort, type ProxyConfig } from './config.js';
import { configView } from './configView.js';
import { NodeProxy, type ProxyOptions } from './proxy.js';
import { openProxyServers, type ProxyServers } from './server/servers.js';

export interface ServingOptions {
  readonly config: ProxyConfig;
  readonly mode: ProxyMode;
  readonly informers: Informers;
  readonly nodeName: string;
  /** Tells of a service of which something cannot be programmed. */
  readonly refused?: ProxyOptions['refused'];
  readonly log: Log;
}

export async function serveProxy(options: ServingOptions): Promise<{ stop(): Promise<void> }> {
  const { config, mode, informers, nodeName, log } = options;
  if (config.oomScoreAdj !== undefined) await setOomScoreAdj(config.oomScoreAdj, log);
  const conntrack = await openConntrack().catch((error: unknown): ConntrackPort | undefined => {
    log.warn('UDP flows to endpoints that are gone will not be ended', { error });
    return undefined;
  });
  let servers: ProxyServers | undefined;
  const proxy = new NodeProxy({
    informers,
    nodeName,
    mode,
    log,
    ...(conntrack === undefined ? {} : { conntrack }),
    minSyncPeriodMs: config.minSyncPeriodMs,
    syncPeriodMs: config.syncPeriodMs,
    onSynced: () => void servers?.follow(),
    ...(options.refused && { refused: options.refused }),
  });
  servers = await openProxyServers({
    proxy,
    mode: mode.name,
    config: configView(config),
    healthz: hostAndPort(config.healthzBindAddress, 'healthzBindAddress'),
    metrics: hostAndPort(config.metricsBindAddress, 'metricsBindAddress'),
    syncPeriodMs: config.syncPeriodMs,
    mustListen: config.bindAddressHardFail,
    log,
  }).catch(async (error: unknown) => {
    await proxy.stop();
    throw error;
  });
  await proxy.synced();
  await servers.follow();
  return {
    stop: async () => {
      await servers?.close();
      await proxy.stop();
    },
  };
}
