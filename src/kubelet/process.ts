// A kubelet with all that a process has around it: the runtime's connection, its events and its HTTP servers.
// Guarantees: close() ends them in the reverse order of their start, also when opening failed in the middle; one that
// cannot be ended is logged and keeps none of the others. Pods stay.
import type { Log } from '../api/log.js';
import { Closers } from '../base/closers.js';
import type { Client } from '../client/client.js';
import { makeEventRecorder } from '../client/eventRecorder.js';
import type { Informers } from '../client/informer.js';
import { openRuntime } from '../cri/client.js';
import type { CgroupPort } from '../kernel/cgroup/port.js';
import { openPleg } from '../kernel/pleg/adapter.js';
import type { KubeletOptions } from './config.js';
import type { KubeletDependencies } from './dependencies.js';
import { eventsThrough } from './events.js';
import { runKubelet } from './kubelet.js';
import { makePodParts } from './podParts.js';
import type { KubeletServerOptions } from './server/server.js';
import { type KubeletServers, openKubeletServers } from './server/servers.js';

export interface KubeletProcessOptions extends Pick<KubeletDependencies, 'attached' | 'otherMetrics'> {
  readonly config: KubeletOptions;
  readonly runtimeEndpoint: string;
  /** Undefined where pods get no control groups of their own. */
  readonly cgroups: CgroupPort | undefined;
  /** Both undefined for a kubelet without an apiserver. */
  readonly client: Client | undefined;
  readonly informers: Informers | undefined;
  /** Answers paths of the API that others of this process have; false for those it does not know. */
  readonly otherPaths?: KubeletServerOptions['others'] | undefined;
  /** Asked once the kubelet runs. */
  readonly serving: () => Promise<Pick<KubeletServerOptions, 'tls' | 'access'>>;
  readonly log: Log;
}

interface KubeletProcess {
  readonly servers: KubeletServers;
  /** What the servers were opened with. */
  readonly tls: KubeletServerOptions['tls'];
  close(): Promise<void>;
}

export async function openKubelet(options: KubeletProcessOptions): Promise<KubeletProcess> {
  const { config, client, informers, log, attached, otherMetrics } = options;
  const closers = new Closers((error) => log.error('could not end in order', { error }));
  try {
    const runtime = openRuntime(options.runtimeEndpoint);
    closers.add(() => runtime.close());
    const recorder =
      client && makeEventRecorder(client, { component: 'kubelet', host: config.nodeName, log });
    closers.add(() => recorder?.flush());
    const kubelet = await runKubelet({
      config,
      client,
      informers,
      runtime,
      log,
      attached,
      otherMetrics,
      pleg: openPleg(),
      cgroups: options.cgroups,
      events: recorder && eventsThrough(recorder),
      parts: makePodParts({ client, informers, runtime: runtime.runtime, log }),
    });
    closers.add(() => kubelet.stop());
    const { tls, access } = await options.serving();
    const { otherPaths } = options;
    const around = { tls, access, runtime: runtime.runtime, otherPaths, log };
    const servers = await openKubeletServers(kubelet, around);
    closers.add(() => servers.close());
    return { servers, tls, close: () => closers.close() };
  } catch (error) {
    await closers.close();
    throw error;
  }
}
