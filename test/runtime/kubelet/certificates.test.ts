// A kubelet that begins with a right to ask and nothing else: certificates by CSR, renewed while it runs.
// Guarantees: the API server is the real one with its whole security; approval and signature are given by the test.
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { V1CertificateSigningRequest } from '../../../src/api/gen/types.js';
import { silentLog } from '../../../src/api/log.js';
import type { Stored } from '../../../src/api/object.js';
import { CERTIFICATE_SIGNING_REQUESTS, CLUSTER_ROLE_BINDINGS, NODES } from '../../../src/api/resources.js';
import { readSettings } from '../../../src/kubelet/configuration/configuration.js';
import { runStandalone } from '../../../src/kubelet/standalone.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { eventually } from '../../support/testCluster.js';

const HOUR_MS = 3_600_000;
/** Of whose life so much is over that it is due for renewal at once. */
const oldAge = () => ({
  notBefore: new Date(Date.now() - 100 * HOUR_MS),
  notAfter: new Date(Date.now() + 2 * HOUR_MS),
});

describe('the certificates of a kubelet', () => {
  let api: SecuredApiServer;
  let directory: string;
  let ending: AbortController;
  let ended: Promise<void> | undefined;
  let ports: { port: number };
  const seen = new Set<string>();

  const at = (name: string) => path.join(directory, name);
  const start = () => {
    const config = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      makeIPTablesUtilChains: false,
      address: '127.0.0.1',
      port: 0,
      healthzPort: 0,
      cgroupsPerQOS: false,
      podLogsDir: at('logs'),
      rotateCertificates: true,
      serverTLSBootstrap: true,
      containerRuntimeEndpoint: `unix://${at('no-runtime.sock')}`,
    };
    const flags = {
      'hostname-override': 'node-1',
      'node-ip': '127.0.0.1',
      'root-dir': at('kubelet'),
      'cert-dir': at('pki'),
    };
    ending = new AbortController();
    const started = new Promise<{ port: number }>((resolve, reject) => {
      ended = runStandalone({
        settings: readSettings({ file: { name: 'config', text: JSON.stringify(config) }, flags }),
        kubeconfig: at('kubelet.conf'),
        bootstrapKubeconfig: at('bootstrap.conf'),
        signal: ending.signal,
        log: silentLog,
        started: resolve,
      });
      ended.catch(reject);
    });
    return started;
  };
  const stop = async () => {
    ending?.abort();
    await ended;
  };

  /** The next request that nobody has looked at yet. */
  const nextRequest = () =>
    eventually(
      async () => {
        const { items } = await api.client.of(CERTIFICATE_SIGNING_REQUESTS).list();
        return items.find(({ metadata }) => !seen.has(metadata.name));
      },
      (found) => found !== undefined,
    ).then((found) => {
      seen.add(found?.metadata.name ?? '');
      return found as Stored<V1CertificateSigningRequest>;
    });
  const answer = async (
    request: Stored<V1CertificateSigningRequest>,
    verdict: 'Approved' | 'Denied',
    validity?: { notBefore: Date; notAfter: Date },
  ) => {
    const requests = api.client.of(CERTIFICATE_SIGNING_REQUESTS);
    const condition = { type: verdict, status: 'True', reason: 'Test', message: 'says the test' };
    const judged = await requests.update(
      { ...request, status: { conditions: [condition] } },
      { subresource: 'approval' },
    );
    if (verdict === 'Denied') return;
    const pem = Buffer.from(request.spec.request, 'base64').toString();
    const certificate = Buffer.from(await api.pki.sign(pem, validity)).toString('base64');
    await requests.update(
      { ...judged, status: { ...judged.status, certificate } },
      { subresource: 'status' },
    );
  };
  const served = () =>
    new Promise<string>((resolve, reject) => {
      const socket = tls.connect({ host: '127.0.0.1', port: ports.port, ca: api.pki.ca }, () => {
        resolve(socket.getPeerX509Certificate()?.serialNumber ?? '');
        socket.destroy();
      });
      socket.on('error', reject);
    });
  const current = (name: string) => readFileSync(at(`pki/${name}-current.pem`), 'utf8');

  beforeAll(async () => {
    directory = mkdtempSync(path.join(tmpdir(), 'trellis-certificates-'));
    api = await startSecuredApiServer();
    await api.client.of(CLUSTER_ROLE_BINDINGS).create({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'bootstrappers' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'system:node-bootstrapper',
      },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:bootstrappers' }],
    });
    const { cert, key } = await api.pki.client('system:bootstrap:abcdef', 'system:bootstrappers');
    const data = (text: string) => Buffer.from(text).toString('base64');
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'x',
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
      clusters: [{ name: 'x', cluster: { server: api.url, 'certificate-authority-data': data(api.pki.ca) } }],
      users: [{ name: 'x', user: { 'client-certificate-data': data(cert), 'client-key-data': data(key) } }],
    };
    writeFileSync(at('bootstrap.conf'), JSON.stringify(kubeconfig), { mode: 0o600 });
  });
  afterAll(async () => {
    await stop().catch(() => {}); // a start that failed has failed its test already
    await api?.close();
    rmSync(directory, { recursive: true, force: true });
  });

  test('a request that is denied ends the start with its reason; the next start asks with a new key', async () => {
    const refused = expect(start()).rejects.toThrow(
      /^certificate signing request node-csr-\w+ is denied: Test says the test$/,
    );
    const request = await nextRequest();
    expect(request.spec).toMatchObject({
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      username: 'system:bootstrap:abcdef',
      usages: ['digital signature', 'client auth'],
    });
    await answer(request, 'Denied');
    await refused;
    ended = undefined;
  });

  test('the first certificate, from which the node registers; the one for serving, which it then asks for itself', async () => {
    const started = start();
    const own = await nextRequest();
    await answer(own, 'Approved', oldAge());
    ports = await started;
    expect(statSync(at('kubelet.conf')).mode & 0o777).toBe(0o600);
    expect(readFileSync(at('kubelet.conf'), 'utf8')).toContain(at('pki/kubelet-client-current.pem'));
    expect(new X509Certificate(current('kubelet-client')).subject).toBe(
      'O=system:nodes\nCN=system:node:node-1',
    );
    await eventually(
      () => api.client.of(NODES).get({ name: 'node-1' }),
      () => true,
    );
    // Both are asked for now: the client's is old, the server's is not there.
    const both = [await nextRequest(), await nextRequest()];
    const bySigner = (signer: string) =>
      both.find(({ spec }) => spec.signerName === `kubernetes.io/${signer}`);
    expect(both.map(({ spec }) => spec.username)).toEqual(['system:node:node-1', 'system:node:node-1']);
    await expect(served()).rejects.toThrow();
    const serving = bySigner('kubelet-serving') as Stored<V1CertificateSigningRequest>;
    expect(serving.spec.usages).toEqual(['digital signature', 'server auth']);
    await answer(serving, 'Approved', oldAge());
    const first = await eventually(served, () => true);
    const before = readlinkSync(at('pki/kubelet-client-current.pem'));
    await answer(
      bySigner('kube-apiserver-client-kubelet') as Stored<V1CertificateSigningRequest>,
      'Approved',
    );
    await eventually(
      async () => readlinkSync(at('pki/kubelet-client-current.pem')),
      (link) => link !== before,
    );
    expect(statSync(at('pki/kubelet-client-current.pem')).mode & 0o777).toBe(0o600);
    // The serving certificate is old as well: it is renewed without a restart, and names the node.
    await answer(await nextRequest(), 'Approved');
    await eventually(served, (serial) => serial !== first);
    const { subjectAltName } = new X509Certificate(current('kubelet-server'));
    expect(subjectAltName).toBe('DNS:node-1, IP Address:127.0.0.1');
  });

  test('a restart uses what is there and asks for nothing', async () => {
    const before = await served();
    await stop();
    ports = await start();
    expect(await served()).toBe(before);
    const { items } = await api.client.of(CERTIFICATE_SIGNING_REQUESTS).list();
    expect(items.filter(({ metadata }) => !seen.has(metadata.name))).toEqual([]);
  });

  test('a caller whose certificate nobody vouches for is a stranger', async () => {
    const { cert, key } = await api.pki.client('admin', 'system:masters');
    const status = await new Promise<string>((resolve, reject) => {
      const socket = tls.connect({ host: '127.0.0.1', port: ports.port, ca: api.pki.ca, cert, key }, () =>
        socket.write('GET /pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'),
      );
      socket.once('data', (bytes) => {
        resolve(bytes.toString().split('\r\n', 1)[0] ?? '');
        socket.destroy();
      });
      socket.on('error', reject);
    });
    expect(status).toBe('HTTP/1.1 401 Unauthorized');
  });
});
