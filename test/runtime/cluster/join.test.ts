// What a real control plane tells those who want to join, whom it lets in, and what it lets them do.
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PemPair } from '../../../src/api/certificates/keyPair.js';
import { silentLog } from '../../../src/api/log.js';
import {
  CERTIFICATE_SIGNING_REQUESTS,
  CONFIG_MAPS,
  ENDPOINT_SLICES,
  NAMESPACES,
  NODES,
  PODS,
  SECRETS,
  SERVICES,
} from '../../../src/api/resources.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { openClient } from '../../../src/client/typedClient.js';
import { caHash, discoverAuthority } from '../../../src/cluster/join/discovery.js';
import { type JoinOptions, prepareJoin } from '../../../src/cluster/join/join.js';
import { CLUSTER_INFO, SHARED_CONFIG } from '../../../src/cluster/join/objects.js';
import { type JoinToken, newToken, tokenSecret, tokenText } from '../../../src/cluster/join/token.js';
import { createToken, deleteToken, joinCommand, listTokens } from '../../../src/cluster/join/tokens.js';
import { kubeconfigText } from '../../../src/cluster/kubeconfig.js';
import { type Layout, layoutOf } from '../../../src/cluster/layout.js';
import { makeAuthority } from '../../../src/cluster/pki/authority.js';
import { defaultSettings, saveSettings, settle } from '../../../src/cluster/settings.js';
import { newKey, obtainCertificate } from '../../../src/kubelet/certificates/certificateRequest.js';
import { freePort } from '../../support/etcd.js';
import { describeWith } from '../../support/requires.js';
import { TestControlPlane } from '../../support/testControlPlane.js';
import { until } from '../../support/until.js';

const HOUR_MS = 3_600_000;

