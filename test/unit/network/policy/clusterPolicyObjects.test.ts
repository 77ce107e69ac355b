// Cluster-wide policies are followed while the server has their definition: found when it appears, gone when it goes.
import { afterEach, expect, test } from 'vitest';
import { type LogFields, silentLog } from '../../../../src/api/log.js';
import { pause } from '../../../../src/base/deadline.js';
import { openHttps } from '../../../../src/client/httpTransport.js';
import { openInformers } from '../../../../src/client/sharedInformers.js';
import type { Transport } from '../../../../src/client/transport.js';
import { openClient } from '../../../../src/client/typedClient.js';
import { ClusterPolicyObjects } from '../../../../src/network/policy/clusterPolicyObjects.js';
import { judge, verdictText } from '../../../../src/network/policy/judge.js';
import { PolicyPlanner } from '../../../../src/network/policy/planner.js';
import { PolicyObjects } from '../../../../src/network/policy/policyObjects.js';
import {
  type CustomServer,
  DEFINITIONS,
  definition,
  OPEN,
  startCustomServer,
  untilTrue,
} from '../../../support/customResources.js';
import { podObject } from '../../../support/policy/worldPlanner.js';

const GROUP = 'policy.networking.k8s.io';
const PLURAL = 'clusternetworkpolicies';
const POLICIES = `/apis/${GROUP}/v1alpha2/${PLURAL}`;
const APPROVED = { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/network-policy-api' };
const made = definition({
  plural: PLURAL,
  kind: 'ClusterNetworkPolicy',
  group: GROUP,
  scope: 'Cluster',
  schema: { type: 'object', properties: { spec: OPEN } },
  version: { name: 'v1alpha2' },
});
const DEFINITION = { ...made, metadata: { ...made.metadata, annotations: APPROVED } };

const policy = (name: string, action: string, priority: number, tier = 'Admin') => ({
  apiVersion: `${GROUP}/v1alpha2`,
  kind: 'ClusterNetworkPolicy',
  metadata: { name },
  spec: {
    tier,
    priority,
    subject: { namespaces: {} },
    ingress: [
      { action, from: [{ namespaces: { matchLabels: { 'kubernetes.io/metadata.name': 'default' } } }] },
    ],
  },
});

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Tells of each request's path before it is sent. */
const watched = (transport: Transport, paths: string[]): Transport => ({
  ...transport,
  request(request) {
    paths.push(request.path.split('?', 1)[0] ?? '');
    return transport.request(request);
  },
});

function follow(server: CustomServer) {
  const paths: string[] = [];
  const warnings: LogFields[] = [];
  const said: string[] = [];
  // It asks again soon: how long it waits is not what these tests are about.
  const informers = openInformers(openClient(watched(server.api.transport, paths)), {
    pause: (_, signal) => pause(5, signal),
    log: { ...silentLog, warn: (text: string) => void said.push(text) },
  });
  const planner = new PolicyPlanner();
  const log = { ...silentLog, warn: (_: string, fields?: LogFields) => void warnings.push(fields ?? {}) };
  const objects = new PolicyObjects({ informers, nodeName: 'here', planner, log, onChange: () => {} });
  closers.push(
    () => informers.stop(),
    () => objects.stop(),
  );
  for (const [i, name] of ['one', 'two'].entries()) {
    const ips = [`10.244.0.${i + 1}`];
    objects.attach(podObject({ namespace: 'default', name, labels: {}, ips, ports: [] }, true), ips);
  }
  const verdict = () =>
    verdictText(
      judge(planner, { source: '10.244.0.1', destination: '10.244.0.2', protocol: 'tcp', port: 80 }),
    );
  const becomes = (text: string) => untilTrue(`the connection is ${text}`, async () => verdict() === text);
  return { objects, paths, said, warnings, verdict, becomes };
}

async function startServer(): Promise<CustomServer> {
  const server = await startCustomServer();
  closers.push(() => server.close());
  return server;
}

async function define({ send }: CustomServer): Promise<void> {
  expect((await send('POST', DEFINITIONS, DEFINITION)).status).toBe(201);
  await untilTrue('the kind is served', async () => (await send('GET', POLICIES)).status === 200);
}

const OPEN_TEXT = 'allowed: no policy restricts either side';

test('a definition that appears is found, its policies are enforced, and go with it', async () => {
  const server = await startServer();
  const { objects, paths, warnings, verdict, becomes } = follow(server);
  await objects.synced();
  expect(verdict()).toBe(OPEN_TEXT);
  // One list and one watch, of the one definition; nobody asks for what does not exist.
  expect(paths.filter((path) => path === DEFINITIONS).length).toBeLessThanOrEqual(2);
  await define(server);
  expect((await server.send('POST', POLICIES, policy('deny', 'Deny', 5))).status).toBe(201);
  await becomes('refused by ingress rule 0 of deny');
  await server.send('POST', POLICIES, policy('first', 'Accept', 4));
  await becomes('allowed by ingress rule 0 of first');
  await server.send('PUT', `${POLICIES}/first`, {
    ...(await server.send('GET', `${POLICIES}/first`)).body,
    spec: policy('first', 'Accept', 4, 'Baseline').spec,
  });
  await becomes('refused by ingress rule 0 of deny');
  await server.send('DELETE', `${POLICIES}/deny`);
  await becomes('allowed by ingress rule 0 of first');
  await server.send('POST', POLICIES, policy('odd', 'Log', 0));
  await becomes('refused by ingress rule 0 of odd');
  expect(warnings).toContainEqual({
    policy: 'odd',
    reason: 'odd, ingress rule 0: action Log is not known, so the rule refuses all ingress',
  });
  expect((await server.send('DELETE', `${DEFINITIONS}/${made.metadata.name}`)).status).toBe(200);
  await becomes(OPEN_TEXT);
});

test('a definition that was removed is told of once, however often it is asked for, and followed when it returns', async () => {
  const server = await startServer();
  await define(server);
  const { objects, paths, said, becomes } = follow(server);
  await objects.synced();
  const asked = () => paths.filter((path) => path === POLICIES).length;
  for (let times = 1; times <= 2; times++) {
    await server.send('POST', POLICIES, policy('deny', 'Deny', 5));
    await becomes('refused by ingress rule 0 of deny');
    await server.send('DELETE', `${DEFINITIONS}/${made.metadata.name}`);
    await becomes(OPEN_TEXT);
    const before = asked();
    await untilTrue('it was asked for again', async () => asked() > before + 5);
    expect(said).toEqual(Array(times).fill('the server does not serve the resource; waiting until it does'));
    if (times === 1) await define(server);
  }
});

test('policies that are there already are known once everything is', async () => {
  const server = await startServer();
  await define(server);
  await server.send('POST', POLICIES, policy('deny', 'Deny', 5));
  const { objects, paths, verdict } = follow(server);
  await objects.synced();
  expect(verdict()).toBe('refused by ingress rule 0 of deny');
  expect(paths).toContain(POLICIES);
});

test('without the definition nobody asks for its objects', async () => {
  const server = await startServer();
  const { objects, paths } = follow(server);
  await objects.synced();
  await server.send('POST', DEFINITIONS, definition());
  expect(paths).toContain(DEFINITIONS);
  expect(paths).not.toContain(POLICIES);
});

test('a user who may not read definitions is told so, and is not kept waiting for ever', async () => {
  const server = await startCustomServer({
    allow: ({ resource }) => resource !== 'customresourcedefinitions',
  });
  closers.push(() => server.close());
  const { url, pki } = server.api;
  const transport = openHttps({ server: url, ca: pki.ca, ...(await pki.client('somebody')) });
  const informers = openInformers(openClient(transport));
  const warnings: string[] = [];
  const objects = new ClusterPolicyObjects({
    informers,
    log: { ...silentLog, warn: (text: string) => void warnings.push(text) },
    patienceMs: 20,
    set: () => {},
    remove: () => {},
  });
  closers.push(
    () => transport.close(),
    () => informers.stop(),
    () => objects.stop(),
  );
  await objects.synced();
  expect(warnings).toEqual(['cluster-wide policies cannot be read; the others are enforced without them']);
});
