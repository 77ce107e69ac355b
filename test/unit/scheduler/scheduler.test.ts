// The scheduler over informers that the test fills: bindings, failures, and what wakes it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { NODES, PODS } from '../../../src/api/resources.js';
import { statusError } from '../../../src/api/status.js';
import { Scheduler } from '../../../src/scheduler/scheduler.js';
import { FakeApi } from '../../support/fakeApi.js';
import { StaticInformers } from '../../support/staticInformers.js';
import { until } from '../../support/until.js';
import { makeNode, makePod, requesting } from './support.js';

let client: FakeApi;
let informers: StaticInformers;
let events: string[];
let stop: AbortController;
let running: Promise<void>;

beforeEach(() => {
  client = new FakeApi();
  informers = new StaticInformers();
  events = [];
  actions.clear();
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await running;
});
const actions = new Map<string, string | undefined>();
function start(writesInFlight = 4): void {
  running = new Scheduler({
    client,
    informers,
    log: silentLog,
    recorder: {
      event: (_, type, reason, message, details) => {
        events.push(`${type} ${reason}: ${message}`);
        actions.set(reason, details?.action);
      },
      flush: async () => {},
    },
    signal: stop.signal,
    writesInFlight,
    random: () => 0,
  }).run();
}
const see = (pod: ReturnType<typeof makePod>) => {
  client.put(PODS, pod);
  informers.of(PODS).set(pod);
};
const bindings = () =>
  client.writes
    .filter(({ verb }) => verb === 'post/binding')
    .map(({ name, body }) => `${name} -> ${(body as { target: { name: string } }).target.name}`);

