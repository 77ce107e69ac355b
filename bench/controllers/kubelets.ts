// Plays the kubelets of nodes that are only objects: bound pods become ready, terminating ones go.
// Guarantees: one request for each thing that a kubelet would tell; nodes stay alive until stop().
import type { V1Node, V1NodeStatus, V1Pod, V1PodStatus } from '../../src/api/gen/types.js';
import type { Stored } from '../../src/api/object.js';
import { LEASES, NODES, PODS } from '../../src/api/resources.js';
import { ApiError } from '../../src/api/status.js';
import { pause } from '../../src/base/deadline.js';
import type { Client } from '../../src/client/client.js';
import { ClientError } from '../../src/client/error.js';
import type { Informer } from '../../src/client/informer.js';
import { openInformers } from '../../src/client/sharedInformers.js';
import { inParallel } from './controlPlane.js';

const HEARTBEAT_MS = 10_000;
const CONNECTIONS = 20;
/** A check may take so small a part of the time. */
const CHECK_SHARE = 0.1;

export interface Kubelets {
  /** Pods that are ready and not going. */
  ready(): readonly Stored<V1Pod>[];
  /** Pods of any state. */
  pods(): readonly Stored<V1Pod>[];
  /** By uid: every pod that ever was, since these kubelets began. */
  readonly seen: ReadonlySet<string>;
  /** Requests made so far. */
  readonly requests: number;
  /** Resolves soon after the check holds; it is asked after changes of pods, a slow one less often. */
  until(check: () => boolean): Promise<void>;
  stop(): void;
}

function makeNode(number: number): V1Node {
  const name = `node-${number}`;
  const zone = `zone-${number % 3}`;
  const amounts = { cpu: '64', memory: '256Gi', pods: '500', 'ephemeral-storage': '100Gi' };
  return {
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'topology.kubernetes.io/zone': zone,
      },
    },
    status: { capacity: amounts, allocatable: amounts, ...nodeStatus() },
  };
}

function nodeStatus(): NonNullable<V1Node['status']> {
  const stamp = stampNow();
  const condition = (type: string, status: string, reason: string) => ({
    type,
    status,
    reason,
    message: `kubelet says ${reason}`,
    lastHeartbeatTime: stamp,
    lastTransitionTime: stamp,
  });
  return {
    conditions: [
      condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory'),
      condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure'),
      condition('PIDPressure', 'False', 'KubeletHasSufficientPID'),
      condition('Ready', 'True', 'KubeletReady'),
    ],
  };
}

async function reportReady(client: Client, name: string): Promise<void> {
  await client.of(NODES).patch({ name }, 'merge', { status: nodeStatus() }, { subresource: 'status' });
}

const stampNow = () => new Date().toISOString().replace(/\.\d+Z/, 'Z');

interface Alive {
  readonly nodes: Informer<V1Node>;
  readonly count: number;
  readonly signal: AbortSignal;
  /** Called for each request. */
  asked?(): void;
}

/** A lease says that a node is alive; its status is told again only when the server has it otherwise. */
export async function keepAlive(client: Client, { nodes, count, signal, asked }: Alive): Promise<void> {
  const beat = () =>
    inParallel(count, (number) => {
      asked?.();
      const name = `node-${number}`;
      const known = nodes.get(name);
      if (known !== undefined && !holdsReady(known.status)) return reportReady(client, name);
      const spec = { renewTime: new Date().toISOString().replace('Z', '000Z') };
      return client.of(LEASES).patch(leaseOf(name), 'merge', { spec });
    });
  // One round after the other, however long it takes. Who cannot reach the server tries again in the next.
  for (let due = HEARTBEAT_MS; !signal.aborted; ) {
    await pause(due, signal);
    const start = performance.now();
    if (!signal.aborted) await beat().catch(() => {});
    due = Math.max(0, HEARTBEAT_MS - (performance.now() - start));
  }
}