describe('a control plane that can be joined', () => {
  let plane: TestControlPlane;
  let token: JoinToken;

  beforeAll(async () => {
    plane = await TestControlPlane.start();
    token = await createToken(plane.admin, { ttlMs: HOUR_MS, description: 'rack 7' });
  });
  afterAll(() => plane?.stop());

  const discover = (wish: Partial<Parameters<typeof discoverAuthority>[0]> = {}) =>
    discoverAuthority({ server: plane.server, token, caHashes: [], ...wish });

  describe('is found', () => {
    test('by a token, which vouches for its authority', async () => {
      const ca = plane.pki.ca.cert;
      expect((await discover()).trim()).toBe(ca.trim());
      expect((await discover({ caHashes: [caHash(ca)] })).trim()).toBe(ca.trim());
      expect((await discover({ ca })).trim()).toBe(ca.trim());
    });

    test('but not with the wrong secret', async () => {
      const wrong = { id: token.id, secret: newToken().secret };
      await expect(discover({ token: wrong })).rejects.toMatchObject({
        code: 'BAD_TOKEN',
        message: expect.stringMatching(/secret part of token .*trellis token create/),
      });
      await expect(discover({ token: wrong })).rejects.not.toThrow(wrong.secret);
    });

    test('but not with a token that has expired or was never made', async () => {
      const expired = newToken();
      await plane.admin.of(SECRETS).create(tokenSecret({ token: expired, expiresAt: Date.now() - 1000 }));
      const refusal = { code: 'BAD_TOKEN', message: expect.stringMatching(/does not know token .*expired/) };
      await Promise.all([
        expect(discover({ token: expired })).rejects.toMatchObject(refusal),
        expect(discover({ token: newToken() })).rejects.toMatchObject(refusal),
      ]);
    });

    test('but not when its authority is another than the one that was named', async () => {
      const other = await makeAuthority('other', Date.now());
      await expect(discover({ caHashes: [caHash(other.cert)] })).rejects.toMatchObject({
        code: 'UNTRUSTED',
        message: expect.stringMatching(/not the one that --ca-cert-hash names/),
      });
      await expect(discover({ ca: other.cert })).rejects.toMatchObject({ code: 'UNTRUSTED' });
      await expect(discover({ caHashes: ['sha256:abc'] })).rejects.toMatchObject({ code: 'BAD_OPTION' });
    });

    test('but not by a name that its certificate does not have, nor where nobody listens', async () => {
      const server = plane.server.replace('127.0.0.1', 'localhost');
      await expect(discover({ server })).rejects.toMatchObject({
        code: 'UNTRUSTED',
        message: expect.stringContaining('--tls-san'),
      });
      await expect(discover({ server: `https://127.0.0.1:${await freePort()}` })).rejects.toMatchObject({
        code: 'UNREACHABLE',
        message: expect.stringMatching(/connection refused; does "trellis server"/),
      });
      await expect(discover({ server: 'no address' })).rejects.toMatchObject({ code: 'BAD_OPTION' });
    });
  });

  describe('its tokens', () => {
    test('are listed, give the command to join with, and can be deleted', async () => {
      const made = await createToken(plane.admin, { ttlMs: 0 });
      const listed = await listTokens(plane.admin);
      expect(listed).toContainEqual(expect.objectContaining({ token: tokenText(made), expires: '' }));
      expect(listed).toContainEqual(
        expect.objectContaining({ description: 'rack 7', usages: 'authentication,signing' }),
      );
      expect(await joinCommand(plane.admin, made)).toBe(
        `trellis agent --server ${plane.server} --token ${tokenText(made)} --ca-cert-hash ${caHash(plane.pki.ca.cert)}`,
      );
      await expect(createToken(plane.admin, { token: made, ttlMs: 0 })).rejects.toMatchObject({
        code: 'BAD_TOKEN',
      });
      expect(await deleteToken(plane.admin, tokenText(made))).toBe(made.id);
      await expect(deleteToken(plane.admin, made.id)).rejects.toMatchObject({ code: 'BAD_TOKEN' });
    });
  });

  describe('lets', () => {
    const forbidden = (work: Promise<unknown>) => expect(work).rejects.toMatchObject({ reason: 'Forbidden' });

    test('anybody read the cluster-info, and nothing else', async () => {
      const nobody = plane.as();
      expect((await nobody.of(CONFIG_MAPS).get(CLUSTER_INFO)).data).toHaveProperty('kubeconfig');
      await forbidden(nobody.of(CONFIG_MAPS).get(SHARED_CONFIG));
      await forbidden(nobody.of(CONFIG_MAPS).list({ namespace: CLUSTER_INFO.namespace }));
      nobody.close();
    });

    test('a token read the settings of the cluster, and no secret', async () => {
      const joining = plane.as(tokenText(token));
      const { data = {} } = await joining.of(CONFIG_MAPS).get(SHARED_CONFIG);
      expect(JSON.parse(data['settings'] ?? '')).toMatchObject({
        clusterDomain: 'cluster.local',
        overlay: 'vxlan',
      });
      await forbidden(joining.of(SECRETS).list({ namespace: 'kube-system' }));
      await forbidden(joining.of(SERVICES).list());
      await forbidden(joining.of(NODES).list());
      joining.close();
    });
  });

  describeWith({ tools: ['containerd', 'runc'] }, 'is not joined by a machine', () => {
    let layout: Layout;
    const attempt = (wish: Partial<JoinOptions>) =>
      prepareJoin({
        layout,
        self: [],
        cniBinDir: '',
        timeoutMs: 1000,
        sink: () => {},
        log: silentLog,
        wanted: {},
        ...wish,
      });
    beforeEach(async () => {
      layout = layoutOf(await mkdtemp(path.join(tmpdir(), 'trellis-join-')));
    });
    afterEach(() => rm(layout.dataDir, { recursive: true }));

    test('that has neither a token nor a certificate', async () => {
      await expect(attempt({})).rejects.toMatchObject({
        message: expect.stringMatching(/has not joined a cluster yet; give --server and a token/),
      });
    });

    test('whose name a Ready node has', async () => {
      const name = 'taken';
      await plane.admin.of(NODES).create({ metadata: { name } });
      const conditions = [{ type: 'Ready', status: 'True' }];
      await plane.admin
        .of(NODES)
        .patch({ name }, 'merge', { status: { conditions } }, { subresource: 'status' });
      const wish = { server: plane.server, token: tokenText(token), wanted: { nodeName: name } };
      await expect(attempt(wish)).rejects.toMatchObject({
        code: 'NAME_TAKEN',
        message: expect.stringMatching(/node "taken" that is Ready.*--node-name/),
      });
      expect(await readdir(layout.dataDir)).toEqual([]);
    });

    test('whose name a node has that is not Ready: no token gets its certificate', async () => {
      await plane.admin.of(NODES).create({ metadata: { name: 'silent' } });
      const wish = { server: plane.server, token: tokenText(token), wanted: { nodeName: 'silent' } };
      await expect(attempt(wish)).rejects.toMatchObject({
        code: 'NAME_TAKEN',
        message: expect.stringMatching(/not Ready.*delete node silent/),
      });
    });

    test('that has joined another cluster at the same address', async () => {
      const { server, pki } = plane;
      const { cert: ca } = await makeAuthority('other', Date.now());
      const config = kubeconfigText({ server, ca, client: pki.admin, user: 'u' });
      await writeFile(layout.nodeKubeconfig, config);
      await saveSettings(layout, await settle(layout, { server }, defaultSettings('n')));
      await expect(attempt({})).rejects.toMatchObject({
        code: 'UNTRUSTED',
        message: expect.stringContaining('trellis down --purge'),
      });
      await expect(attempt({ server: 'https://192.0.2.1:6443' })).rejects.toMatchObject({
        code: 'BAD_OPTION',
      });
    });

    test('whose directory holds a cluster of its own', async () => {
      await saveSettings(layout, await settle(layout, {}, defaultSettings('n')));
      await expect(attempt({})).rejects.toMatchObject({
        code: 'BAD_OPTION',
        message: expect.stringContaining('start it with "trellis up"'),
      });
    });
  });

  describe('a node that asked by a token', () => {
    const name = 'worker';
    let own: PemPair;
    let node: ReturnType<typeof openClient>;
    const ending = new AbortController();

    beforeAll(async () => {
      const joining = plane.as(tokenText(token));
      own = await obtainCertificate(joining, { nodeName: name, hosts: [] }, newKey(), ending.signal);
      joining.close();
      node = openClient(openHttps({ server: plane.server, ca: plane.pki.ca.cert, ...own }));
      await node.of(NODES).create({ metadata: { name } });
      const addresses = [{ type: 'InternalIP', address: '192.0.2.7' }];
      await node.of(NODES).patch({ name }, 'merge', { status: { addresses } }, { subresource: 'status' });
    });
    afterAll(() => {
      ending.abort();
      node?.close();
    });

    test('may do what its kubelet must, and no more', async () => {
      await node.of(NODES).get({ name });
      await node.of(CONFIG_MAPS).get(SHARED_CONFIG);
      for (const kind of [SECRETS, ENDPOINT_SLICES, NODES, NAMESPACES])
        await expect(node.of(kind as typeof NODES).list()).rejects.toMatchObject({ reason: 'Forbidden' });
      await expect(
        node
          .of(ENDPOINT_SLICES)
          .create({ metadata: { name: 'x', namespace: 'default' }, addressType: 'IPv4', endpoints: [] }),
      ).rejects.toMatchObject({ reason: 'Forbidden' });
      await expect(node.of(NODES).create({ metadata: { name: 'other' } })).rejects.toMatchObject({
        reason: 'Forbidden',
      });
      await expect(node.of(PODS).delete({ namespace: 'default', name: 'none' })).resolves.toBeUndefined();
    });

    test('renews its own certificate', async () => {
      const renewed = await obtainCertificate(node, { nodeName: name, hosts: [] }, newKey(), ending.signal);
      expect(renewed.cert).not.toBe(own.cert);
    });

    test('gets a serving certificate for its own name and address', async () => {
      const hosts = [name, '192.0.2.7'];
      const { cert } = await obtainCertificate(node, { nodeName: name, hosts }, newKey(), ending.signal);
      expect(cert).toContain('BEGIN CERTIFICATE');
    });

    test("gets none for the apiserver's address by itself", async () => {
      const giveUp = new AbortController();
      const asking = obtainCertificate(
        node,
        { nodeName: name, hosts: [name, '127.0.0.9'] },
        newKey(),
        giveUp.signal,
      );
      asking.catch(() => {});
      const isServing = ({ spec }: { spec: { signerName: string } }) =>
        spec.signerName === 'kubernetes.io/kubelet-serving';
      // One that came later was approved: this one has been looked at and left.
      await until(async () => {
        const { items } = await plane.admin.of(CERTIFICATE_SIGNING_REQUESTS).list();
        expect(
          items.filter((item) => isServing(item) && item.status?.certificate === undefined),
        ).toHaveLength(1);
      });
      const later = [name, '192.0.2.7'];
      await obtainCertificate(node, { nodeName: name, hosts: later }, newKey(), ending.signal);
      const { items } = await plane.admin.of(CERTIFICATE_SIGNING_REQUESTS).list();
      const open = items.filter((item) => isServing(item) && item.status?.certificate === undefined);
      expect(open.map(({ status }) => status?.conditions ?? [])).toEqual([[]]);
      giveUp.abort();
    });

    test('stands behind the DNS Service from when it says that it has a name server until it is gone', async () => {
      const slices = plane.admin.of(ENDPOINT_SLICES);
      const at = { namespace: 'kube-system', name: `kube-dns-${name}` };
      const annotations = { 'trellis.local/dns-port': '10053' };
      await node.of(NODES).patch({ name }, 'merge', { metadata: { annotations } });
      const slice = await until(() => slices.get(at));
      expect(slice.endpoints).toMatchObject([
        { addresses: ['192.0.2.7'], nodeName: name, conditions: { ready: true } },
      ]);
      await plane.admin.of(NODES).delete({ name });
      await until(() => expect(slices.get(at)).rejects.toMatchObject({ reason: 'NotFound' }));
    });
  });
});
