import { afterEach, beforeEach, expect, test } from 'vitest';
import type { V1Node } from '../../../../src/api/gen/types.js';
import { silentLog } from '../../../../src/api/log.js';
import type { Stored } from '../../../../src/api/object.js';
import { NODES } from '../../../../src/api/resources.js';
import { completeConfig } from '../../../../src/kubelet/config.js';
import { NodeManager } from '../../../../src/kubelet/node/nodeManager.js';
import { FakeApi } from '../../../support/fakeApi.js';
import { until } from '../../../support/until.js';

const node = (ready: string): V1Node => ({
  metadata: { name: 'one' },
  status: { conditions: [{ type: 'Ready', status: ready }] },
});
const told: string[] = [];
beforeEach(() => {
  told.length = 0;
});
let manager: NodeManager | undefined;
afterEach(() => manager?.stop());

function start(client: FakeApi, nodeStatusUpdateFrequencyMs = 10): void {
  manager = new NodeManager({
    client,
    config: completeConfig({ nodeName: 'one', nodeStatusUpdateFrequencyMs, nodeLeaseDurationSeconds: 1 }),
    log: silentLog,
    now: () => 0,
    events: { event: (_, event) => told.push(event.reason) },
    describe: async () => node('True'),
  });
  manager.start();
}

const statuses = ({ writes }: FakeApi) => writes.filter(({ verb }) => verb === 'patch/status').length;

test('says that the node is Ready again after a controller has said that nobody knows', async () => {
  const client = new FakeApi();
  start(client);
  await until(() => expect(statuses(client)).toBe(1));
  client.put(NODES, node('Unknown'));
  await until(() => expect(statuses(client)).toBeGreaterThan(1));
  await until(() => expect(told.slice(0, 3)).toEqual(['Starting', 'NodeReady', 'NodeReady']));
});

test('tells when somebody closes the node for new pods, and nothing while it stays as it is', async () => {
  const client = new FakeApi();
  start(client);
  await until(() => expect(statuses(client)).toBe(1));
  client.put(NODES, { ...node('True'), spec: { unschedulable: true } });
  await until(() => expect(told).toContain('NodeNotSchedulable'));
  client.put(NODES, node('True'));
  await until(() => expect(told).toEqual(['Starting', 'NodeReady', 'NodeNotSchedulable', 'NodeSchedulable']));
});

test('gives out what others have added to the resources', async () => {
  const client = new FakeApi();
  start(client);
  await until(() => expect(statuses(client)).toBe(1));
  const capacity = { 'example.com/license': '5' };
  client.put(NODES, { ...node('True'), status: { ...node('True').status, capacity } });
  const last = () => client.writes.at(-1)?.body;
  await until(() => expect(last()).toMatchObject({ status: { capacity, allocatable: capacity } }));
});

test('registers a node again that somebody has deleted', async () => {
  const client = new FakeApi();
  const created = () =>
    client.writes.filter(({ verb, resource }) => verb === 'create' && resource === 'nodes');
  start(client);
  await until(() => expect(created()).toHaveLength(1));
  await client.of(NODES).delete({ name: 'one' });
  await until(() => expect(created()).toHaveLength(2));
});

test('reads the node anew when somebody must know, also while another reading is under way', async () => {
  const client = new FakeApi();
  start(client, 60_000);
  await until(() => expect(statuses(client)).toBe(1));
  const labels = { color: 'red' };
  const early = manager?.readNow();
  client.put(NODES, { ...node('True'), metadata: { name: 'one', labels } });
  await manager?.readNow();
  expect(manager?.current()?.metadata.labels).toEqual(labels);
  await early;
});

test('takes what a watch tells, unless it knows something newer', async () => {
  const client = new FakeApi();
  start(client, 60_000);
  await until(() => expect(statuses(client)).toBe(1));
  const current = manager?.current() as Stored<V1Node>;
  const labelled = (color: string, resourceVersion: string) => ({
    ...current,
    metadata: { ...current.metadata, resourceVersion, labels: { color } },
    spec: { unschedulable: true },
  });
  manager?.heard(labelled('red', '1000000'));
  manager?.heard(labelled('blue', '999999'));
  expect(manager?.current()?.metadata.labels).toEqual({ color: 'red' });
  expect(told).toContain('NodeNotSchedulable');
});

test('the lease names its node from the first renewal on', async () => {
  const client = new FakeApi();
  client.put(NODES, { ...node('True'), metadata: { name: 'one', uid: 'n1' } });
  start(client);
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'one', uid: 'n1' }];
  await until(() =>
    expect(
      client.writes.filter(({ resource }) => resource === 'leases').map(({ body }) => body),
    ).toContainEqual(expect.objectContaining({ metadata: expect.objectContaining({ ownerReferences }) })),
  );
});
