// Where the network of a pod is, by what a runtime tells of its sandbox.
import { describe, expect, test } from 'vitest';
import { netnsPlaces, podNetns } from '../../../src/cluster/podNetns.js';
import type { PodSandbox } from '../../../src/cri/runtime.js';

const info = (told: object) => ({ info: JSON.stringify(told) });
const spec = (...namespaces: object[]) => ({ runtimeSpec: { linux: { namespaces } } });

describe('the network of a pod', () => {
  test.each([
    [
      'a path',
      { ...spec({ type: 'pid' }, { type: 'network', path: '/run/netns/a' }), pid: 7 },
      { path: '/run/netns/a', pid: 7 },
    ],
    ['a process alone', { ...spec({ type: 'network' }), pid: 7 }, { pid: 7 }],
    ['neither', {}, {}],
  ])('is read from %s', (_, told, places) => {
    expect(netnsPlaces(info(told))).toEqual(places);
  });

  test('is not guessed from what cannot be read', () => {
    expect(netnsPlaces({ info: '{' })).toEqual({});
    expect(netnsPlaces({})).toEqual({});
  });

  const runtimeOf = (...sandboxes: Partial<PodSandbox>[]) => ({
    listPodSandbox: async () => sandboxes as PodSandbox[],
    podSandboxInfo: async (id: string) => info(spec({ type: 'network', path: `/proc/${id}/ns/net` })),
  });
  const POD = { namespace: 'a', name: 'x' };

  test('is that of the newest sandbox that runs', async () => {
    const place = await podNetns(
      runtimeOf(
        { id: '1', state: 'SANDBOX_READY', createdAt: 1n },
        { id: 'self', state: 'SANDBOX_READY', createdAt: 2n },
        { id: '1', state: 'SANDBOX_NOTREADY', createdAt: 3n },
      ),
      POD,
    );
    expect(place).toBe('/proc/self/ns/net');
  });

  test('is refused by name where there is none', async () => {
    await expect(podNetns(runtimeOf(), POD)).rejects.toThrow('a/x does not run on this node');
    const gone = runtimeOf({ id: 'nobody', state: 'SANDBOX_READY', createdAt: 1n });
    await expect(podNetns(gone, POD)).rejects.toThrow('does not tell where the network of pod a/x is');
  });
});
