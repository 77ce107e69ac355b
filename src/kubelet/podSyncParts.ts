// Composes the parts of a pod sync: sandboxes, container starts, kills and resizes.
// Guarantees: every pod of this node is synced by the one syncer made here, with the machine's own limits.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { KubeletConfig } from './config.js';
import { Killer } from './container/killer.js';
import { ContainerStarter } from './container/starter.js';
import { UserNamespaces } from './container/userNamespaces.js';
import type { KubeletParts, OpenedDependencies } from './dependencies.js';
import { parseResolvConf, podDns } from './environment/dns.js';
import type { EventSink } from './events.js';
import { ImagePuller } from './images.js';
import { PodSandboxes } from './podSandbox.js';
import { PodSyncer } from './podSync.js';
import type { Pod } from './ports.js';
import { podCredentials } from './pullSecrets.js';
import { ResizeActuator } from './resize/actuate.js';
import type { Allocations } from './resize/allocations.js';
import { Resizes } from './resize/resizes.js';
import type { PodCache } from './runtime/podCache.js';
import type { RuntimeClasses } from './runtimeClasses.js';
import type { StatusManager } from './status/statusManager.js';

interface PodSyncNeeds extends OpenedDependencies {
  readonly cache: PodCache;
  readonly statuses: StatusManager;
  readonly classes: RuntimeClasses;
  readonly allocations: Allocations;
  readonly kubeletParts: KubeletParts;
  readonly ticks: () => number;
  readonly hostIps: () => readonly string[];
  readonly canMapUsers: (pod: Pod) => boolean;
  readonly networkProblem: () => string | undefined;
}

export function makePodSyncer(needs: PodSyncNeeds): PodSyncer {
  const { config, runtime: cri, cache, statuses, events, log, now, ticks, hostIps } = needs;
  const { volumes, probes, secret } = needs.kubeletParts;
  const { runtime } = cri;
  const killer = new Killer({ runtime, events, log, now });
  return new PodSyncer({
    config,
    runtime,
    cache,
    statuses,
    events,
    log,
    now,
    ticks,
    hostIps,
    sandboxes: makeSandboxes(needs),
    starter: makeStarter(needs, killer),
    killer,
    volumes,
    probes,
    resizes: makeResizes(needs),
    networkProblem: needs.networkProblem,
    pullSecretsOf: (pod, { image = '' }) => podCredentials(pod, image, secret),
  });
}

/** What of the machine a container's limits are computed from. */
const limitsOf = ({ machine, config }: OpenedDependencies) => ({
  memoryCapacity: machine.memoryBytes,
  cpuCFSQuota: config.cpuCFSQuota,
  hugePageSizes: machine.hugePages.map(({ pageBytes }) => pageBytes),
});

function makeStarter(needs: PodSyncNeeds, killer: Killer): ContainerStarter {
  const { config, runtime: cri, events, now, pullRecords } = needs;
  const images = new ImagePuller({
    images: cri.images,
    events,
    now,
    records: pullRecords,
    maxParallel: config.serializeImagePulls ? 1 : config.maxParallelImagePulls,
  });
  return new ContainerStarter({
    runtime: cri.runtime,
    images,
    environment: needs.kubeletParts.environment,
    events,
    killer,
    now,
    machine: () => limitsOf(needs),
    maxBackOffMs: config.maxContainerBackOffMs,
    seccompRoot: path.join(config.rootDir, 'seccomp'),
    seccompDefault: config.seccompDefault,
  });
}

function makeSandboxes(needs: PodSyncNeeds): PodSandboxes {
  const { config, runtime: cri, cgroups, classes, events, hostIps, canMapUsers, attached } = needs;
  return new PodSandboxes({
    config,
    runtime: cri.runtime,
    cgroups,
    machine: () => limitsOf(needs),
    classes,
    events,
    hostIps,
    users: new UserNamespaces({ ...config, podsOnDisk: () => needs.kubeletParts.volumes.podsOnDisk() }),
    canMapUsers,
    dnsOf: (pod) => dnsOf(pod, config, events),
    attached,
  });
}

function makeResizes(needs: PodSyncNeeds): Resizes {
  const { config, runtime: cri, cgroups, cgroupStats, statuses, events, allocations } = needs;
  return new Resizes({
    statuses,
    events,
    pending: (uid) => allocations.pending(uid),
    actuator: new ResizeActuator({
      config,
      runtime: cri.runtime,
      cgroups,
      machine: () => limitsOf(needs),
      memoryOf: async (group) => {
        const [used] = (await cgroupStats?.read([{ group }])) ?? [];
        return used?.memoryBytes && used.memoryBytes - (used.inactiveFileBytes ?? 0);
      },
    }),
  });
}

async function dnsOf(pod: Pod, config: KubeletConfig, events: EventSink) {
  const text = config.resolvConf === '' ? '' : await readFile(config.resolvConf, 'utf8').catch(() => ''); // none: no servers
  const cluster = { servers: config.clusterDNS, domain: config.clusterDomain };
  const { settings, warnings } = podDns(pod, cluster, parseResolvConf(text));
  for (const { reason, message } of warnings) events.event(pod, { type: 'Warning', reason, message });
  return settings;
}
