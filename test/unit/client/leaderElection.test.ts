// Who leads, who waits, and when leadership ends. Short real times; nothing asserts how long anything took.
import { describe, expect, test } from 'vitest';
import { LEASES } from '../../../src/api/resources.js';
import type { Client } from '../../../src/client/client.js';
import { runLeaderElection } from '../../../src/client/leaderElection.js';
import { LeaderTerm } from '../../../src/client/leaderTerm.js';
import type { Transport, TransportRequest } from '../../../src/client/transport.js';
import { FakeApi } from '../../support/fakeApi.js';
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
