// A real apiserver, controllers as a process of their own, and a loop that plays scheduler and kubelets.
// Guarantees: controllers can be killed and started at any time; each acts as its own service account; close() ends
// everything and fails when a controller wanted what its role does not give.
import { Readable } from 'node:stream';
import type { KubeObject, Stored } from '../../../../src/api/object.js';
import { NODES, PODS, type ResourceType } from '../../../../src/api/resources.js';
import { ApiError } from '../../../../src/api/status.js';
import type { Client } from '../../../../src/client/client.js';
import { openInformers } from '../../../../src/client/sharedInformers.js';
import type { Transport } from '../../../../src/client/transport.js';
import { openClient } from '../../../../src/client/typedClient.js';
import { startControllers as startProcess, startScheduler } from '../../../support/runningComponents.js';
import {
  accountUser,
  type SecuredApiServer,
  startSecuredApiServer,
} from '../../../support/securedApiServer.js';

type Pod = Stored<NonNullable<(typeof PODS)['object']>>;

/** How a pod goes on: what its status becomes, or nothing for now. */
type Fate = (pod: Pod) => 'ready' | 'succeeded' | 'failed' | undefined;

export interface World {
  readonly api: SecuredApiServer;
  readonly client: Client;
  /** Names of pods that were ever created, in order. */
  readonly made: string[];
  fate: Fate;
  /** The address that a pod gets, if any. */
  address?: (pod: Pod) => string;
  /** What the metrics API says that each container of a pod uses. */
  cpu: (pod: string) => string;
  /** Lets a node say that it is ready. */
  ready(node: string): Promise<void>;
  /** Ends the controllers without farewell and starts new ones. */
  restart(): Promise<void>;
  all<T extends KubeObject>(type: ResourceType<T>): Promise<readonly Stored<T>[]>;
  close(): Promise<void>;
}

interface WorldOptions {
  /** What lies between the controllers and the server. */
  through?(transport: Transport): Transport;
  /** Whether a scheduler, behind the same, binds the pods; otherwise they are bound by play. */
  readonly schedules?: boolean;
}

export async function openWorld(nodes: readonly string[], options: WorldOptions = {}): Promise<World> {
  const api = await startSecuredApiServer();
  const { client } = api;
  const played = { cpu: (pod: string) => world.cpu(pod) };
  const refused: string[] = [];
  const begin = () => startControllers(api, { ...played, ...options }, refused);
  let controllers = begin();
  const endScheduler =
    options.schedules === true ? startScheduler(schedulerClient(api, options)) : async () => {};
  for (const name of nodes) {
    await client.of(NODES).create({ metadata: { name }, status: { allocatable: { pods: '110' } } });
    await ready(client, name);
  }
  const made: string[] = [];
  const informers = openInformers(client);
  const pods = informers.of(PODS);
  const playing = new AbortController();
  const world: World = {
    api,
    client,
    made,
    fate: () => 'ready',
    cpu: () => '0',
    ready: (node) => ready(client, node),
    async restart() {
      await controllers();
      controllers = begin();
    },
    all: async (type) => (await client.of(type).list({ namespace: 'default' })).items,
    async close() {
      playing.abort();
      await rounds;
      await controllers();
      await endScheduler();
      informers.stop();
      await api.close();
      if (refused.length > 0) throw new Error(`controllers lack rights:\n${refused.join('\n')}`);
    },
  };
  pods.on({ added: ({ metadata }) => void made.push(metadata.name) });
  const binds = options.schedules !== true;
  const rounds = play({ world, binds, pods: () => pods.list(), nodes, signal: playing.signal });
  return world;
}

function startControllers(
  api: SecuredApiServer,
  metrics: Pick<World, 'cpu'> & WorldOptions,
  refused: string[],
): () => Promise<void> {
  const { through = (transport) => transport } = metrics;
  const manager = { name: 'system:kube-controller-manager', groups: ['system:authenticated'] };
  const own = openClient(through(api.server.inProcess(manager)), SILENCE);
  return startProcess(withMetrics(own, metrics), {
    rootCa: 'PEM',
    clientFor: (account) => {
      const transport = through(noting403(api.server.inProcess(accountUser(account)), refused));
      return withMetrics(openClient(transport), metrics);
    },
    nodeMonitorGracePeriodMs: 600_000,
    loadBalancerPool: '192.0.2.0/29',
    signing: { cert: api.pki.ca, key: api.pki.caKey, durationMs: 3_600_000 },
    localPath: { directory: '/var/lib/volumes', helperImage: 'busybox:1' },
  });
}

/** Also one that says nothing for so long is found soon: the server's bookmarks come every minute. */
const SILENCE = { watchSilenceMs: 2_000 };

function schedulerClient(
  api: SecuredApiServer,
  { through = (transport) => transport }: WorldOptions,
): Client {
  const user = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };
  return openClient(through(api.server.inProcess(user)), SILENCE);
}

