// The rules of scheduling through the real apiserver: what is asked for in a pod is what happens to it.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { NODES, POD_DISRUPTION_BUDGETS, PODS } from '../../../src/api/resources.js';
import { cpu, Playground, until } from './support.js';

const ZONE = 'topology.kubernetes.io/zone';
let ground: Playground;
let stop: () => Promise<void>;
beforeAll(async () => {
  ground = await Playground.open();
});
afterAll(() => ground.close());
beforeEach(() => {
  stop = ground.schedule();
});
afterEach(async () => {
  await stop();
  await ground.clear();
});
const placed = (expected: Record<string, string>) =>
  until(async () => expect(await ground.placements()).toEqual(expected));
const said = (name: string, message: string) =>
  until(async () => expect(await ground.failures(name)).toContain(message));

test('a taint keeps pods away until it goes, except those that tolerate it', async () => {
  await ground.node('a', { spec: { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] } });
  await ground.pod('plain');
  await ground.pod('tolerant', { tolerations: [{ key: 'k', operator: 'Exists' }] });
  await placed({ tolerant: 'a' });
  await said(
    'plain',
    '0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
  );
  await ground.api.client.of(NODES).patch({ name: 'a' }, 'merge', { spec: { taints: null } });
  await placed({ tolerant: 'a', plain: 'a' });
});

test('affinity brings together, anti-affinity keeps apart', async () => {
  await ground.node('a', { labels: { [ZONE]: 'one' } });
  await ground.node('b', { labels: { [ZONE]: 'two' } });
  const term = (app: string) => [{ topologyKey: ZONE, labelSelector: { matchLabels: { app } } }];
  await ground.pod('web', { nodeSelector: { [ZONE]: 'two' } }, { app: 'web' });
  await ground.pod('near', {
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term('web') } },
  });
  await ground.pod('far', {
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: term('web') } },
  });
  await placed({ web: 'b', near: 'b', far: 'a' });
});

test('a pod that waits for company is placed when it comes', async () => {
  await ground.node('a');
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'web' } } };
  await ground.pod('near', {
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  });
  await until(async () => expect(await ground.failures('near')).toHaveLength(1));
  await ground.pod('web', {}, { app: 'web' });
  await placed({ web: 'a', near: 'a' });
});

test('spread pods stay within the skew', async () => {
  for (const [name, zone] of [
    ['a', 'one'],
    ['b', 'one'],
    ['c', 'two'],
    ['d', 'three'],
  ] as const)
    await ground.node(name, { labels: { [ZONE]: zone } });
  const spread = [
    {
      maxSkew: 1,
      topologyKey: ZONE,
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'p' } },
    },
  ];
  for (let number = 0; number < 9; number += 1)
    await ground.pod(`p${number}`, { topologySpreadConstraints: spread }, { app: 'p' });
  await until(async () => expect(Object.keys(await ground.placements())).toHaveLength(9));
  const zones = Object.values(await ground.placements()).map((name) => (name === 'b' ? 'a' : name));
  expect(['a', 'c', 'd'].map((zone) => zones.filter((one) => one === zone).length)).toEqual([3, 3, 3]);
});

test('one host port is given once a node', async () => {
  await ground.node('a');
  await ground.node('b');
  const containers = [{ name: 'c', image: 'busybox', ports: [{ containerPort: 80, hostPort: 8080 }] }];
  for (const name of ['x', 'y', 'z']) await ground.pod(name, { containers });
  await until(async () => expect(Object.values(await ground.placements()).sort()).toEqual(['a', 'b']));
});

test('a gated pod waits until the last gate is taken away', async () => {
  await ground.node('a');
  await ground.pod('gated', { schedulingGates: [{ name: 'example.com/wait' }] });
  await ground.pod('plain');
  await placed({ plain: 'a' });
  await ground.api.client
    .of(PODS)
    .patch({ name: 'gated', namespace: 'default' }, 'merge', { spec: { schedulingGates: [] } });
  await placed({ plain: 'a', gated: 'a' });
});

test('a pod that matters more displaces others, but first those that no budget protects', async () => {
  await ground.node('a', { allocatable: { cpu: '1' } });
  await ground.node('b', { allocatable: { cpu: '1' } });
  await ground.pod('kept', { ...cpu('1'), nodeSelector: { 'kubernetes.io/hostname': 'a' } }, { app: 'kept' });
  await ground.pod('loose', { ...cpu('1'), nodeSelector: { 'kubernetes.io/hostname': 'b' } });
  await placed({ kept: 'a', loose: 'b' });
  const budgets = ground.api.client.of(POD_DISRUPTION_BUDGETS);
  await budgets.create({
    metadata: { name: 'kept', namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'kept' } } },
  });
  await ground.pod('vip', { ...cpu('1'), priorityClassName: 'system-cluster-critical' });
  await placed({ kept: 'a', vip: 'b' });
  await budgets.delete({ name: 'kept', namespace: 'default' });
});

test('a pod that is bound waits for no place any more', async () => {
  await ground.pod('p');
  const status = { nominatedNodeName: 'elsewhere' };
  const name = { name: 'p', namespace: 'default' };
  await ground.api.client.of(PODS).patch(name, 'merge', { status }, { subresource: 'status' });
  await ground.node('a');
  await placed({ p: 'a' });
  expect((await ground.get('p')).status.nominatedNodeName).toBeUndefined();
});

test('a node that vanishes takes nothing, and one that comes takes what waits', async () => {
  await ground.node('a', { allocatable: { cpu: '1' } });
  await ground.pod('big', cpu('3'));
  await said(
    'big',
    '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.',
  );
  await ground.api.client.of(NODES).delete({ name: 'a' });
  await ground.node('b', { allocatable: { cpu: '4' } });
  await placed({ big: 'b' });
});
