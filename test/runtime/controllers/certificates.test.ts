// Certificates through the real apiserver: a kubelet with a bootstrap identity gets one that opens the API.
import { createHmac, webcrypto, X509Certificate } from 'node:crypto';
import 'reflect-metadata'; // before x509, which reads it while loading
import * as x509 from '@peculiar/x509';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  CERTIFICATE_SIGNING_REQUESTS,
  CLUSTER_ROLE_BINDINGS,
  CONFIG_MAPS,
  EVENTS,
  NAMESPACES,
  NODES,
  SECRETS,
} from '../../../src/api/resources.js';
import { ApiError } from '../../../src/api/status.js';
import { openHttps } from '../../../src/client/httpTransport.js';
import { openClient } from '../../../src/client/typedClient.js';
import { craftRequest, element, named, OID, pemOf, STRING, text } from '../../support/certificateRequests.js';
import { until } from '../../support/until.js';
import { openWorld, type World } from './support/world.js';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const BOOTSTRAPPER = {
  name: 'system:bootstrap:abcdef',
  groups: ['system:bootstrappers', 'system:authenticated'],
};
const STRANGER = { name: 'eve', groups: ['strangers', 'system:authenticated'] };
const RBAC = 'rbac.authorization.k8s.io';
const KUBELET_CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';

let world: World;
beforeAll(async () => {
  world = await openWorld([]);
  const bind = (name: string, ...groups: readonly string[]) =>
    world.client.of(CLUSTER_ROLE_BINDINGS).create({
      metadata: { name: `test:${name}` },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
      subjects: groups.map((group) => ({ apiGroup: RBAC, kind: 'Group', name: group })),
    });
  await bind('system:node-bootstrapper', 'system:bootstrappers', 'strangers');
  await bind('system:certificates.k8s.io:certificatesigningrequests:nodeclient', 'system:bootstrappers');
}, 60_000);
afterAll(() => world.close());

interface Asked {
  readonly name: string;
  readonly subject: string;
  readonly signerName?: string;
  readonly usages?: readonly string[];
  readonly hosts?: readonly string[];
  readonly expirationSeconds?: number;
}

/** Creates the request as the identity; answers the private key. */
async function ask(as: typeof BOOTSTRAPPER, asked: Asked): Promise<webcrypto.CryptoKey> {
  const keys = (await webcrypto.subtle.generateKey(ALGORITHM, true, [
    'sign',
    'verify',
  ])) as webcrypto.CryptoKeyPair;
  const names = (asked.hosts ?? []).map((value) => ({ type: 'dns', value }) as const);
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    name: asked.subject,
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: names.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension(names)],
  });
  const client = world.api.as(as);
  const {
    expirationSeconds,
    signerName = KUBELET_CLIENT,
    usages = ['digital signature', 'client auth'],
  } = asked;
  await client.of(CERTIFICATE_SIGNING_REQUESTS).create({
    metadata: { name: asked.name },
    spec: {
      request: Buffer.from(request.toString('pem')).toString('base64'),
      signerName,
      usages: [...usages],
      ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
    },
  });
  client.close();
  return keys.privateKey;
}

const get = (name: string) => world.client.of(CERTIFICATE_SIGNING_REQUESTS).get({ name });
const conditionsOf = async (name: string) =>
  ((await get(name)).status.conditions ?? []).map(({ type }) => type);

async function issued(name: string): Promise<string> {
  return until(async () => {
    const { certificate } = (await get(name)).status;
    expect(certificate).toBeDefined();
    return Buffer.from(certificate ?? '', 'base64').toString();
  });
}

async function approve(name: string): Promise<void> {
  const request = await get(name);
  const conditions = [{ type: 'Approved', status: 'True', reason: 'Test', message: 'by hand' }];
  await world.client
    .of(CERTIFICATE_SIGNING_REQUESTS)
    .update({ ...request, status: { ...request.status, conditions } }, { subresource: 'approval' });
}

