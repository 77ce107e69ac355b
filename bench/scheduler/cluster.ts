// A control plane for one measurement: apiserver, scheduler and LMDB store in this process, nodes that are only objects.
// Guarantees: everything is gone after close(), the store's folder too; what is measured goes through the API, as in a cluster.
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { V1Node, V1Pod } from '../../src/api/gen/types.js';
import { KINDS } from '../../src/api/kinds/index.js';
import { silentLog } from '../../src/api/log.js';
import { NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS } from '../../src/api/resources.js';
import { reconcileBootstrapPolicy } from '../../src/apiserver/auth/bootstrapPolicy.js';
import { bootstrap } from '../../src/apiserver/bootstrap.js';
import { APISERVER_USER, clusterParts } from '../../src/apiserver/clusterParts.js';
import { openApiServer } from '../../src/apiserver/server.js';
import type { Client } from '../../src/client/client.js';
import { makeEventRecorder } from '../../src/client/eventRecorder.js';
import { openInformers } from '../../src/client/sharedInformers.js';
import { openClient } from '../../src/client/typedClient.js';
import { issue, makeAuthority } from '../../src/cluster/pki/authority.js';
import { Scheduler } from '../../src/scheduler/scheduler.js';
import { openLmdbStore } from '../../src/store/lmdb/store.js';
import { Activity } from './activity.js';

const CREATIONS_AT_ONCE = 64;

export class BenchCluster {
  readonly activity = new Activity();
  readonly #client: Client;
  readonly #end: () => Promise<void>;
  readonly #bound = new Set<string>();
  #waiting: { readonly wants: (name: string) => boolean; left: number; done(): void } | undefined;

  private constructor(client: Client, end: () => Promise<void>) {
    this.#client = client;
    this.#end = end;
  }

  static async open(): Promise<BenchCluster> {
    const folder = await mkdtemp(path.join(tmpdir(), 'trellis-bench-scheduler-'));
    const store = await openLmdbStore({ path: path.join(folder, 'store') });
    const ca = await makeAuthority('bench', Date.now());
    const { cert, key } = await issue(ca, { commonName: 'bench', hosts: ['127.0.0.1'] }, Date.now());
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const server = await openApiServer({
      store,
      kinds: KINDS,
      listen: { host: '127.0.0.1', port: 0 },
      tls: { cert, key, clientCa: ca.cert },
      log: silentLog,
      parts: clusterParts({
        serviceAccountKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
        issuer: 'https://kubernetes.default.svc.cluster.local',
        serviceCidrs: ['10.96.0.0/16'],
        log: silentLog,
      }),
    });
    await server.ready();
    const client = openClient(server.inProcess(APISERVER_USER));
    await bootstrap(client, { address: '127.0.0.1', port: server.port, serviceCidrs: ['10.96.0.0/16'] });
    await reconcileBootstrapPolicy(client);
    const ending = new AbortController();
    const cluster = new BenchCluster(client, async () => {
      ending.abort();
      await running;
      informers.stop();
      own.close();
      client.close();
      await server.close();
      await store.close();
      await rm(folder, { recursive: true, force: true });
    });
    const { activity } = cluster;
    const user = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };
    const own = openClient(activity.counted(server.inProcess(user)));
    const informers = openInformers(own);
    const recorder = makeEventRecorder(own, { component: 'default-scheduler' });
    const { signal } = ending;
    const { metrics } = activity;
    const running = new Scheduler({
      client: own,
      informers,
      recorder,
      log: silentLog,
      signal,
      metrics,
    }).run();
    const see = ({ metadata, spec }: V1Pod) => {
      if (spec?.nodeName) cluster.#seeBound(metadata?.name ?? '');
    };
    informers.of(PODS).on({ added: see, updated: see });
    return cluster;
  }

  async namespaces(names: readonly string[], labels: Readonly<Record<string, string>> = {}): Promise<void> {
    for (const name of names) {
      await this.#client.of(NAMESPACES).create({ metadata: { name, labels } });
      await this.#client.of(SERVICE_ACCOUNTS).create({ metadata: { name: 'default', namespace: name } });
    }
  }

  async nodes(count: number, make: (number: number) => V1Node): Promise<void> {
    await inParallel(count, async (number) => {
      const node = make(number);
      const { metadata } = await this.#client.of(NODES).create(node);
      await this.#client.of(NODES).patch({ name: metadata.name }, 'merge', { spec: { taints: null } });
    });
  }

  async create(pods: readonly V1Pod[]): Promise<void> {
    await inParallel(pods.length, async (number) => {
      await this.#client.of(PODS).create(pods[number] as V1Pod);
    });
  }

  /** Resolves when so many pods whose names begin so are bound. */
  bound(prefix: string, count: number): Promise<void> {
    return new Promise((done) => {
      const wants = (name: string) => name.startsWith(prefix);
      const left = count - [...this.#bound].filter(wants).length;
      if (left <= 0) done();
      else this.#waiting = { wants, left, done };
    });
  }

  #seeBound(name: string): void {
    if (this.#bound.has(name)) return;
    this.#bound.add(name);
    const waiting = this.#waiting;
    if (waiting === undefined || !waiting.wants(name)) return;
    waiting.left -= 1;
    if (waiting.left === 0) waiting.done();
  }

  close(): Promise<void> {
    return this.#end();
  }
}

async function inParallel(count: number, work: (number: number) => Promise<void>): Promise<void> {
  let next = 0;
  const one = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: CREATIONS_AT_ONCE }, one));
}
