// Who leads, who waits, and when leadership ends. Short real times, or a clock that the test moves on; nothing asserts how long
// anything took.
import { afterEach, describe, expect, test, vi } from 'vitest';
import { LEASES } from '../../../src/api/resources.js';
import type { Client } from '../../../src/client/client.js';
import { runLeaderElection } from '../../../src/client/leaderElection.js';
import { LeaderTerm } from '../../../src/client/leaderTerm.js';
import type { Transport, TransportRequest } from '../../../src/client/transport.js';
import { AMONG_OTHERS } from '../../../src/cluster/leading.js';
import { FakeApi } from '../../support/fakeApi.js';
import { SimulatedTime } from '../../support/simulatedTime.js';
import { until } from '../../support/until.js';

const lease = { namespace: 'kube-system', name: 'scheduler' };
const times = { leaseDurationMs: 4000, renewDeadlineMs: 2000, retryPeriodMs: 10 };
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

function candidate(client: Client, identity: string) {
  const stop = new AbortController();
  const state = { leading: false, stop, ended: Promise.resolve() };
  const lead = async ({ signal }: LeaderTerm) => {
    state.leading = true;
    await aborted(signal);
    state.leading = false;
  };
  state.ended = runLeaderElection({ client, lease, identity, lead, signal: stop.signal, ...times });
  return state;
}

/** The same API, whose reads are counted. */
function counting(client: Client, read: () => void): Client {
  return {
    of: (type) => {
      const own = client.of(type);
      return {
        ...own,
        get: (name) => {
          read();
          return own.get(name);
        },
      };
    },
    raw: (...request) => client.raw(...request),
    close: () => {},
  };
}

const REQUEST: TransportRequest = { method: 'POST', path: '/' };

function fakeTransport() {
  const state = { requests: [] as TransportRequest[], isClosed: false };
  const transport: Transport = {
    request: async (request) => {
      state.requests.push(request);
      return { status: 200, headers: {}, body: (async function* () {})() };
    },
    close: () => {
      state.isClosed = true;
    },
  };
  return { transport, state };
}

describe('a term', () => {
  let clock = 0;
  const begin = () => {
    clock = 1000;
    return new LeaderTerm({ since: 1000, lastsMs: 100, now: () => clock, leaseVersion: () => '1' });
  };

  test('lasts from before the request that took or renewed it', () => {
    const term = begin();
    clock = 1090;
    expect(term.isHeld).toBe(true);
    // Asked for at 1090, answered at 1180.
    term.renewed(1090);
    clock = 1180;
    expect([term.isHeld, term.leftMs]).toEqual([true, 10]);
    clock = 1190;
    expect(term.isHeld).toBe(false);
  });

  test('ends by the clock alone for a process that slept: nothing is sent, and what is under way may not write', async () => {
    const term = begin();
    const { transport, state } = fakeTransport();
    const fenced = term.fence(transport);
    await fenced.request(REQUEST);
    const mayWrite = state.requests[0]?.isAllowed;
    expect(mayWrite?.()).toBe(true);
    clock = 1100;
    expect(mayWrite?.()).toBe(false);
    await expect(fenced.request(REQUEST)).rejects.toMatchObject({ code: 'CLOSED' });
    expect(state.requests).toHaveLength(1);
  });

  test('that is given back lets the work write what it has begun; one that is lost does not', async () => {
    const term = begin();
    const { transport, state } = fakeTransport();
    const fenced = term.fence(transport);
    term.resign();
    expect(term.signal.aborted).toBe(true);
    await fenced.request(REQUEST);
    term.lose();
    expect(state.isClosed).toBe(true);
    await expect(fenced.request(REQUEST)).rejects.toMatchObject({ code: 'CLOSED' });
  });
});

