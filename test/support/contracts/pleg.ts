// What PlegPort promises, as tests that the fake and the native generator both pass.
// Guarantees: lists are encoded by the proto loader from the CRI's own definitions, not by hand.
import path from 'node:path';
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader';
import { beforeEach, expect, test } from 'vitest';
import type { PlegPort } from '../../../src/kernel/pleg/port.js';

const proto = loadSync(path.resolve('src/cri/proto/cri.proto'));
const encode = (type: string, value: object): Buffer =>
  (proto[`runtime.v1.${type}`] as unknown as MessageTypeDefinition<object, object>).serialize(value);

interface Sandbox {
  readonly id: string;
  readonly uid: string;
  readonly state?: 'SANDBOX_READY' | 'SANDBOX_NOTREADY';
}
interface Container {
  readonly id: string;
  readonly sandbox: string;
  readonly state?: 'CONTAINER_CREATED' | 'CONTAINER_RUNNING' | 'CONTAINER_EXITED' | 'CONTAINER_UNKNOWN';
  readonly labels?: Readonly<Record<string, string>>;
}

/** The bytes of both lists, with the fields that a real runtime fills besides those that count. */
const lists = (sandboxes: readonly Sandbox[], containers: readonly Container[] = []) =>
  [
    encode('ListPodSandboxResponse', {
      items: sandboxes.map(({ id, uid, state = 'SANDBOX_READY' }) => ({
        id,
        metadata: { name: `pod-${uid}`, uid, namespace: 'default', attempt: 3 },
        state,
        createdAt: '1700000000000000000',
        labels: { app: 'web', 'io.kubernetes.pod.uid': uid },
        annotations: { note: 'x'.repeat(300) },
      })),
    }),
    encode('ListContainersResponse', {
      containers: containers.map(({ id, sandbox, state = 'CONTAINER_RUNNING', labels = {} }) => ({
        id,
        podSandboxId: sandbox,
        metadata: { name: 'main', attempt: 1 },
        image: { image: 'busybox' },
        imageRef: 'sha256:1',
        state,
        createdAt: '1700000000000000000',
        labels: { 'io.kubernetes.container.name': 'main', ...labels },
      })),
    }),
  ] as const;

export function plegContract(open: () => PlegPort): void {
  let pleg: PlegPort;
  beforeEach(() => {
    pleg = open();
  });
  const told = async (...[sandboxes, containers]: Parameters<typeof lists>) => {
    const { changed, commit } = await pleg.relist(...lists(sandboxes, containers));
    commit();
    return changed.map(({ podUid, events }) => [podUid, ...events.map(({ type, id }) => `${type} ${id}`)]);
  };

  test('an empty node has no pods and no events', async () => {
    expect(await told([])).toEqual([]);
    expect(pleg.pods()).toEqual([]);
  });

  test('each state that a container passes through is told once', async () => {
    const sandbox = { id: 's', uid: 'u' };
    expect(await told([sandbox])).toEqual([['u', 'ContainerStarted s']]);
    const states = [
      ['CONTAINER_CREATED', 'ContainerChanged c'],
      ['CONTAINER_RUNNING', 'ContainerStarted c'],
      ['CONTAINER_UNKNOWN', 'ContainerChanged c'],
      ['CONTAINER_EXITED', 'ContainerDied c'],
    ] as const;
    for (const [state, event] of states) {
      expect(await told([sandbox], [{ id: 'c', sandbox: 's', state }])).toEqual([['u', event]]);
      expect(await told([sandbox], [{ id: 'c', sandbox: 's', state }])).toEqual([]);
    }
    expect(await told([sandbox])).toEqual([['u', 'ContainerRemoved c']]);
  });

  test('a sandbox is told as a container is', async () => {
    await told([{ id: 's', uid: 'u' }]);
    expect(await told([{ id: 's', uid: 'u', state: 'SANDBOX_NOTREADY' }])).toEqual([
      ['u', 'ContainerDied s'],
    ]);
    expect(await told([])).toEqual([['u', 'ContainerRemoved s']]);
    expect(pleg.pods()).toEqual([]);
  });

  test('what vanished while it ran has died and is removed', async () => {
    await told([{ id: 's', uid: 'u' }], [{ id: 'c', sandbox: 's' }]);
    expect(await told([])).toEqual([
      ['u', 'ContainerDied c', 'ContainerRemoved c', 'ContainerDied s', 'ContainerRemoved s'],
    ]);
  });

  test('of many pods only those that changed are told', async () => {
    const many = Array.from({ length: 200 }, (_, i) => ({ id: `s${i}`, uid: `u${i}` }));
    const running = many.map(({ id }, i) => ({ id: `c${i}`, sandbox: id }));
    expect(await told(many, running)).toHaveLength(200);
    expect(pleg.pods()).toHaveLength(200);
    const changed = running.map((one) =>
      one.id === 'c77' ? { ...one, state: 'CONTAINER_EXITED' as const } : one,
    );
    expect(await told(many, changed)).toEqual([['u77', 'ContainerDied c77']]);
  });

  test('events that were not delivered are found again', async () => {
    const bytes = lists([{ id: 's', uid: 'u' }]);
    const first = await pleg.relist(...bytes);
    expect(pleg.pods()).toEqual([]);
    const second = await pleg.relist(...bytes);
    expect(second.changed).toEqual(first.changed);
    first.commit(); // replaced by the second
    expect(pleg.pods()).toEqual([]);
    second.commit();
    second.commit();
    expect(pleg.pods()).toEqual(['u']);
    expect((await pleg.relist(...bytes)).changed).toEqual([]);
  });

  test('a container whose sandbox is gone from the list belongs to the pod of its label', async () => {
    const labels = { 'io.kubernetes.pod.uid': 'u' };
    expect(
      await told(
        [],
        [
          { id: 'c', sandbox: 's', labels },
          { id: 'd', sandbox: 's' },
        ],
      ),
    ).toEqual([['u', 'ContainerStarted c']]);
  });

  test('bytes that are no list are refused and leave the record alone', async () => {
    const [sandboxes, containers] = lists([{ id: 's', uid: 'u' }], [{ id: 'c', sandbox: 's' }]);
    (await pleg.relist(sandboxes, containers)).commit();
    const cut = sandboxes.subarray(0, sandboxes.length - 1);
    const wrong = [cut, Buffer.from([3]), Buffer.from([8, 1]), Buffer.alloc(11, 255), Buffer.from([10, 0])];
    for (const bytes of wrong)
      await expect(pleg.relist(bytes, containers)).rejects.toMatchObject({
        name: 'KernelError',
        code: 'EBADMSG',
      });
    expect((await pleg.relist(sandboxes, containers)).changed).toEqual([]);
  });
}
