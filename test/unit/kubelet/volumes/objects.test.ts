import { expect, test } from 'vitest';
import { CONFIG_MAPS } from '../../../../src/api/resources.js';
import { makePodObjects } from '../../../../src/kubelet/volumes/objects.js';
import { FakeApi } from '../../../support/fakeApi.js';

/** A clock that stands still: only the order of things can tell what is fresh. */
async function scene() {
  const client = new FakeApi();
  const maps = client.of(CONFIG_MAPS);
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c', namespace: 'n' } };
  let stored = await maps.create({ ...object, data: { color: 'red' } });
  let asked = 0;
  let isHeld = false;
  const held: (() => void)[] = [];
  client.before = (verb) => {
    if (verb === 'get') asked++;
    return verb === 'get' && isHeld ? new Promise((resolve) => held.push(resolve)) : undefined;
  };
  const objects = makePodObjects({ client, now: () => 0, keepMs: 30_000 });
  const color = async (podUid: string) =>
    (await objects.configMap({ podUid, namespace: 'n', name: 'c' }))?.data?.['color'];
  return {
    objects,
    color,
    asked: () => asked,
    release: () => held.splice(0).map((go) => go()),
    hold: (holds: boolean) => {
      isHeld = holds;
    },
    paint: async (to: string) => {
      stored = await maps.update({ ...stored, data: { color: to } });
    },
  };
}

test('a new pod sees what was written before it came, whatever others were told a moment ago', async () => {
  const { color, paint, asked } = await scene();
  expect(await color('a')).toBe('red');
  await paint('blue');
  expect(await color('b')).toBe('blue');
  expect(await color('b')).toBe('blue');
  expect(asked()).toBe(2);
});

test('a request that is under way when a pod comes is too old for it', async () => {
  const { color, paint, hold, release, asked } = await scene();
  hold(true);
  const first = color('a');
  await paint('blue');
  hold(false);
  const second = color('b');
  release();
  expect([await first, await second, asked()]).toEqual(['blue', 'blue', 2]);
});

test('the variables and volumes of one start ask once, and pods that come together share a request', async () => {
  const { color, hold, release, asked } = await scene();
  await Promise.all([color('a'), color('a')]);
  expect(asked()).toBe(1);
  hold(true);
  // Four are asked for at a time; the others wait, and their request has not begun.
  const all = ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map(color);
  expect(asked()).toBe(5);
  hold(false);
  release();
  await Promise.all(all);
  expect(asked()).toBe(6);
});

test('a pod that is forgotten and comes again is new', async () => {
  const { objects, color, paint } = await scene();
  expect(await color('a')).toBe('red');
  objects.forget('a');
  await paint('blue');
  expect(await color('a')).toBe('blue');
});
