// The control plane of `trellis up --etcd-servers`: its state is in a real etcd over TLS, and nothing of it in the data directory.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { LEASES, NAMESPACES } from '../../../src/api/resources.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { openClient } from '../../../src/client/typedClient.js';
import { makePrivateDir } from '../../../src/cluster/files.js';
import { layoutOf } from '../../../src/cluster/layout.js';
import { ensurePki } from '../../../src/cluster/pki/files.js';
import { runServer } from '../../../src/cluster/server.js';
import { defaultSettings, readSettings, saveSettings, settle } from '../../../src/cluster/settings.js';
import { etcdOptions, openStoreAt } from '../../../src/store/openStore.js';
import { freePort, startEtcd } from '../../support/etcd.js';
import { describeWith } from '../../support/requires.js';
import { makeTestPki } from '../../support/testPki.js';
import { until } from '../../support/until.js';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const pkiOf = ({ pkiDir }: ReturnType<typeof layoutOf>) =>
  ensurePki({
    dir: pkiDir,
    nodeName: 'node1',
    apiserverHosts: ['127.0.0.1'],
    nodeHosts: ['127.0.0.1'],
    now: Date.now(),
  });

describeWith({ tools: ['etcd'] }, 'a control plane with etcd', () => {
  test('keeps everything in etcd, and finds it there again', { timeout: 120_000 }, async () => {
    const dir = await mkdtemp(path.join(tmpdir(), 'trellis-etcd-'));
    undo.push(() => rm(dir, { recursive: true, force: true }));
    const authority = await makeTestPki();
    const etcd = await startEtcd({ tls: { ca: authority.ca, server: await authority.server() } });
    undo.push(() => etcd.stop());
    const client = await authority.client('apiserver');
    const files = { etcdCafile: authority.ca, etcdCertfile: client.cert, etcdKeyfile: client.key };
    const place: Record<string, string> = { etcdServers: etcd.endpoint };
    for (const [name, text] of Object.entries(files)) {
      place[name] = path.join(dir, name);
      await writeFile(place[name], text, { mode: 0o600 });
    }
    const layout = layoutOf(dir);
    await makePrivateDir(layout.storeDir);
    const wanted = { ...place, securePort: await freePort() };
    await saveSettings(layout, await settle(layout, wanted, defaultSettings('node1')));
    // What a later start without flags goes on with.
    const settings = await settle(layout, {}, defaultSettings('node1'));
    expect(await readSettings(layout)).toMatchObject(place);
    const pki = await pkiOf(layout);

    const run = async (
      work: (names: () => Promise<string[]>, create: (name: string) => Promise<unknown>) => Promise<void>,
    ) => {
      const stop = new AbortController();
      const options = {
        layout,
        settings,
        nodeIps: ['127.0.0.1'] as const,
        sink: () => {},
        log: silentLog,
        signal: stop.signal,
      };
      const running = runServer(options);
      const { cert, key } = pki.admin;
      const admin = openClient(
        openHttps({ server: `https://127.0.0.1:${settings.securePort}`, ca: pki.ca.cert, cert, key }),
      );
      const namespaces = admin.of(NAMESPACES);
      const names = async () => (await namespaces.list()).items.map(({ metadata }) => metadata.name);
      try {
        await vi.waitFor(names, { timeout: 60_000, interval: 100 });
        await work(names, (name) => namespaces.create({ metadata: { name } }));
      } finally {
        admin.close();
        stop.abort();
        await running;
      }
    };
    await run(async (_, create) => void (await create('kept')));
    await run(async (names) => expect(await names()).toContain('kept'));

    const store = await openStoreAt(place, layout.storeDir);
    undo.push(() => store.close());
    expect(await store.get('/registry/namespaces/kept')).toBeDefined();
    expect(await readdir(layout.storeDir)).toEqual([]);
  });
});

test('a control plane with its own store takes its leases at once, also after a crash', {
  timeout: 120_000,
}, async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'trellis-leases-'));
  undo.push(() => rm(dir, { recursive: true, force: true }));
  const layout = layoutOf(dir);
  await makePrivateDir(layout.storeDir);
  const settings = await settle(layout, { securePort: await freePort() }, defaultSettings('node1'));
  const pki = await pkiOf(layout);
  await saveSettings(layout, settings);
  const { cert, key } = pki.admin;
  const server = `https://127.0.0.1:${settings.securePort}`;
  const admin = openClient(openHttps({ server, ca: pki.ca.cert, cert, key }));
  undo.push(async () => admin.close());
  const leases = async () => {
    const held = (name: string) => admin.of(LEASES).get({ name, namespace: 'kube-system' });
    const both = await Promise.all(['kube-scheduler', 'kube-controller-manager'].map(held));
    return both.map(({ spec }) => `${spec.holderIdentity} ${spec.acquireTime} ${spec.renewTime}`);
  };
  const start = () => {
    const child = spawn(process.execPath, [path.resolve('test/support/serverChild.mjs'), dir], {
      stdio: 'ignore',
    });
    undo.push(async () => child.kill('SIGKILL'));
    return child;
  };
  const first = start();
  const before = await until(leases);
  first.kill('SIGKILL');
  await new Promise((resolve) => first.once('exit', resolve));
  start();
  // Renewed by the same holder: nobody was waited for.
  await until(async () => {
    for (const [at, lease] of (await leases()).entries()) {
      const [holder, since, renewed] = lease.split(' ');
      expect(before[at]?.startsWith(`${holder} ${since} `)).toBe(true);
      expect(before[at]).not.toContain(renewed);
    }
  });
});

test('a place is LMDB without addresses, and a certificate that cannot be read is named', () => {
  expect(etcdOptions({})).toBeUndefined();
  expect(etcdOptions({ etcdServers: '' })).toBeUndefined();
  expect(etcdOptions({ etcdServers: 'http://a:1, http://b:2' })).toEqual({
    endpoints: ['http://a:1', 'http://b:2'],
  });
  expect(() => etcdOptions({ etcdServers: 'https://a:1', etcdCafile: '/none.crt' })).toThrow(
    'cannot read /none.crt',
  );
});
