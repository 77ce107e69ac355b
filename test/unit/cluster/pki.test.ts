import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { issue } from '../../../src/cluster/pki/authority.js';
import { ensurePki, readPki } from '../../../src/cluster/pki/files.js';

const NOW = Date.parse('2026-11-16T08:00:00Z');
const DAY_MS = 24 * 60 * 60 * 1000;
let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-pki-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const options = (more: object = {}) => ({
  dir,
  nodeName: 'node1',
  apiserverHosts: ['kubernetes.default.svc', '127.0.0.1', '10.96.0.1'],
  nodeHosts: ['node1', '192.168.99.1'],
  now: NOW,
  ...more,
});

describe('the certificates of a cluster', () => {
  test('are signed by its own authority, each for its use', async () => {
    const pki = await ensurePki(options());
    const ca = new X509Certificate(pki.ca.cert);
    const { ca: _, serviceAccountKey: __, ...leaves } = pki;
    for (const { cert } of Object.values(leaves))
      expect(new X509Certificate(cert).verify(ca.publicKey)).toBe(true);
    const apiserver = new X509Certificate(pki.apiserver.cert);
    expect(apiserver.checkIP('10.96.0.1')).toBe('10.96.0.1');
    expect(apiserver.checkHost('kubernetes.default.svc')).toBeDefined();
    expect(apiserver.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    const kubelet = new X509Certificate(pki.kubelet.cert);
    expect(kubelet.subject.split('\n').sort()).toEqual(['CN=system:node:node1', 'O=system:nodes']);
    expect(kubelet.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(new X509Certificate(pki.admin.cert).subject).toContain('O=system:masters');
    const subject = new X509Certificate(pki.apiserverKubeletClient.cert).subject.split('\n');
    expect(subject.sort()).toEqual(['CN=kube-apiserver-kubelet-client', 'O=trellis:kubelet-clients']);
  });

  test('are for root alone', async () => {
    await ensurePki(options());
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    for (const file of readdirSync(dir))
      expect([file, statSync(path.join(dir, file)).mode & 0o777]).toEqual([file, 0o600]);
  });

  test('are kept as they are at the next start, and read back the same', async () => {
    const first = await ensurePki(options());
    expect(await ensurePki(options({ now: NOW + 10 * DAY_MS }))).toEqual(first);
    expect(await readPki(dir)).toEqual(first);
  });

  test('are issued anew when they name another group than they should', async () => {
    const { ca, admin } = await ensurePki(options());
    const leaf = { commonName: 'kube-apiserver-kubelet-client', organizations: ['system:masters'] };
    const { cert, key } = await issue(ca, leaf, NOW);
    writeFileSync(path.join(dir, 'apiserver-kubelet-client.crt'), cert);
    writeFileSync(path.join(dir, 'apiserver-kubelet-client.key'), key);
    const again = await ensurePki(options());
    expect(new X509Certificate(again.apiserverKubeletClient.cert).subject).not.toContain('system:masters');
    expect(again.admin).toEqual(admin);
  });

  test('are renewed when they near their end; the authority and the signing key stay', async () => {
    const first = await ensurePki(options());
    const later = await ensurePki(options({ now: NOW + 340 * DAY_MS }));
    expect(later.ca).toEqual(first.ca);
    expect(later.serviceAccountKey).toBe(first.serviceAccountKey);
    expect(later.kubelet.cert).not.toBe(first.kubelet.cert);
    expect(Date.parse(new X509Certificate(later.kubelet.cert).validTo)).toBeGreaterThan(NOW + 600 * DAY_MS);
  });

  test('are made anew for a server that gets another address', async () => {
    const first = await ensurePki(options());
    const moved = await ensurePki(options({ nodeHosts: ['node1', '192.168.99.7'] }));
    expect(moved.kubeletServer.cert).not.toBe(first.kubeletServer.cert);
    expect(new X509Certificate(moved.kubeletServer.cert).checkIP('192.168.99.7')).toBeDefined();
    expect(moved.apiserver).toEqual(first.apiserver);
  });

  test.each([
    ['ca.key', 'ca.crt is there and its key'],
    ['ca.crt', 'ca.key is there and its certificate'],
    ['sa.key', 'of its tokens is missing'],
  ])('are not begun anew when %s is missing', async (name, why) => {
    await ensurePki(options());
    rmSync(path.join(dir, name));
    const left = readdirSync(dir).map((file) => [file, readFileSync(path.join(dir, file), 'utf8')]);
    await expect(ensurePki(options())).rejects.toThrow(why);
    expect(readdirSync(dir).map((file) => [file, readFileSync(path.join(dir, file), 'utf8')])).toEqual(left);
  });

  test('need an authority whose key and certificate fit', async () => {
    await ensurePki(options());
    writeFileSync(path.join(dir, 'ca.key'), readFileSync(path.join(dir, 'admin.key')));
    await expect(ensurePki(options())).rejects.toThrow('is not the key of');
  });

  test('are finished by the start after one that was killed in between', async () => {
    await ensurePki(options());
    const cert = readFileSync(path.join(dir, 'ca.crt'), 'utf8');
    renameSync(path.join(dir, 'ca.crt'), path.join(dir, 'ca.crt.new'));
    expect((await ensurePki(options())).ca.cert).toBe(cert);
  });

  test('are issued anew when their key is another', async () => {
    const { ca } = await ensurePki(options());
    writeFileSync(path.join(dir, 'admin.key'), readFileSync(path.join(dir, 'kubelet.key')));
    const again = await ensurePki(options());
    expect(again.ca).toEqual(ca);
    expect(new X509Certificate(again.admin.cert).checkPrivateKey(createPrivateKey(again.admin.key))).toBe(
      true,
    );
  });
});
