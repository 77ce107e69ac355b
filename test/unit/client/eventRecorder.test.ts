// What the event recorder writes, counts, combines and drops.
import { beforeEach, describe, expect, test } from 'vitest';
import type { V1Pod } from '../../../src/api/gen/types.js';
import { EVENTS, NODES, PODS } from '../../../src/api/resources.js';
import { ClientError } from '../../../src/client/error.js';
import { makeEventRecorder, referenceTo } from '../../../src/client/eventRecorder.js';
import { FakeApi } from '../../support/fakeApi.js';

const pod: V1Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'shop', uid: 'u1' } };

describe('the event recorder', () => {
  let client: FakeApi;
  let time: number;
  const recorder = () =>
    makeEventRecorder(client, { component: 'kubelet', host: 'n1', now: () => time, pause: async () => {} });
  const events = () => client.all(EVENTS);

  beforeEach(() => {
    client = new FakeApi();
    time = Date.parse('2026-01-01T00:00:00Z');
  });

  test('writes an Event beside its object', async () => {
    const { event, flush } = recorder();
    event(pod, 'Warning', 'BackOff', 'Back-off restarting failed container');
    await flush();
    expect(events()).toHaveLength(1);
    expect(events()[0]).toMatchObject({
      metadata: { namespace: 'shop', name: expect.stringMatching(/^web\.[0-9a-f]{16}$/) },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'shop', name: 'web', uid: 'u1' },
      type: 'Warning',
      reason: 'BackOff',
      count: 1,
      source: { component: 'kubelet', host: 'n1' },
      firstTimestamp: '2026-01-01T00:00:00Z',
    });
  });

  test('events about cluster-wide objects and about containers', async () => {
    const { event, flush } = recorder();
    event(referenceTo(NODES, { metadata: { name: 'n1' } }), 'Normal', 'NodeReady', 'ready');
    event(referenceTo(PODS, pod, 'spec.containers{c}'), 'Normal', 'Pulled', 'pulled');
    await flush();
    expect(events().map(({ metadata }) => metadata.namespace)).toEqual(['default', 'shop']);
    expect(events()[1]?.involvedObject.fieldPath).toBe('spec.containers{c}');
  });

  test('says what was being done and what else it concerns, where its writer does', async () => {
    const { event, flush } = recorder();
    const related = referenceTo(NODES, { metadata: { name: 'n1' } });
    event(pod, 'Normal', 'Preempted', 'gone', { action: 'Preempting', related });
    await flush();
    expect(events()[0]).toMatchObject({ action: 'Preempting', related: { kind: 'Node', name: 'n1' } });
  });

  test('the same again is counted in the same Event, also after that Event expired', async () => {
    const { event, flush } = recorder();
    for (let i = 0; i < 3; i++) {
      event(pod, 'Normal', 'Pulling', 'pulling');
      time += 1000;
    }
    await flush();
    expect(events()).toHaveLength(1);
    expect(events()[0]).toMatchObject({ count: 3, lastTimestamp: '2026-01-01T00:00:02Z' });
    for (const { metadata } of events()) client.remove(EVENTS, metadata);
    event(pod, 'Normal', 'Pulling', 'pulling');
    await flush();
    expect(events()[0]).toMatchObject({ count: 1 });
  });

  test('many alike but for their message are combined, and a flood is cut', async () => {
    const { event, flush } = recorder();
    for (let i = 0; i < 100; i++) event(pod, 'Warning', 'Unhealthy', `probe ${i} failed`);
    await flush();
    expect(events()).toHaveLength(11);
    expect(events().at(-1)).toMatchObject({
      message: '(combined from similar events): probe 24 failed',
      count: 15,
    });
  });

  test('a refusal or an unreachable server is no failure of the caller; a short outage loses nothing', async () => {
    const { event, flush } = recorder();
    let fails = 2;
    client.before = () => {
      if (fails-- > 0) throw new ClientError('UNREACHABLE', 'down');
    };
    event(pod, 'Normal', 'Started', 'started');
    await flush();
    expect(events()).toHaveLength(1);
    client.before = () => {
      throw new Error('refused');
    };
    event(pod, 'Normal', 'Killing', 'killing');
    event({ metadata: {} }, 'Normal', 'Nameless', 'dropped');
    await flush();
    expect(events()).toHaveLength(1);
  });
});