export async function playKubelets(client: Client, nodeCount: number): Promise<Kubelets> {
  let requests = 0;
  let addresses = 0;
  const seen = new Set<string>();
  const { waiting, wake } = makeWaiting();
  await inParallel(nodeCount, async (number) => {
    const [node, name] = [makeNode(number), `node-${number}`];
    await unlessThere(client.of(NODES).create(node));
    await unlessThere(client.of(LEASES).create({ metadata: leaseOf(name), spec: { holderIdentity: name } }));
    await reportReady(client, name);
  });
  const informers = openInformers(client);
  const pods = informers.of(PODS);
  const nodes = informers.of(NODES);
  const ending = new AbortController();
  void keepAlive(client, {
    nodes,
    count: nodeCount,
    signal: ending.signal,
    asked: () => {
      requests += 1;
    },
  });
  const line: (() => Promise<unknown>)[] = [];
  let busy = 0;
  // Kubelets have one connection each and are few; here they share so many.
  const work = async () => {
    for (let next = line.shift(); next !== undefined; next = line.shift())
      await next().catch((error: unknown) => {
        if (ApiError.is(error, 'Conflict', 'NotFound') || ClientError.is(error, 'CLOSED')) return;
        if (!ending.signal.aborted) throw error;
      });
    busy -= 1;
  };
  const ask = (request: () => Promise<unknown>) => {
    requests += 1;
    line.push(request);
    if (busy === CONNECTIONS) return;
    busy += 1;
    void work();
  };
  const see = (pod: Stored<V1Pod>) => {
    const { metadata, spec, status } = pod;
    if (metadata.deletionTimestamp !== undefined)
      ask(() =>
        client.of(PODS).delete(metadata, { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } }),
      );
    else if (spec.nodeName && status?.phase === 'Pending') {
      addresses += 1;
      const ready = runningStatus(`10.250.${(addresses >> 8) & 255}.${addresses & 255}`);
      ask(() => client.of(PODS).patch(metadata, 'merge', { status: ready }, { subresource: 'status' }));
    }
    wake();
  };
  // A pod that terminates is told of once more when its end is reported; only the first word counts.
  pods.on({
    added: (pod) => {
      seen.add(pod.metadata.uid);
      see(pod);
    },
    updated: (pod, previous) => {
      const known = previous.metadata.deletionTimestamp !== undefined;
      if (!known) see(pod);
      else wake();
    },
    deleted: wake,
  });
  await pods.synced();
  return {
    ready: () => pods.list().filter(isReady),
    pods: () => pods.list(),
    seen,
    get requests() {
      return requests;
    },
    until: (check) =>
      new Promise((resolve) => {
        const look = () => {
          if (!check()) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    stop() {
      ending.abort();
      informers.stop();
    },
  };
}

/** Those who wait, and what makes them look: at once, or when looking has taken its share of the time again. */
function makeWaiting(): { waiting: Set<() => void>; wake: () => void } {
  const waiting = new Set<() => void>();
  let isDue = false;
  let tookMs = 0;
  const look = () => {
    isDue = false;
    const start = performance.now();
    for (const one of waiting) one();
    tookMs = performance.now() - start;
  };
  const wake = () => {
    if (isDue) return;
    isDue = true;
    if (tookMs < 1) setImmediate(look);
    else setTimeout(look, tookMs / CHECK_SHARE);
  };
  return { waiting, wake };
}

function runningStatus(podIP: string): NonNullable<V1Pod['status']> {
  const stamp = stampNow();
  const holds = (type: string) => ({ type, status: 'True', lastTransitionTime: stamp });
  return {
    phase: 'Running',
    podIP,
    podIPs: [{ ip: podIP }],
    startTime: stamp,
    conditions: [holds('PodScheduled'), holds('Initialized'), holds('ContainersReady'), holds('Ready')],
    containerStatuses: [
      {
        name: 'main',
        image: 'registry.local/web:1',
        imageID: 'registry.local/web@sha256:0',
        ready: true,
        started: true,
        restartCount: 0,
        state: { running: { startedAt: stamp } },
      },
    ],
  };
}

function isReady({ metadata, status }: Stored<V1Pod>): boolean {
  return metadata.deletionTimestamp === undefined && holdsReady(status);
}

function holdsReady(status: V1PodStatus | V1NodeStatus | undefined): boolean {
  return (status?.conditions ?? []).some(({ type, status: holds }) => type === 'Ready' && holds === 'True');
}

const leaseOf = (name: string) => ({ name, namespace: 'kube-node-lease' });

async function unlessThere(creation: Promise<unknown>): Promise<void> {
  await creation.catch((error: unknown) => {
    if (!ApiError.is(error, 'AlreadyExists')) throw error;
  });
}