describe('leader election', () => {
  const held = (client: FakeApi) => client.get(LEASES, 'kube-system/scheduler');

  test('one leads; the other takes over when the first gives the lease back', async () => {
    const client = new FakeApi();
    const one = candidate(client, 'one');
    await until(() => expect(one.leading).toBe(true));
    let looks = 0;
    const looking = counting(client, () => {
      looks += 1;
    });
    const two = candidate(looking, 'two');
    await until(() => expect(looks).toBeGreaterThan(3));
    expect(two.leading).toBe(false);
    expect(held(client)?.spec).toMatchObject({
      holderIdentity: 'one',
      leaseTransitions: 0,
      leaseDurationSeconds: 4,
    });
    one.stop.abort();
    await one.ended;
    expect(one.leading).toBe(false);
    await until(() => expect(two.leading).toBe(true));
    expect(held(client)?.spec).toMatchObject({ holderIdentity: 'two', leaseTransitions: 1 });
    two.stop.abort();
    await two.ended;
    expect(held(client)?.spec?.holderIdentity).toBe('');
  });

  test('a leader that gets no answer stops leading at the renew deadline', async () => {
    const client = new FakeApi();
    const one = candidate(client, 'one');
    await until(() => expect(one.leading).toBe(true));
    client.before = () => new Promise(() => {});
    await until(() => expect(one.leading).toBe(false));
    client.before = () => {};
    one.stop.abort();
  });

  test('a lease that another took means the end at once', async () => {
    const client = new FakeApi();
    const one = candidate(client, 'one');
    await until(() => expect(one.leading).toBe(true));
    const current = held(client);
    const metadata = { ...lease, resourceVersion: '999', uid: 'u', creationTimestamp: '' };
    const taken = { ...current, metadata, spec: { ...current?.spec, holderIdentity: 'two' } };
    client.put(LEASES, taken);
    await one.ended;
    expect(held(client)?.spec?.holderIdentity).toBe('two');
  });

  test('the lease of a dead leader is taken when it has not changed for its duration', async () => {
    const client = new FakeApi();
    const spec = { holderIdentity: 'dead', leaseDurationSeconds: 1 };
    const metadata = { ...lease, resourceVersion: '1', uid: 'u', creationTimestamp: '' };
    client.put(LEASES, { metadata, spec } as never);
    const one = candidate(client, 'one');
    await until(() => expect(one.leading).toBe(true));
    one.stop.abort();
    await one.ended;
  });

  test('work that does not end is cut off the moment the lease is lost', async () => {
    const client = new FakeApi();
    const { transport, state } = fakeTransport();
    let end = () => {};
    let carry: Transport | undefined;
    const lead = (term: LeaderTerm) => {
      carry = term.fence(transport);
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    };
    const signal = new AbortController().signal;
    const ended = runLeaderElection({ client, lease, identity: 'one', lead, signal, ...times });
    await until(() => expect(carry).toBeDefined());
    await carry?.request(REQUEST);
    const metadata = { ...lease, resourceVersion: '999', uid: 'u', creationTimestamp: '' };
    client.put(LEASES, {
      metadata,
      spec: { holderIdentity: 'two', leaseDurationSeconds: 60 },
    } as never);
    await until(() => expect(state.isClosed).toBe(true));
    await expect(carry?.request(REQUEST)).rejects.toMatchObject({ code: 'CLOSED' });
    expect(state.requests).toHaveLength(1);
    end();
    await ended;
  });

  test('times that could make two leaders are refused', async () => {
    const client = new FakeApi();
    const options = {
      client,
      lease,
      identity: 'one',
      lead: ({ signal }: LeaderTerm) => aborted(signal),
      signal: new AbortController().signal,
    };
    await expect(runLeaderElection({ ...options, renewDeadlineMs: 20_000 })).rejects.toThrow(RangeError);
  });
});