test('a bootstrap token does not get the certificate of a node that is there, until an administrator says so', async () => {
  for (const name of ['there', 'gone']) await world.client.of(NODES).create({ metadata: { name } });
  for (const name of ['there', 'gone'])
    await ask(BOOTSTRAPPER, { name: `node-${name}`, subject: `O=system:nodes, CN=system:node:${name}` });
  await until(async () => {
    const { items } = await world.client.of(EVENTS).list({ fieldSelector: 'reason=NodeExists' });
    expect(items.map(({ message }) => message).sort()).toEqual([
      expect.stringContaining('kubectl delete node gone'),
      expect.stringContaining('kubectl certificate approve node-there'),
    ]);
  });
  expect([await conditionsOf('node-there'), await conditionsOf('node-gone')]).toEqual([[], []]);
  await approve('node-there');
  await issued('node-there');
  await world.client.of(NODES).delete({ name: 'gone' });
  await issued('node-gone');
});

test("a bootstrapping kubelet's request is approved and signed, and the certificate opens the API as that node", async () => {
  const key = await ask(BOOTSTRAPPER, {
    name: 'node-n1',
    subject: 'O=system:nodes, CN=system:node:n1',
    expirationSeconds: 900,
  });
  const cert = await issued('node-n1');
  const { validTo, subject } = new X509Certificate(cert);
  expect(subject.split('\n').sort()).toEqual(['CN=system:node:n1', 'O=system:nodes']);
  expect(Date.parse(validTo) - Date.now()).toBeLessThanOrEqual(900_000);
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  const pem = x509.PemConverter.encode(der, 'PRIVATE KEY');
  const client = openClient(openHttps({ server: world.api.url, ca: world.api.pki.ca, cert, key: pem }));
  try {
    // A node may make itself; another's it may not.
    const made = await client.raw<{ metadata: { name: string } }>('POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n1' },
    });
    expect(made.metadata.name).toBe('n1');
    const other = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n2' } };
    await expect(client.raw('POST', '/api/v1/nodes', other)).rejects.toSatisfy((error) =>
      ApiError.is(error, 'Forbidden'),
    );
  } finally {
    client.close();
  }
}, 60_000);

test('one without the right is left for people to judge, and signed when they approve', async () => {
  await ask(STRANGER, { name: 'unsure', subject: 'O=system:nodes, CN=system:node:n3' });
  // One that is asked later has its answer: the first was looked at and left.
  await ask(BOOTSTRAPPER, { name: 'sure', subject: 'O=system:nodes, CN=system:node:n3' });
  await issued('sure');
  expect(await conditionsOf('unsure')).toEqual([]);
  await approve('unsure');
  expect(new X509Certificate(await issued('unsure')).subject).toContain('CN=system:node:n3');
}, 60_000);

test("a request against its signer's rule fails with the reason", async () => {
  await ask(BOOTSTRAPPER, {
    name: 'serving',
    subject: 'O=system:nodes, CN=system:node:n4',
    signerName: 'kubernetes.io/kubelet-serving',
    usages: ['digital signature', 'server auth'],
  });
  await approve('serving');
  await until(async () => expect(await conditionsOf('serving')).toContain('Failed'));
  const { conditions = [], certificate } = (await get('serving')).status;
  expect(conditions.find(({ type }) => type === 'Failed')?.message).toBe(
    'at least one DNS or IP subjectAltName is required',
  );
  expect(certificate).toBeUndefined();
}, 60_000);

const MASTERS = 'system:masters';
const jane = named(OID.commonName, text('jane'));
const wide = Buffer.concat([...MASTERS].map((char) => Buffer.from([0, 0, 0, char.charCodeAt(0)])));
const plain = craftRequest(jane);
const derOf = (pem: string) => Buffer.from(pem.replace(/-----.*-----|\s/g, ''), 'base64');

