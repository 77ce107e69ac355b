// Two servers on one real etcd: whichever way the leader goes, the other takes over, and nothing is ever written by both.
import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LEASES, PODS, REPLICA_SETS, SERVICE_ACCOUNTS } from '../../../src/api/resources.js';
import type { Client } from '../../../src/client/client.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { openClient } from '../../../src/client/typedClient.js';
import { makePrivateDir } from '../../../src/cluster/files.js';
import { layoutOf } from '../../../src/cluster/layout.js';
import { ensurePki } from '../../../src/cluster/pki/files.js';
import { defaultSettings, saveSettings, settle } from '../../../src/cluster/settings.js';
import { freePort, startEtcd, type TestEtcd } from '../../support/etcd.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

/** Shorter than usual, and in the same proportions. */
const TIMES = JSON.stringify({ leaseDurationMs: 6000, renewDeadlineMs: 4200, retryPeriodMs: 400 });
const PODS_WANTED = 100;
const FAIL_AT = 20;
const namespace = 'default';
const LOST = 'lost the lease, no longer leader';

/** Between a server and etcd: what is held back while it is cut is delivered when it is whole again, as TCP does. */
class Wire {
  #server: Server | undefined;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  #isCut = false;

  async open(endpoint: string): Promise<number> {
    const { hostname, port } = new URL(endpoint);
    const server = createServer((near) => {
      const far = createConnection(Number(port), hostname);
      const pair = [near, far] as const;
      this.#pairs.add(pair);
      for (const [from, to] of [pair, [far, near] as const]) {
        from.on('error', () => {});
        from.on('data', (bytes) => to.write(bytes));
        from.on('close', () => {
          to.destroy();
          this.#pairs.delete(pair);
        });
        if (this.#isCut) from.pause();
      }
    });
    this.#server = server;
    const listening = await freePort();
    await new Promise<void>((resolve) => server.listen(listening, '127.0.0.1', resolve));
    return listening;
  }

  cut(): void {
    this.#isCut = true;
    for (const pair of this.#pairs) for (const socket of pair) socket.pause();
  }

  heal(): void {
    this.#isCut = false;
    for (const pair of this.#pairs) for (const socket of pair) socket.resume();
  }

  close(): void {
    this.#server?.close();
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
  }
}

interface TestServer {
  readonly child: ChildProcess;
  readonly wire: Wire;
  readonly client: Client;
  /** Lines of its log that hold these words. */
  said(words: string): number;
}

describeWith({ tools: ['etcd'] }, 'two servers on one etcd', () => {
  let folder: string;
  let etcd: TestEtcd;
  const servers: TestServer[] = [];

  async function start(name: string): Promise<TestServer> {
    const layout = layoutOf(path.join(folder, name));
    await makePrivateDir(layout.dataDir);
    await makePrivateDir(layout.storeDir);
    // Every server of a cluster has the same authority and the same keys.
    await cp(path.join(folder, 'pki'), layout.pkiDir, { recursive: true });
    const pki = await pkiIn(layout.pkiDir);
    const wire = new Wire();
    const etcdServers = `http://127.0.0.1:${await wire.open(etcd.endpoint)}`;
    const securePort = await freePort();
    await saveSettings(layout, await settle(layout, { etcdServers, securePort }, defaultSettings('node1')));
    const child = spawn(
      process.execPath,
      [path.resolve('test/support/serverChild.mjs'), layout.dataDir, TIMES],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let log = '';
    child.stderr?.on('data', (bytes: Buffer) => {
      log += bytes.toString();
    });
    const { cert, key } = pki.admin;
    const server = `https://127.0.0.1:${securePort}`;
    const client = openClient(openHttps({ server, ca: pki.ca.cert, cert, key }));
    const said = (words: string) => log.split(words).length - 1;
    const started = { child, wire, client, said };
    servers.push(started);
    await until(() => client.of(LEASES).list());
    return started;
  }

  const pkiIn = (dir: string) =>
    ensurePki({
      dir,
      nodeName: 'node1',
      apiserverHosts: ['127.0.0.1'],
      nodeHosts: ['127.0.0.1'],
      now: Date.now(),
    });
  const holders = async ({ client }: TestServer) => {
    const names = ['kube-controller-manager', 'kube-scheduler'];
    const leases = await Promise.all(
      names.map((name) => client.of(LEASES).get({ name, namespace: 'kube-system' })),
    );
    return leases.map(({ spec }) => spec.holderIdentity ?? '');
  };

  /** Has the leader make pods, and fails it in the middle; answers when the other has gone on and made the rest. */
  async function failWhileWriting(name: string, other: TestServer, fail: () => void) {
    const made = new Set<string>();
    let hasFailed = false;
    const failure = () => {
      if (!hasFailed) fail();
      hasFailed = true;
    };
    const labels = { app: name };
    const pods = other.client.of(PODS);
    const watching = new AbortController();
    const { resourceVersion } = await pods.list({ namespace });
    const query = { namespace, labelSelector: `app=${name}`, resourceVersion, signal: watching.signal };
    const watched = (async () => {
      for await (const event of pods.watch(query)) {
        if (event.type !== 'BOOKMARK') made.add(event.object.metadata.uid);
        // At once: more are under way.
        if (made.size === FAIL_AT) failure();
      }
    })().catch(() => {});
    const before = await holders(other);
    await other.client.of(REPLICA_SETS).create({
      metadata: { name, namespace },
      spec: {
        replicas: PODS_WANTED,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    });
    await until(() => expect(hasFailed).toBe(true));
    await until(async () => {
      const after = await holders(other);
      for (const [at, holder] of before.entries()) expect(after[at]).not.toBe(holder);
    });
    await until(() => expect(made.size).toBeGreaterThanOrEqual(PODS_WANTED));
    return {
      made,
      end: async () => {
        watching.abort();
        await watched;
      },
    };
  }

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'trellis-servers-'));
    etcd = await startEtcd();
    await pkiIn(path.join(folder, 'pki'));
  }, 60_000);
  afterAll(async () => {
    for (const { child, wire, client } of servers) {
      client.close();
      child.kill('SIGKILL');
      wire.close();
    }
    await etcd?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('the leader frozen, cut off and killed in the middle of its work', { timeout: 240_000 }, async () => {
    const first = await start('first');
    await until(() => first.client.of(SERVICE_ACCOUNTS).get({ name: 'default', namespace }));
    const second = await start('second');
    expect(new Set(await holders(second))).not.toContain('');

    const frozen = await failWhileWriting('frozen', second, () => first.child.kill('SIGSTOP'));
    first.child.kill('SIGCONT');
    // Both of its leases: it knows by then, and whatever it had begun has ended.
    await until(() => expect(first.said(LOST)).toBeGreaterThanOrEqual(2));
    expect((await first.client.of(PODS).list({ namespace, labelSelector: 'app=frozen' })).items).toHaveLength(
      PODS_WANTED,
    );
    expect(frozen.made.size).toBe(PODS_WANTED);
    await frozen.end();

    const lostBefore = second.said(LOST);
    const cut = await failWhileWriting('cut', first, () => second.wire.cut());
    await until(() => expect(second.said(LOST)).toBeGreaterThanOrEqual(lostBefore + 2));
    second.wire.heal();
    // It has read what was held back, and so has etcd.
    await until(async () => {
      const { items } = await second.client.of(PODS).list({ namespace, labelSelector: 'app=cut' });
      expect(items).toHaveLength(PODS_WANTED);
    });
    expect(cut.made.size).toBe(PODS_WANTED);
    await cut.end();

    const killed = await failWhileWriting('killed', second, () => first.child.kill('SIGKILL'));
    const { items } = await second.client.of(PODS).list({ namespace, labelSelector: 'app=killed' });
    expect([items.length, killed.made.size]).toEqual([PODS_WANTED, PODS_WANTED]);
    await killed.end();
  });
});
