import { expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import type { RuntimeService } from '../../../src/cri/runtime.js';
import { Pleg } from '../../../src/kubelet/pleg.js';
import { PodCache } from '../../../src/kubelet/runtime/podCache.js';
import { emptyRuntimePod } from '../../../src/kubelet/runtime/runtimePod.js';

const setUp = (fetch: (uid: string) => Promise<void> = async () => {}) => {
  const said: string[] = [];
  let pending: string[] = [];
  let clock = 0;
  let broken = false;
  const list = async () => {
    if (broken) throw new Error('connection refused');
    return Buffer.alloc(0);
  };
  const cache = new PodCache(
    async (uid) => {
      await fetch(uid);
      return emptyRuntimePod(uid);
    },
    () => ++clock,
  );
  const pleg = new Pleg({
    ...{ cache, log: silentLog, periodMs: 1000, now: () => ++clock },
    runtime: { listPodSandboxBytes: list, listContainersBytes: list } as unknown as RuntimeService,
    differ: {
      relist: async () => ({
        changed: pending.map((podUid) => ({ podUid, events: [] })),
        commit: () => {
          said.push('commit');
          pending = [];
        },
      }),
    },
    changed: (uid) => said.push(uid),
  });
  return {
    ...{ said, pleg },
    change: (...uids: string[]) => {
      pending = uids;
    },
    breakOff: () => {
      broken = true;
    },
    advance: (ms: number) => {
      clock += ms;
    },
  };
};

test('a change is delivered before the record advances', async () => {
  const { said, pleg, change } = setUp();
  change('u1');
  await pleg.relist();
  expect(said).toEqual(['u1', 'commit']);
});

test('a pod that cannot be read delays no other and is asked again', async () => {
  let fails = true;
  const { said, pleg, change } = setUp(async (uid) => {
    if (uid === 'bad' && fails) throw new Error('unknown');
  });
  change('bad', 'good');
  expect(await pleg.relist()).toBe(true);
  expect(said).toEqual(['good', 'commit']);
  fails = false;
  await pleg.relist();
  expect(said).toEqual(['good', 'commit', 'bad', 'commit']);
});

test('health follows the last relist', async () => {
  const { pleg, breakOff, advance } = setUp();
  expect(pleg.unhealthy()).toBe('pleg has yet to be successful');
  await pleg.relist();
  expect(pleg.unhealthy()).toBeUndefined();
  breakOff();
  expect(await pleg.relist()).toBe(false);
  advance(200_000);
  expect(pleg.unhealthy()).toMatch(/^pleg was last seen active 200s ago; threshold is 3m0s$/);
});
