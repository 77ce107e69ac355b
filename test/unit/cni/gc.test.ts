// Clean-up of a network.
// Guarantees: exactly what is not valid is removed, on this network alone; one failure does not stop the rest.
import path from 'node:path';
import { expect, test } from 'vitest';
import { Cni } from '../../../src/cni/cni.js';
import { parseList } from '../../../src/cni/config.js';
import { answering, fakePlugins } from '../../support/fakePlugins.js';

const fake = fakePlugins();

const list = (more: object = {}) =>
  parseList({
    name: 'f',
    text: JSON.stringify({
      cniVersion: '1.1.0',
      name: 'net',
      plugins: [{ type: 'one' }, { type: 'two' }],
      ...more,
    }),
  });

async function withThree() {
  const result = { cniVersion: '1.1.0', ips: [{ address: '10.0.0.2/24' }] };
  fake.write('one', answering(result));
  fake.write('two', answering(result));
  const cni = new Cni({ binDirs: [fake.dir], cacheDir: path.join(fake.root, 'cache') });
  await cni.add(list(), { containerId: 'a', netns: '/a', capabilityArgs: { mac: 'm' } });
  await cni.add(list(), { containerId: 'a', netns: '/a', ifName: 'eth1' });
  await cni.add(list(), { containerId: 'b', netns: '/b' });
  await cni.add(list({ name: 'other' }), { containerId: 'c' });
  const before = fake.calls().length;
  return { cni, since: () => fake.calls().slice(before) };
}

const names = async (cni: Cni) =>
  (await cni.cache.list()).map(({ network, containerId, ifName }) => `${network} ${containerId} ${ifName}`);

test('what is not valid is deleted as it was added, then every plugin collects', async () => {
  const { cni, since } = await withThree();
  const removed = await cni.gc(list(), [{ containerId: 'a', ifName: 'eth1' }]);
  expect(removed.map(({ containerId, ifName }) => `${containerId} ${ifName}`)).toEqual(['a eth0', 'b eth0']);
  expect(
    since().map(({ plugin, command, containerId, netns }) => `${plugin} ${command} ${containerId} ${netns}`),
  ).toEqual(['two DEL a /a', 'one DEL a /a', 'two DEL b /b', 'one DEL b /b', 'one GC  ', 'two GC  ']);
  const valid = [{ containerID: 'a', ifname: 'eth1' }];
  expect(since().at(-1)?.stdin).toEqual({
    type: 'two',
    name: 'net',
    cniVersion: '1.1.0',
    'cni.dev/valid-attachments': valid,
    'cni.dev/attachments': valid,
  });
  expect(await names(cni)).toEqual(['net a eth1', 'other c eth0']);
});

test('plugins before 1.1.0 are not asked', async () => {
  const { cni, since } = await withThree();
  await cni.gc(list({ cniVersion: '1.0.0' }), []);
  expect(since().filter(({ command }) => command === 'GC')).toEqual([]);
  expect(await names(cni)).toEqual(['other c eth0']);
});

test('a list may disable it', async () => {
  const { cni, since } = await withThree();
  expect(await cni.gc(list({ disableGC: true }), [])).toEqual([]);
  expect(since()).toEqual([]);
});

test('a failure does not stop the rest, and keeps its attachment', async () => {
  const { cni, since } = await withThree();
  fake.write('two', `[ "$CNI_CONTAINERID" = a ] && exit 1; [ "$CNI_COMMAND" = GC ] && exit 2; exit 0`);
  await expect(cni.gc(list(), [])).rejects.toMatchObject({
    code: 'GC_FAILED',
    errors: [
      { command: 'DEL', plugin: 'two' },
      { command: 'DEL', plugin: 'two' },
      { command: 'GC', plugin: 'two' },
    ],
  });
  expect(await names(cni)).toEqual(['net a eth0', 'net a eth1', 'other c eth0']);
  expect(
    since()
      .filter(({ command }) => command === 'GC')
      .map(({ plugin }) => plugin),
  ).toEqual(['one', 'two']);
});

test('an ADD that is under way is waited for, and its attachment is known to be valid', async () => {
  const { cni, since } = await withThree();
  fake.write('one', `sleep 0.3; ${answering({ ips: [{ address: '10.0.0.9/24' }] })}`);
  const adding = cni.add(list(), { containerId: 'late' });
  const collecting = cni.gc(list(), async () => {
    const cached = await cni.cache.list();
    return cached.map(({ containerId, ifName }) => ({ containerId, ifName }));
  });
  expect(await collecting).toEqual([]);
  await adding;
  expect(since().at(-1)?.stdin['cni.dev/valid-attachments']).toContainEqual({
    containerID: 'late',
    ifname: 'eth0',
  });
});

test('without a cache there is nothing to delete, but plugins still collect', async () => {
  fake.write('one', 'exit 0');
  fake.write('two', 'exit 0');
  const cni = new Cni({ binDirs: [fake.dir], cacheDir: path.join(fake.root, 'none') });
  expect(await cni.gc(list(), [])).toEqual([]);
  expect(fake.order()).toEqual(['one GC', 'two GC']);
});