test.each<[string, string]>([
  ['a constructed UTF8String', crafted(named(OID.organization, element(0x2c, text(MASTERS))))],
  [
    'a constructed PrintableString',
    crafted(named(OID.organization, element(0x33, text(MASTERS, STRING.printable)))),
  ],
  ['an object id that is not minimal', crafted(named('5504800a', text(MASTERS)))],
  ['a UniversalString', crafted(named(OID.organization, element(STRING.universal, wide)))],
  [
    'a second block after one whose labels differ',
    pemOf(derOf(plain.pem), 'CERTIFICATE REQUEST', 'CERTIFICATE') +
      crafted(named(OID.organization, text(MASTERS))),
  ],
  ['a second block', plain.pem + crafted(named(OID.organization, text(MASTERS)))],
])('system:masters in %s is never signed, also not when approved', async (_, pem) => {
  const signerName = 'kubernetes.io/kube-apiserver-client';
  const create = world.client.of(CERTIFICATE_SIGNING_REQUESTS).create({
    metadata: { name: 'hidden' },
    spec: { request: Buffer.from(pem).toString('base64'), signerName, usages: ['client auth'] },
  });
  await expect(create).rejects.toThrow(/unable to parse csr|PEM block type must be CERTIFICATE REQUEST/);
});

function crafted(name: Uint8Array): string {
  return craftRequest(jane, name).pem;
}

test('a serving certificate has the names that were asked for', async () => {
  await ask(BOOTSTRAPPER, {
    name: 'serving-2',
    subject: 'O=system:nodes, CN=system:node:n4',
    hosts: ['n4.local'],
    signerName: 'kubernetes.io/kubelet-serving',
    usages: ['digital signature', 'server auth'],
  });
  await approve('serving-2');
  const certificate = new X509Certificate(await issued('serving-2'));
  expect(certificate.subjectAltName).toBe('DNS:n4.local');
  expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  expect(certificate.verify(new X509Certificate(world.api.pki.ca).publicKey)).toBe(true);
}, 60_000);

test('cluster-info is signed by the tokens that may, until they expire and are taken away', async () => {
  const { client } = world;
  for (const name of ['kube-system', 'kube-public'])
    await client
      .of(NAMESPACES)
      .create({ metadata: { name } })
      .catch((error: unknown) => {
        if (!ApiError.is(error, 'AlreadyExists')) throw error;
      });
  const place = { name: 'cluster-info', namespace: 'kube-public' };
  await client.of(CONFIG_MAPS).create({ metadata: place, data: { kubeconfig: 'apiVersion: v1' } });
  const token = (id: string, more: Record<string, string>) =>
    client.of(SECRETS).create({
      metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
      type: 'bootstrap.kubernetes.io/token',
      stringData: { 'token-id': id, 'token-secret': '0123456789abcdef', ...more },
    });
  await token('aaaaaa', { 'usage-bootstrap-signing': 'true' });
  await token('bbbbbb', { 'usage-bootstrap-authentication': 'true' });
  await token('cccccc', {
    'usage-bootstrap-signing': 'true',
    expiration: new Date(Date.now() + 3_000).toISOString().replace(/\.\d+/, ''),
  });
  const signed = (id: string) => {
    const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: id })).toString('base64url');
    const body = Buffer.from('apiVersion: v1').toString('base64url');
    const mac = createHmac('sha256', '0123456789abcdef').update(`${header}.${body}`).digest('base64url');
    return `${header}..${mac}`;
  };
  await until(async () => {
    const { data } = await client.of(CONFIG_MAPS).get(place);
    expect(data).toEqual({ kubeconfig: 'apiVersion: v1', 'jws-kubeconfig-aaaaaa': signed('aaaaaa') });
    const { items } = await client.of(SECRETS).list({ namespace: 'kube-system' });
    expect(
      items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('bootstrap-')),
    ).toEqual(['bootstrap-token-aaaaaa', 'bootstrap-token-bbbbbb']);
  });
}, 60_000);
