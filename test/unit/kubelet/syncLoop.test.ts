import { expect, test } from 'vitest';
import type { V1PodStatus } from '../../../src/api/gen/types.js';
import { silentLog } from '../../../src/api/log.js';
import { PodManager } from '../../../src/kubelet/podManager.js';
import type { Pod } from '../../../src/kubelet/ports.js';
import { Allocations } from '../../../src/kubelet/resize/allocations.js';
import { SyncLoop, type SyncLoopOptions } from '../../../src/kubelet/syncLoop.js';
import { container, podOf } from './support.js';

function scene({ alive = [] as readonly string[], cpu = '2' } = {}) {
  let labels = {};
  let known = {};
  const did: string[] = [];
  const statuses = new Map<string, V1PodStatus>();
  const loop = new SyncLoop({
    pods: new PodManager(),
    workers: {
      update: ({ metadata }: Pod) => did.push(`run ${metadata.uid}`),
      terminate: (uid: string, { failure }: { failure?: { reason: string; message: string } } = {}) =>
        did.push(`end ${uid} ${failure?.reason}: ${failure?.message}`),
      isFinished: () => false,
      knows: () => true,
    },
    statuses: {
      get: ({ metadata, status }: Pod) => statuses.get(metadata.uid) ?? status,
      set: ({ metadata }: Pod, status: V1PodStatus) => void statuses.set(metadata.uid, status),
    },
    allocations: new Allocations(),
    events: {
      event: ({ metadata }: Pod, { reason }: { reason: string }) => did.push(`${reason} ${metadata.uid}`),
    },
    log: silentLog,
    node: () => ({ name: 'n', labels: known, taints: [], allocatable: { cpu } }),
    now: () => 0,
    sourcesReady: () => true,
    readNode: async () => {
      did.push('read');
      known = labels;
    },
    isAlive: (uid: string) => alive.includes(uid),
  } as unknown as SyncLoopOptions);
  const add = (...pods: readonly Pod[]) => loop.take({ op: 'ADD', source: 'api', pods });
  const label = (given: object) => {
    labels = given;
  };
  const change = (pod: Pod) => loop.take({ op: 'UPDATE', source: 'api', pods: [pod] });
  const remove = (pod: Pod) => loop.take({ op: 'REMOVE', source: 'api', pods: [pod] });
  return { add, change, remove, label, did, statuses };
}

const asking = (uid: string, cpu: string, spec: object = {}) =>
  podOf(
    { containers: [container('web', { resources: { requests: { cpu } } })], ...spec },
    { uid, name: uid, generation: 3 },
  );

test('a pod that is refused is never begun, and its status says what was seen of it', () => {
  const { add, did, statuses } = scene();
  add(asking('a', '3'));
  expect(did).toEqual(['OutOfcpu a']);
  expect(statuses.get('a')).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu', observedGeneration: 3 });
});

test('one that runs already when it is refused is ended, and has failed only then', () => {
  const { add, did, statuses } = scene({ alive: ['a'] });
  add(asking('a', '3'));
  expect(did).toEqual([
    'OutOfcpu a',
    'run a',
    expect.stringMatching(/^end a OutOfcpu: Pod was rejected: Node didn't have enough resource: cpu/),
  ]);
  expect(statuses.get('a')).toBeUndefined();
});

test('a critical pod that finds no room gets it, once', () => {
  const { add, did } = scene();
  add(asking('a', '1'), asking('b', '1'));
  did.length = 0;
  const priority = 2_000_000_000;
  add(asking('critical', '1', { priority }));
  const preempted = (uid: string) => `end ${uid} Preempting: Preempted in order to admit critical pod`;
  expect(did).toEqual(['Preempting a', preempted('a'), 'run critical']);
  did.length = 0;
  // What the first one ends for belongs to the one that it ended for.
  add(asking('second', '1', { priority }));
  expect(did).toEqual(['Preempting b', preempted('b'), 'run second']);
  did.length = 0;
  add(asking('third', '1', { priority }));
  expect(did).toEqual(['OutOfcpu third']);
});

const settle = () => new Promise((resolve) => setImmediate(resolve));

test('before it refuses for labels the node is read anew', async () => {
  const { add, change, label, did, statuses } = scene();
  const nodeSelector = { color: 'red' };
  label({ color: 'red' });
  add(asking('a', '1', { nodeSelector }));
  change({
    ...asking('a', '1', { nodeSelector }),
    metadata: { ...asking('a', '1').metadata, labels: { new: '1' } },
  });
  expect(did).toEqual(['read']);
  await settle();
  expect(did).toEqual(['read', 'run a']);
  add(asking('b', '1', { nodeSelector }));
  expect(did.slice(2)).toEqual(['run b']);
  add(asking('c', '0', { nodeSelector: { color: 'blue' } }));
  await settle();
  expect(did.slice(3)).toEqual(['read', 'NodeAffinity c']);
  expect(statuses.get('c')).toMatchObject({ phase: 'Failed', reason: 'NodeAffinity' });
});

test('one that goes while the node is read is not begun', async () => {
  const { add, remove, label, did } = scene();
  label({ color: 'red' });
  const pod = asking('a', '1', { nodeSelector: { color: 'red' } });
  add(pod);
  remove(pod);
  await settle();
  expect(did.filter((one) => one.startsWith('run'))).toEqual([]);
});

test('nobody goes for a pod that is refused for something else', async () => {
  const { add, did } = scene();
  add(asking('a', '2'));
  did.length = 0;
  add(asking('critical', '1', { priority: 2_000_000_000, nodeSelector: { color: 'red' } }));
  await settle();
  expect(did).toEqual(['read', 'NodeAffinity critical']);
});