async function collected(body: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return chunks;
}

/** Keeps what the authorizer said; what admission refuses is no lack of rights. */
function noting403(transport: Transport, refused: string[]): Transport {
  return {
    ...transport,
    async request(request) {
      const response = await transport.request(request);
      if (response.status !== 403) return response;
      const chunks = await collected(response.body);
      const { message = '' } = JSON.parse(Buffer.concat(chunks).toString()) as { message?: string };
      if (/ cannot \S+ (resource|path) /.test(message)) refused.push(message);
      return { ...response, body: Readable.from(chunks) };
    },
  };
}

/** The apiserver has no metrics API behind it: one is played, with the pods that there are. */
function withMetrics(client: Client, { cpu }: Pick<World, 'cpu'>): Client {
  return {
    ...client,
    async raw<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
      const [, namespace, selector] =
        /^\/apis\/metrics\.k8s\.io\/v1beta1\/namespaces\/([^/]+)\/pods\?labelSelector=(.*)$/.exec(path) ?? [];
      if (namespace === undefined || selector === undefined) return client.raw<Answer>(method, path, body);
      const { items } = await client
        .of(PODS)
        .list({ namespace, labelSelector: decodeURIComponent(selector) });
      const measured = items.map(({ metadata, spec }) => ({
        metadata: { name: metadata.name },
        timestamp: new Date().toISOString(),
        window: '10s',
        containers: spec.containers.map(({ name }) => ({ name, usage: { cpu: cpu(metadata.name) } })),
      }));
      return { items: measured } as Answer;
    },
  };
}

async function ready(client: Client, name: string): Promise<void> {
  const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: new Date().toISOString() }];
  await client.of(NODES).patch({ name }, 'merge', { status: { conditions } }, { subresource: 'status' });
}

interface Play {
  readonly world: World;
  readonly nodes: readonly string[];
  readonly signal: AbortSignal;
  readonly binds: boolean;
  pods(): readonly Pod[];
}

async function play({ world, binds, pods, nodes, signal }: Play): Promise<void> {
  while (!signal.aborted) {
    for (const pod of pods()) {
      try {
        if (binds || pod.spec.nodeName || pod.metadata.deletionTimestamp !== undefined)
          await step(world, nodes, pod);
      } catch (error) {
        // Someone else was faster; the next round sees what they did.
        if (!ApiError.is(error, 'Conflict', 'NotFound', 'Invalid')) throw error;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function step({ client, fate, address }: World, nodes: readonly string[], pod: Pod): Promise<void> {
  const { metadata, spec, status } = pod;
  const pods = client.of(PODS);
  const finished = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  if (metadata.deletionTimestamp !== undefined) {
    if (!finished && (metadata.finalizers ?? []).length > 0) await setPhase(client, pod, { phase: 'Failed' });
    await pods.delete(metadata, { gracePeriodSeconds: 0, preconditions: { uid: metadata.uid } });
    return;
  }
  if (!spec.nodeName) {
    const target = { apiVersion: 'v1', kind: 'Node', name: nodeFor(pod, nodes) };
    await pods.post(metadata, 'binding', { metadata: { name: metadata.name }, target });
    return;
  }
  const isHelper = metadata.name.startsWith('remove-');
  const next = finished ? undefined : isHelper ? 'succeeded' : fate(pod);
  const stamp = new Date().toISOString().replace(/\.\d+/, '');
  if (next === 'ready' && status?.phase !== 'Running')
    await setPhase(client, pod, {
      phase: 'Running',
      ...(address === undefined ? {} : { podIP: address(pod), podIPs: [{ ip: address(pod) }] }),
      startTime: '2020-01-01T00:00:00Z',
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: stamp }],
    });
  if (next === 'succeeded' || next === 'failed') {
    const exitCode = next === 'failed' ? 1 : 0;
    // Long ago: failures are then not waited for.
    const state = { terminated: { exitCode, finishedAt: '2020-01-01T00:00:00Z' } };
    const containerStatuses = spec.containers.map(({ name }) => ({
      name,
      state,
      image: 'i',
      imageID: '',
      ready: false,
      restartCount: 0,
    }));
    await setPhase(client, pod, { phase: next === 'failed' ? 'Failed' : 'Succeeded', containerStatuses });
  }
}

function nodeFor({ spec, metadata }: Pod, nodes: readonly string[]): string {
  const terms =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const pinned = terms[0]?.matchFields?.[0]?.values?.[0];
  return pinned ?? nodes[metadata.name.length % nodes.length] ?? '';
}

async function setPhase(client: Client, pod: Pod, status: object): Promise<void> {
  await client.of(PODS).update({ ...pod, status: { ...pod.status, ...status } }, { subresource: 'status' });
}
