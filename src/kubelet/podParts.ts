// The parts of a pod put together: volumes, environment and probes on one client and one runtime.
// Guarantees: without an apiserver everything works that needs none; what needs one says so.

import type { Log } from '../api/log.js';
import { SERVICES } from '../api/resources.js';
import type { Client } from '../client/client.js';
import type { Informers } from '../client/informer.js';
import type { RuntimeService } from '../cri/runtime.js';
import type { KubeletParts, PodPartDependencies } from './dependencies.js';
import { makeContainerEnvironment } from './environment/containerEnvironment.js';
import { KubeletError } from './error.js';
import { ContainerProbes } from './probes/probes.js';
import { makePodObjects } from './volumes/objects.js';
import { NodeVolumes } from './volumes/podVolumes.js';
import { TokenManager } from './volumes/tokens.js';

interface PartsOptions {
  readonly client?: Client | undefined;
  readonly informers?: Informers | undefined;
  readonly runtime: RuntimeService;
  readonly log: Log;
  readonly now?: () => number;
}

export function makePodParts(options: PartsOptions): (around: PodPartDependencies) => KubeletParts {
  const { informers, runtime, log, now = Date.now } = options;
  const client = options.client ?? noApiserver;
  return (around) => {
    const { config, hostIps, allocatable, node, events, wake } = around;
    const { rootDir, clusterDomain } = config;
    // Half of a sync's period: a change reaches running pods within one and a half.
    const objects = makePodObjects({ client, now, keepMs: config.syncFrequencyMs / 2 });
    const tokens = new TokenManager({ client, now });
    const probes = new ContainerProbes({
      exec: (id, command, timeoutSeconds) => runtime.execSync(id, command, timeoutSeconds),
      onResult: wake,
      onEvent: (pod, event) => events.event(pod, event),
      onProbe: around.probed,
      log,
    });
    return {
      volumes: new NodeVolumes({
        rootDir,
        client,
        tokens,
        log,
        objects,
        now,
        allocatable,
        node,
        addresses: (pod) => {
          const status = around.statusOf(pod);
          return { podIps: (status.podIPs ?? []).map(({ ip }) => ip), hostIps: hostIps() };
        },
      }),
      environment: makeContainerEnvironment({
        rootDir,
        clusterDomain,
        objects,
        hostIps,
        allocatable,
        imageProblem: around.imageProblem,
        canRecurse: (pod) => around.handlerOf(pod)?.recursiveReadOnlyMounts === true,
        ...(informers === undefined ? {} : { services: informers.of(SERVICES) }),
        onSkipped: (pod, message) =>
          events.event(pod, { type: 'Warning', reason: 'InvalidEnvironmentVariableNames', message }),
      }),
      probes,
      secret: ({ metadata }, name) =>
        objects.secret({ podUid: metadata.uid, namespace: metadata.namespace ?? 'default', name }),
      stop: () => probes.stop(),
    };
  };
}

const refuse = (): never => {
  throw new KubeletError('CreateContainerConfigError', 'this kubelet runs without an apiserver');
};

/** For a kubelet that runs alone. */
const noApiserver: Client = { of: refuse, raw: refuse, close: () => {} };
