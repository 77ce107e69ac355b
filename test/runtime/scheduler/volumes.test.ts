// Volumes that wait for their first pod, through the real apiserver and the real binder: chosen, or made, with the node.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES } from '../../../src/api/resources.js';
import { startControllers } from '../../support/runningComponents.js';
import { Playground, until } from './support.js';

const HOSTNAME = 'kubernetes.io/hostname';
let ground: Playground;
let endControllers: () => Promise<void>;
let stop: () => Promise<void>;
beforeAll(async () => {
  ground = await Playground.open();
  const client = ground.api.as({ name: 'system:kube-controller-manager', groups: ['system:authenticated'] });
  endControllers = startControllers(client, {
    rootCa: 'PEM',
    enabled: ['persistentvolume-binder-controller'],
    clientFor: (account) => ground.api.asAccount(account),
    localPath: { directory: '/var/lib/volumes', helperImage: 'busybox' },
  });
  for (const [name, volumeBindingMode] of [
    ['late', 'WaitForFirstConsumer'],
    ['early', 'Immediate'],
  ] as const)
    await ground.api.client.of(STORAGE_CLASSES).create({
      metadata: { name },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode,
    });
});
afterAll(async () => {
  await endControllers();
  await ground.close();
});
beforeEach(async () => {
  stop = ground.schedule();
  for (const name of ['a', 'b']) await ground.node(name);
});
afterEach(async () => {
  await stop();
  const { client } = ground.api;
  await ground.clear();
  for (const { metadata } of (await client.of(PERSISTENT_VOLUME_CLAIMS).list()).items) {
    const at = { name: metadata.name, namespace: metadata.namespace };
    await client.of(PERSISTENT_VOLUME_CLAIMS).patch(at, 'merge', { metadata: { finalizers: null } });
    await client.of(PERSISTENT_VOLUME_CLAIMS).delete(at);
  }
  for (const { metadata } of (await client.of(PERSISTENT_VOLUMES).list()).items) {
    const at = { name: metadata.name };
    await client.of(PERSISTENT_VOLUMES).patch(at, 'merge', { metadata: { finalizers: null } });
    await client.of(PERSISTENT_VOLUMES).delete(at);
  }
});

/** A disk of one node. */
async function disk(name: string, node: string, { storage = '1Gi', className = 'late' } = {}): Promise<void> {
  const term = { matchExpressions: [{ key: HOSTNAME, operator: 'In', values: [node] }] };
  await ground.api.client.of(PERSISTENT_VOLUMES).create({
    metadata: { name },
    spec: {
      capacity: { storage },
      accessModes: ['ReadWriteOnce'],
      storageClassName: className,
      local: { path: `/mnt/${name}` },
      nodeAffinity: { required: { nodeSelectorTerms: [term] } },
    },
  });
}

async function claim(name: string, storage = '1Gi', storageClassName = 'late'): Promise<void> {
  await ground.api.client.of(PERSISTENT_VOLUME_CLAIMS).create({
    metadata: { name, namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage } } },
  });
}
const using = (...claims: string[]) => ({
  volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
});
const volumeOf = async (name: string) => {
  const { spec, status } = await ground.api.client
    .of(PERSISTENT_VOLUME_CLAIMS)
    .get({ name, namespace: 'default' });
  return [status.phase, spec.volumeName];
};
const placed = (expected: Record<string, string>) =>
  until(async () => expect(await ground.placements()).toEqual(expected));

test('a pod goes where a disk is big enough, and gets it', async () => {
  await disk('small', 'a');
  await disk('large', 'b', { storage: '5Gi' });
  await claim('data', '3Gi');
  // Nobody uses it yet, so nothing is decided.
  await ground.pod('other');
  await until(async () => expect(Object.keys(await ground.placements())).toEqual(['other']));
  expect((await volumeOf('data'))[0]).toBe('Pending');
  await ground.pod('user', using('data'));
  await until(async () => expect(await ground.placements()).toMatchObject({ user: 'b' }));
  expect(await volumeOf('data')).toEqual(['Bound', 'large']);
});

test('two claims of one pod are found on one node', async () => {
  await disk('a1', 'a');
  await disk('b1', 'b');
  await disk('b2', 'b');
  await claim('first');
  await claim('second');
  await ground.pod('user', using('first', 'second'));
  await placed({ user: 'b' });
  const volumes = [(await volumeOf('first'))[1], (await volumeOf('second'))[1]];
  expect(volumes.sort()).toEqual(['b1', 'b2']);
});

test('one disk is given once: who comes second waits until there is another', async () => {
  await disk('only', 'a');
  for (const name of ['x', 'y']) {
    await claim(name);
    await ground.pod(name, using(name));
  }
  await until(async () => expect(Object.values(await ground.placements())).toEqual(['a']));
  const [winner] = Object.keys(await ground.placements());
  const loser = winner === 'x' ? 'y' : 'x';
  await until(async () =>
    expect((await ground.failures(loser)).join()).toContain(
      "2 node(s) didn't find available persistent volumes to bind",
    ),
  );
  await disk('another', 'b');
  await until(async () => expect(await ground.placements()).toMatchObject({ [loser]: 'b' }));
  expect(await volumeOf(loser)).toEqual(['Bound', 'another']);
});

test('a pod follows a claim that was bound before it came', async () => {
  await disk('there', 'b', { className: 'early' });
  await claim('data', '1Gi', 'early');
  await until(async () => expect(await volumeOf('data')).toEqual(['Bound', 'there']));
  for (const name of ['u1', 'u2', 'u3']) await ground.pod(name, using('data'));
  await placed({ u1: 'b', u2: 'b', u3: 'b' });
  await ground.pod('stuck', { ...using('data'), nodeSelector: { [HOSTNAME]: 'a' } });
  await until(async () =>
    expect((await ground.failures('stuck')).join()).toContain(
      "1 node(s) didn't match PersistentVolume's node affinity",
    ),
  );
});

test('a volume is made for the node that the scheduler chose', async () => {
  await until(async () => void (await ground.api.client.of(STORAGE_CLASSES).get({ name: 'local-path' })));
  await claim('made', '1Gi', 'local-path');
  await ground.pod('user', { ...using('made'), nodeSelector: { [HOSTNAME]: 'b' } });
  await placed({ user: 'b' });
  const [phase, volume = ''] = await volumeOf('made');
  expect(phase).toBe('Bound');
  const { spec } = await ground.api.client.of(PERSISTENT_VOLUMES).get({ name: volume });
  expect(JSON.stringify(spec.nodeAffinity)).toContain('"b"');
});
