import { afterEach, expect, test, vi } from 'vitest';
import { type Log, silentLog } from '../../../src/api/log.js';
import type { ContainerEvent, RuntimeService } from '../../../src/cri/runtime.js';
import { Pleg } from '../../../src/kubelet/pleg.js';
import { PodCache } from '../../../src/kubelet/runtime/podCache.js';
import { emptyRuntimePod } from '../../../src/kubelet/runtime/runtimePod.js';
import { sandbox } from './support.js';

afterEach(() => void vi.useRealTimers());

const setUp = (
  fetch: (uid: string) => Promise<void> = async () => {},
  periodMs = 1000,
  log: Log = silentLog,
) => {
  const stream = { end: () => {} };
  const said: string[] = [];
  let pending: { podUid: string; events: { type: string; id: string }[] }[] = [];
  const busy = new Set<string>();
  let clock = 0;
  let broken = false;
  const list = async () => {
    if (broken) throw new Error('connection refused');
    return Buffer.alloc(0);
  };
  const ended = new Set<string>();
  const cache = new PodCache(
    async (uid) => {
      await fetch(uid);
      const state = ended.has(uid) ? 'SANDBOX_NOTREADY' : 'SANDBOX_READY';
      return { ...emptyRuntimePod(uid), sandboxes: [sandbox({ id: `${uid}-sandbox`, state })] };
    },
    () => ++clock,
  );
  let relists = 0;
  let tell: ((event: ContainerEvent) => void) | undefined;
  const pleg = new Pleg({
    cache,
    log,
    periodMs,
    now: () => ++clock,
    runtime: {
      listPodSandboxBytes: async () => {
        relists++;
        return list();
      },
      listContainersBytes: list,
      containerEvents: (heard, signal) =>
        new Promise((resolve) => {
          tell = heard;
          signal.addEventListener('abort', () => resolve());
          stream.end = resolve;
        }),
    } as Partial<RuntimeService> as RuntimeService,
    differ: {
      relist: async () => ({
        changed: pending,
        commit: () => {
          said.push('commit');
          pending = [];
        },
      }),
    },
    changed: (uid) => said.push(uid),
    isBusy: (uid) => busy.has(uid),
  });
  return {
    said,
    pleg,
    cache,
    busy,
    ended,
    stream,
    relists: () => relists,
    happens: (podUid: string, type: string) => {
      pending = [{ podUid, events: [{ type, id: `${podUid}-sandbox` }] }];
    },
    tell: (podUid: string) => tell?.({ containerId: 'c', type: 'CONTAINER_STARTED_EVENT', podUid }),
    tellEnd: (containerId: string) => tell?.({ containerId, type: 'CONTAINER_STOPPED_EVENT' }),
    change: (...uids: string[]) => {
      pending = uids.map((podUid) => ({ podUid, events: [] }));
    },
    breakOff: () => {
      broken = true;
    },
    mend: () => {
      broken = false;
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

test('a runtime that is away is told of once, not at each relist, and so is that it is back', async () => {
  const told: string[] = [];
  const log = {
    ...silentLog,
    warn: (text: string) => told.push(text),
    info: (text: string) => told.push(text),
  };
  const { pleg, breakOff, mend } = setUp(undefined, undefined, log);
  breakOff();
  for (let i = 0; i < 5; i++) expect(await pleg.relist()).toBe(false);
  expect(told).toEqual(['cannot list the runtime']);
  mend();
  for (let i = 0; i < 2; i++) await pleg.relist();
  expect(told).toEqual(['cannot list the runtime', 'the runtime can be listed again']);
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

test('a pod that hangs is waited for once, asked once, and told when it answers', async () => {
  let answer = () => {};
  let asked = 0;
  const { said, pleg, change } = setUp(async (uid) => {
    if (uid !== 'hung') return;
    asked++;
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
  });
  change('hung', 'good');
  await pleg.relist();
  change('better');
  await pleg.relist();
  expect(said).toEqual(['good', 'commit', 'better', 'commit']);
  expect(asked).toBe(1);
  answer();
  await vi.waitFor(() => expect(said.at(-1)).toBe('hung'), 30_000);
});

test("the runtime's own events are heard at once, and relists become rare until they end", async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { said, pleg, tell, relists, stream, advance } = setUp(undefined, 5);
  await pleg.start();
  try {
    await vi.waitFor(() => expect(relists()).toBeGreaterThan(2), 30_000);
    tell('u1');
    await vi.waitFor(() => expect(said).toContain('u1'), 30_000);
    advance(10_000);
    await vi.advanceTimersByTimeAsync(20); // one that had begun may end
    const then = relists();
    await vi.advanceTimersByTimeAsync(100); // time for twenty
    expect(relists()).toBe(then);
    stream.end();
    await vi.waitFor(() => expect(relists()).toBeGreaterThan(then + 2), 30_000);
  } finally {
    await pleg.stop();
  }
});

test('an end that the runtime tells before it shows it is looked for until it shows', async () => {
  let asked = 0;
  const { pleg, cache, ended, tellEnd } = setUp(async () => {
    if (++asked === 4) ended.add('u1');
  }, 1000);
  await cache.refresh('u1');
  await pleg.start();
  try {
    tellEnd('u1-sandbox');
    await vi.waitFor(() => expect(cache.get('u1').sandboxes[0]?.state).toBe('SANDBOX_NOTREADY'), 30_000);
    expect(asked).toBe(4);
  } finally {
    await pleg.stop();
  }
});

test('after an event of whatever pod relists go on for a while', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { said, pleg, cache, busy, tell, tellEnd, relists, advance } = setUp(undefined, 5);
  await cache.refresh('u1');
  await pleg.start();
  const untilCalm = async () => {
    advance(10_000);
    let before = -1;
    while (before !== relists()) {
      before = relists();
      await vi.advanceTimersByTimeAsync(100); // time for twenty
    }
    return before;
  };
  try {
    tell('u1');
    const calm = await untilCalm();
    tellEnd('unknown');
    await vi.waitFor(() => expect(relists()).toBeGreaterThan(calm + 2), 30_000);
    const again = await untilCalm();
    busy.add('u1');
    tellEnd('u1-sandbox');
    await vi.waitFor(() => expect(relists()).toBeGreaterThan(again + 2), 30_000);
    expect(said.filter((one) => one === 'u1')).toHaveLength(1); // it is left to who works on it
  } finally {
    await pleg.stop();
  }
});

test('what is already known of a pod is told without another look at it', async () => {
  let asked = 0;
  const { said, pleg, cache, happens } = setUp(async () => void asked++);
  await cache.refresh('u1');
  happens('u1', 'ContainerStarted');
  await pleg.relist();
  expect(said).toEqual(['u1', 'commit']);
  expect(asked).toBe(1);
  happens('u1', 'ContainerDied');
  await pleg.relist();
  expect(said).toEqual(['u1', 'commit', 'u1', 'commit']);
  expect(asked).toBe(2);
});

test('a pod that is worked on is looked at when that is done, or has taken long', async () => {
  let asked = 0;
  const { said, pleg, busy, happens, advance } = setUp(async () => void asked++);
  busy.add('u1');
  happens('u1', 'ContainerStarted');
  await pleg.relist();
  await pleg.relist();
  expect([said, asked]).toEqual([['commit', 'commit'], 0]);
  busy.delete('u1');
  await pleg.relist();
  expect(said.slice(2)).toEqual(['u1', 'commit']);
  busy.add('u1');
  happens('u1', 'ContainerDied');
  await pleg.relist();
  expect(asked).toBe(1);
  advance(10_000);
  await pleg.relist();
  expect(asked).toBe(2);
});
