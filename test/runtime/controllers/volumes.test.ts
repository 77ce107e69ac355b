// Claims and volumes through the real apiserver: bound, provisioned where the pod goes, protected, reclaimed.
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  NAMESPACES,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  PODS,
  STORAGE_CLASSES,
} from '../../../src/api/resources.js';
import { ApiError } from '../../../src/api/status.js';
import { VOLUME_DIR_ANNOTATION } from '../../../src/api/volumeDir.js';
import { until } from '../../support/until.js';
import { openWorld, type World } from './support/world.js';

let world: World;
beforeAll(async () => {
  world = await openWorld(['n0']);
  await world.client
    .of(NAMESPACES)
    .create({ metadata: { name: 'kube-system' } })
    .catch((error: unknown) => {
      if (!ApiError.is(error, 'AlreadyExists')) throw error;
    });
});
afterAll(() => world.close());

const named = (name: string) => ({ name, namespace: 'default' });
const claimSpec = (storage: string, storageClassName: string) => ({
  accessModes: ['ReadWriteOnce'],
  storageClassName,
  resources: { requests: { storage } },
});
const volume = (name: string, storage: string) => ({
  metadata: { name },
  spec: {
    capacity: { storage },
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'manual',
    persistentVolumeReclaimPolicy: 'Retain',
    hostPath: { path: `/mnt/${name}` },
  },
});

test('gives a claim the smallest volume that fits, and keeps it after the claim', async () => {
  const { client } = world;
  for (const [name, storage] of [
    ['large', '10Gi'],
    ['small', '1Gi'],
    ['fitting', '3Gi'],
  ] as const)
    await client.of(PERSISTENT_VOLUMES).create(volume(name, storage));
  await until(async () => {
    const { items } = await client.of(PERSISTENT_VOLUMES).list();
    expect(items.map(({ status }) => status.phase)).toEqual(['Available', 'Available', 'Available']);
  });
  const claims = client.of(PERSISTENT_VOLUME_CLAIMS);
  await claims.create({ metadata: named('data'), spec: claimSpec('2Gi', 'manual') });
  await until(async () => {
    const { spec, status } = await claims.get(named('data'));
    expect([spec.volumeName, status.phase, status.capacity?.['storage']]).toEqual([
      'fitting',
      'Bound',
      '3Gi',
    ]);
  });
  await claims.delete(named('data'));
  await until(async () =>
    expect((await client.of(PERSISTENT_VOLUMES).get({ name: 'fitting' })).status.phase).toBe('Released'),
  );
});

test('makes a local volume where the pod goes, keeps it while it is used, and removes it afterwards', async () => {
  const { client } = world;
  await until(async () => void (await client.of(STORAGE_CLASSES).get({ name: 'local-path' })));
  const claims = client.of(PERSISTENT_VOLUME_CLAIMS);
  const told = { metadata: { annotations: { [VOLUME_DIR_ANNOTATION]: '/srv/other/volumes' } } };
  await client.of(NODES).patch({ name: 'n0' }, 'merge', told);
  await claims.create({ metadata: named('cache'), spec: claimSpec('1Gi', 'local-path') });
  await client.of(PODS).create({
    metadata: named('user'),
    spec: {
      containers: [{ name: 'main', image: 'i' }],
      volumes: [{ name: 'cache', persistentVolumeClaim: { claimName: 'cache' } }],
    },
  });
  await until(async () => expect((await claims.get(named('cache'))).status.phase).toBe('Pending'));
  // What the scheduler does when it has chosen the node.
  const annotations = { 'volume.kubernetes.io/selected-node': 'n0' };
  await claims.patch(named('cache'), 'merge', { metadata: { annotations } });
  await until(async () => expect((await claims.get(named('cache'))).status.phase).toBe('Bound'));
  const { volumeName = '' } = (await claims.get(named('cache'))).spec;
  expect((await client.of(PERSISTENT_VOLUMES).get({ name: volumeName })).spec.hostPath?.path).toBe(
    `/srv/other/volumes/${volumeName}`,
  );
  // The class allows more: what the claim asks for, its volume has.
  await claims.patch(named('cache'), 'merge', { spec: { resources: { requests: { storage: '3Gi' } } } });
  await until(async () =>
    expect((await claims.get(named('cache'))).status.capacity?.['storage']).toBe('3Gi'),
  );
  await world.restart();
  await claims.delete(named('cache'));
  expect((await claims.get(named('cache'))).metadata.deletionTimestamp).toBeDefined();
  await client.of(PODS).delete(named('user'));
  await until(async () => {
    const { items } = await client.of(PERSISTENT_VOLUMES).list();
    expect(items.filter(({ spec }) => spec.storageClassName === 'local-path')).toEqual([]);
  });
  expect(world.made.filter((name) => name.startsWith('remove-'))).toHaveLength(1);
});