describe('a waiting pod', () => {
  test('is bound, and the event says where', async () => {
    informers.of(NODES).set(makeNode('n1'));
    see(makePod('p'));
    start();
    await until(() => expect(events).toEqual(['Normal Scheduled: Successfully assigned ns/p to n1']));
    expect(actions.get('Scheduled')).toBe('Binding');
    expect(client.writes).toEqual([
      {
        verb: 'post/binding',
        resource: 'pods',
        name: 'ns/p',
        body: {
          apiVersion: 'v1',
          kind: 'Binding',
          metadata: { name: 'p', namespace: 'ns', uid: 'uid-p' },
          target: { apiVersion: 'v1', kind: 'Node', name: 'n1' },
        },
      },
    ]);
  });
  test('that fits nowhere is told so, and bound when a node comes', async () => {
    start();
    const pod = makePod('p');
    see({ ...pod, metadata: { ...pod.metadata, generation: 3 } });
    await until(() => expect(client.writes).toHaveLength(1));
    expect(events).toEqual(['Warning FailedScheduling: no nodes available to schedule pods']);
    expect(client.writes[0]).toMatchObject({
      verb: 'patch/status',
      body: {
        metadata: { uid: 'uid-p' },
        status: {
          conditions: [
            { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', observedGeneration: 3 },
          ],
        },
      },
    });
    informers.of(NODES).set(makeNode('n1'));
    await until(() => expect(bindings()).toEqual(['ns/p -> n1']));
  });
  test('waits for room, and gets it when another pod goes', async () => {
    informers.of(NODES).set(makeNode('n1', { allocatable: { cpu: '1' } }));
    see(requesting('first', { cpu: '1' }, { nodeName: 'n1' }));
    see(requesting('p', { cpu: '1' }));
    start();
    await until(() =>
      expect(events).toEqual([
        'Warning FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
      ]),
    );
    informers.of(PODS).remove('ns/first');
    await until(() => expect(bindings()).toEqual(['ns/p -> n1']));
  });
  test.each([
    ['names another scheduler', makePod('p', { schedulerName: 'other' })],
    ['is gated', makePod('p', { schedulingGates: [{ name: 'g' }] })],
    ['is bound already', makePod('p', { nodeName: 'n1' })],
    ['has ended', makePod('p', {}, { status: { phase: 'Failed' } })],
  ])('is left alone when it %s', async (_, pod) => {
    informers.of(NODES).set(makeNode('n1'));
    see(pod);
    see(makePod('last', { priority: -1 }));
    start();
    await until(() => expect(bindings()).toEqual(['ns/last -> n1']));
  });
});

test('choices see each other before any is confirmed: a node is never filled twice', async () => {
  informers.of(NODES).set(makeNode('a', { allocatable: { cpu: '3' } }));
  informers.of(NODES).set(makeNode('b', { allocatable: { cpu: '3' } }));
  for (let number = 0; number < 8; number += 1) see(requesting(`p${number}`, { cpu: '1' }));
  start(2);
  await until(() => expect(bindings()).toHaveLength(6));
  await until(() => expect(events.filter((event) => event.startsWith('Warning'))).toHaveLength(2));
  const onA = bindings().filter((binding) => binding.endsWith('a'));
  expect(onA).toHaveLength(3);
});

test('the pod of higher priority goes first', async () => {
  informers.of(NODES).set(makeNode('n1', { allocatable: { pods: '1' } }));
  see(makePod('low'));
  see(makePod('high', { priority: 1000 }));
  start();
  await until(() => expect(bindings()).toEqual(['ns/high -> n1']));
});

describe('a binding that is refused', () => {
  test('is tried again, and what it took is free meanwhile', async () => {
    let refusals = 1;
    client.before = (verb, _, name) => {
      if (verb === 'post/binding' && name === 'p' && refusals-- > 0)
        throw statusError('InternalError', 'not now');
    };
    informers.of(NODES).set(makeNode('n1', { allocatable: { pods: '1' } }));
    see(makePod('p'));
    start();
    await until(() => expect(events).toContain('Warning FailedScheduling: binding rejected: not now'));
    await until(() =>
      expect(client.writes[0]).toMatchObject({
        body: { status: { conditions: [{ reason: 'SchedulerError' }] } },
      }),
    );
    await until(() => expect(bindings()).toEqual(['ns/p -> n1']));
  });
  test('after it was done all the same keeps the room taken, though the watch has not told', async () => {
    informers.of(NODES).set(makeNode('n1', { allocatable: { cpu: '1' } }));
    client.before = (verb, _, name) => {
      if (verb !== 'post/binding' || name !== 'p') return;
      client.put(PODS, requesting('p', { cpu: '1' }, { nodeName: 'n1' }));
      throw statusError('InternalError', 'after all');
    };
    see(requesting('p', { cpu: '1' }, { priority: 1 }));
    see(requesting('next', { cpu: '1' }));
    start();
    await until(() => expect(events).toEqual([expect.stringContaining('1 Insufficient cpu')]));
    expect(bindings()).toEqual([]);
  });
  test('because the pod is gone is the end of it', async () => {
    client.before = (verb, _, name) => {
      if (verb === 'post/binding' && name === 'p') throw statusError('NotFound', 'pods "p" not found');
    };
    informers.of(NODES).set(makeNode('n1', { allocatable: { pods: '1' } }));
    see(makePod('p', { priority: 5 }));
    see(makePod('q'));
    start();
    await until(() => expect(bindings()).toEqual(['ns/q -> n1']));
    expect(events.filter((event) => event.includes('binding rejected'))).toEqual([]);
  });
});

test('a pod made anew under its name is scheduled though the old one was assumed', async () => {
  informers.of(NODES).set(makeNode('n1', { allocatable: { pods: '1' } }));
  see(makePod('p'));
  start();
  await until(() => expect(bindings()).toHaveLength(1));
  const successor = makePod('p');
  see({ ...successor, metadata: { ...successor.metadata, uid: 'uid-2' } });
  await until(() => expect(bindings()).toHaveLength(2));
});

test('a preemptor is looked at again only when its last victim is gone', async () => {
  informers.of(NODES).set(makeNode('n1', { allocatable: { cpu: '2' } }));
  for (const name of ['v1', 'v2', 'v3']) see(requesting(name, { cpu: '500m' }, { nodeName: 'n1' }));
  see(requesting('vip', { cpu: '2' }, { priority: 1000 }));
  start();
  const deletions = () => client.writes.filter(({ verb }) => verb === 'delete').map(({ name }) => name);
  await until(() => expect(deletions().sort()).toEqual(['ns/v1', 'ns/v2', 'ns/v3']));
  const tries = () => events.filter((event) => event.includes('FailedScheduling')).length;
  for (const name of ['v1', 'v2']) informers.of(PODS).remove(`ns/${name}`);
  see(makePod('bystander', { priority: -1 }));
  await until(() => expect(bindings()).toEqual(['ns/bystander -> n1']));
  informers.of(PODS).remove('ns/v3');
  await until(() => expect(bindings()).toContain('ns/vip -> n1'));
  expect(tries()).toBe(1);
});

test.each([
  ['is deleted', (vip: ReturnType<typeof makePod>) => informers.of(PODS).remove(`ns/${vip.metadata.name}`)],
  [
    'is being deleted',
    (vip: ReturnType<typeof makePod>) =>
      see({ ...vip, metadata: { ...vip.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
  ],
])('the place kept for a pod that %s is free for the next one at once', async (_, end) => {
  informers.of(NODES).set(makeNode('n1', { allocatable: { cpu: '2' } }));
  // Promised a place that it cannot take as things are.
  const wish = { priority: 1000, nodeSelector: { disk: 'fast' } };
  const vip = { ...requesting('vip', { cpu: '2' }, wish), status: { nominatedNodeName: 'n1' } };
  see(vip);
  see(requesting('p', { cpu: '2' }));
  start();
  await until(() => expect(events.filter((event) => event.includes('FailedScheduling'))).toHaveLength(2));
  expect(bindings()).toEqual([]);
  end(vip);
  await until(() => expect(bindings()).toEqual(['ns/p -> n1']));
});

test('a preemptor whose victims take their time says which node it waits for', async () => {
  informers.of(NODES).set(makeNode('n1', { allocatable: { cpu: '2' } }));
  see(requesting('victim', { cpu: '2' }, { nodeName: 'n1' }));
  see(requesting('vip', { cpu: '2' }, { priority: 1000 }));
  start();
  const reports = () =>
    client.writes.filter(({ verb, name }) => verb === 'patch/status' && name === 'ns/vip');
  await until(() => expect(reports()).toHaveLength(1));
  expect(reports()[0]?.body).toMatchObject({
    metadata: { uid: 'uid-vip' },
    status: {
      nominatedNodeName: 'n1',
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
    },
  });
  expect(events).toContain('Warning FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.');
  informers.of(PODS).remove('ns/victim');
  await until(() => expect(bindings()).toEqual(['ns/vip -> n1']));
});
