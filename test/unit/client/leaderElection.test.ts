// Who leads, who waits, and when leadership ends. Short real times; nothing asserts how long anything took.
import { describe, expect, test } from 'vitest';
import type { V1Lease } from '../../../src/api/gen/types.js';
import { runLeaderElection } from '../../../src/client/leaderElection.js';
import { FakeClient } from '../../support/fakeClient.js';
import { until } from '../../support/until.js';

const lease = { namespace: 'kube-system', name: 'scheduler' };
const times = { leaseDurationMs: 4000, renewDeadlineMs: 2000, retryPeriodMs: 10 };
const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));

function candidate(client: FakeClient, identity: string) {
  const stop = new AbortController();
  const state = { leading: false, stop, ended: Promise.resolve() };
  const lead = async (signal: AbortSignal) => {
    state.leading = true;
    await aborted(signal);
    state.leading = false;
  };
  state.ended = runLeaderElection({ client, lease, identity, lead, signal: stop.signal, ...times });
  return state;
}

describe('leader election', () => {
  const held = (client: FakeClient) =>
    client.objects.get('leases/kube-system/scheduler') as V1Lease | undefined;

  test('one leads; the other takes over when the first gives the lease back', async () => {
    const client = new FakeClient();
    const one = candidate(client, 'one');
    await until(() => expect(one.leading).toBe(true));
    const two = candidate(client, 'two');
    await new Promise((resolve) => setTimeout(resolve, 50));
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
    const client = new FakeClient();
    const one = candidate(client, 'one');
    await until(() => expect(one.leading).toBe(true));
    client.fault = () => new Promise(() => {});
    await until(() => expect(one.leading).toBe(false));
    client.fault = () => {};
    one.stop.abort();
  });

  test('a lease that another took means the end at once', async () => {
    const client = new FakeClient();
    const one = candidate(client, 'one');
    await until(() => expect(one.leading).toBe(true));
    const current = held(client);
    const metadata = { ...lease, resourceVersion: '999', uid: 'u', creationTimestamp: '' };
    const taken = { ...current, metadata, spec: { ...current?.spec, holderIdentity: 'two' } };
    client.objects.set('leases/kube-system/scheduler', taken);
    await one.ended;
    expect(held(client)?.spec?.holderIdentity).toBe('two');
  });

  test('the lease of a dead leader is taken when it has not changed for its duration', async () => {
    const client = new FakeClient();
    const spec = { holderIdentity: 'dead', leaseDurationSeconds: 1 };
    const metadata = { ...lease, resourceVersion: '1', uid: 'u', creationTimestamp: '' };
    client.objects.set('leases/kube-system/scheduler', { metadata, spec } as never);
    const one = candidate(client, 'one');
    await until(() => expect(one.leading).toBe(true));
    one.stop.abort();
    await one.ended;
  });

  test('times that could make two leaders are refused', async () => {
    const client = new FakeClient();
    const options = { client, lease, identity: 'one', lead: aborted, signal: new AbortController().signal };
    await expect(runLeaderElection({ ...options, renewDeadlineMs: 20_000 })).rejects.toThrow(RangeError);
  });
});
