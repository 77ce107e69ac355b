// Whether kubectl has somebody to talk to, and what is said when it has not.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { kubeconfigText } from '../../../src/cluster/kubeconfig.js';
import { type Layout, layoutOf } from '../../../src/cluster/layout.js';
import { requireListener } from '../../../src/cluster/reachable.js';
import { identify } from '../../../src/kernel/processIdentity.js';

let layout: Layout;
let dir = '';
let server: Server;
let port = 0;
beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-reachable-'));
  layout = { ...layoutOf(dir), stateFile: path.join(dir, 'state.json') };
  mkdirSync(layout.dataDir, { recursive: true });
  server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  port = (server.address() as AddressInfo).port;
  const own = { server: `https://127.0.0.1:${port}`, ca: 'ca', client: { token: 't' }, user: 'me' };
  writeFileSync(layout.adminKubeconfig, kubeconfigText(own));
});
afterEach(async () => {
  await close();
  rmSync(dir, { recursive: true });
});

const close = () => new Promise((resolve) => server.close(resolve));
const look = () =>
  requireListener(layout, layout.adminKubeconfig, (command) => `trellis ${command} --data-dir ${dir}`);

test('says nothing while somebody listens', async () => {
  await expect(look()).resolves.toBeUndefined();
});

test('says that the cluster is not running, and how to start it', async () => {
  await close();
  await expect(look()).rejects.toMatchObject({
    code: 'NOT_RUNNING',
    message: `the cluster in ${dir} is not running; start it with "trellis up --data-dir ${dir}"`,
  });
});

test('says that a cluster whose supervisor runs may be starting', async () => {
  await close();
  writeFileSync(layout.stateFile, JSON.stringify({ components: {}, supervisor: identify(process.pid) }));
  await expect(look()).rejects.toMatchObject({
    message: expect.stringMatching(/may be starting: see it with/),
  });
});

test('leaves a kubeconfig that is not ours to kubectl', async () => {
  await close();
  writeFileSync(layout.adminKubeconfig, `clusters:\n- cluster: {server: "https://127.0.0.1:${port}"}\n`);
  await expect(look()).resolves.toBeUndefined();
});