describe('two candidates, by a clock that is moved on', () => {
  afterEach(() => void vi.useRealTimers());

  const usual = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };

  interface Run extends Partial<typeof usual> {
    readonly client: Client;
    readonly identity: string;
  }

  function stand(time: SimulatedTime, { client, identity, ...own }: Run) {
    const stop = new AbortController();
    const state = { term: undefined as LeaderTerm | undefined, terms: 0, stop, ended: Promise.resolve() };
    const lead = async (term: LeaderTerm) => {
      state.terms += 1;
      state.term = term;
      await aborted(term.signal);
    };
    const { now, pause } = time;
    const options = { client, lease, identity, lead, signal: stop.signal, now, pause, ...usual, ...own };
    state.ended = runLeaderElection(options);
    return state;
  }
  const leads = ({ term }: ReturnType<typeof stand>) => term?.isHeld === true && !term.signal.aborted;

  /** The API, whose answers come as late as `delayMs` says when they are asked for; what is written is there at once. */
  function answeringLate(api: Client, time: SimulatedTime, delayMs: (verb: string) => number): Client {
    return {
      of: (type) => {
        const own = api.of(type);
        const late = (verb: string, ask: (...all: never[]) => Promise<unknown>) =>
          (async (...all: never[]) => {
            const delay = delayMs(verb);
            const answer = await ask(...all);
            if (delay > 0) await time.pause(delay);
            return answer;
          }) as never;
        return {
          ...own,
          get: late('get', own.get),
          create: late('create', own.create),
          update: late('update', own.update),
        };
      },
      raw: (...request) => api.raw(...request),
      close: () => {},
    };
  }

  test.each([
    ['took the lease with a slow answer', 0],
    ['renewed it with a slow answer', 1],
  ])('one that %s stops before another may start, however soon that one looks', async (_, at) => {
    const time = new SimulatedTime();
    const api = new FakeApi();
    let writes = 0;
    const slow = answeringLate(api, time, (verb) => {
      if (verb === 'get') return writes > at ? Number.POSITIVE_INFINITY : 0;
      writes += 1;
      return writes - 1 === at ? 7_500 : 0;
    });
    const one = stand(time, { client: slow, identity: 'one' });
    await time.passTo(500);
    const two = stand(time, { client: api, identity: 'two', retryPeriodMs: 50 });
    let both = 0;
    let first = false;
    for (let ms = 500; ms < 40_000; ms += 100) {
      await time.passTo(ms);
      first ||= leads(one);
      if (leads(one) && leads(two)) both += 1;
    }
    expect([first, both, leads(one), leads(two)]).toEqual([true, 0, false, true]);
    two.stop.abort();
    await Promise.all([one.ended, two.ended]);
  });

  test('a lease whose answer took as long as it is worth is asked for again before anybody leads', async () => {
    const time = new SimulatedTime();
    let writes = 0;
    const slow = answeringLate(new FakeApi(), time, (verb) => {
      if (verb === 'get') return 0;
      writes += 1;
      return writes === 1 ? 10_500 : 0;
    });
    const one = stand(time, { client: slow, identity: 'one' });
    await time.passTo(10_600);
    expect(one.terms).toBe(0);
    await time.passTo(14_000);
    expect([one.terms, leads(one), writes > 1]).toEqual([1, true, true]);
    one.stop.abort();
    await one.ended;
  });

  test('a renewal that is answered after its term is over, because the process slept, is none', async () => {
    const time = new SimulatedTime();
    const api = new FakeApi();
    let sleeps = false;
    const sleeping = answeringLate(api, time, (verb) => {
      if (sleeps && verb === 'update') time.jump(9_000);
      sleeps &&= verb !== 'update';
      return 0;
    });
    const one = stand(time, { client: sleeping, identity: 'one' });
    await time.passTo(100);
    expect(leads(one)).toBe(true);
    sleeps = true;
    await time.passTo(20_000);
    expect([one.terms, one.term?.isLost]).toEqual([1, true]);
    await one.ended;
    expect(api.get(LEASES, 'kube-system/scheduler')?.spec?.holderIdentity).toBe('one');
  });

  test('servers of one cluster lead within 15 s of the crash of the one before', async () => {
    const time = new SimulatedTime();
    const api = new FakeApi();
    let isDead = false;
    const dying = answeringLate(api, time, () => (isDead ? Number.POSITIVE_INFINITY : 0));
    const one = stand(time, { client: dying, identity: 'one', ...AMONG_OTHERS });
    await time.passTo(100);
    const two = stand(time, { client: api, identity: 'two', ...AMONG_OTHERS });
    await time.passTo(60_000);
    expect([leads(one), leads(two)]).toEqual([true, false]);
    isDead = true;
    await time.passTo(74_900);
    expect(leads(two)).toBe(true);
    two.stop.abort();
    await Promise.all([one.ended, two.ended]);
  });
});
