// The controllers of nodes at work on an API in memory: pod networks over deletions, sweeps that one refusal does not stop.
import { describe, expect, test } from 'vitest';
import { CERTIFICATE_SIGNING_REQUESTS, NODES, PODS } from '../../../../src/api/resources.js';
import { statusError } from '../../../../src/api/status.js';
import { FakeApi } from '../../../support/fakeApi.js';
import { until } from '../../../support/until.js';
import { withControllers } from '../support/running.js';

const node = (name: string) => ({ metadata: { name }, spec: {} });
const runningPod = (name: string, nodeName: string, ip: string) => ({
  metadata: { name, namespace: 'default' },
  spec: { nodeName, containers: [] },
  status: { phase: 'Running', podIP: ip, podIPs: [{ ip }] },
});
const networks = (api: FakeApi) =>
  Object.fromEntries(api.all(NODES).map(({ metadata, spec }) => [metadata.name, spec.podCIDR]));

describe('pod networks of nodes', () => {
  test('are kept over a deletion of the Node', async () => {
    const api = new FakeApi();
    await withControllers(api, ['node-ipam-controller'], async () => {
      await api.of(NODES).create(node('a'));
      await until(() => expect(networks(api)).toEqual({ a: '10.244.0.0/24' }));
      await api.of(NODES).delete({ name: 'a' });
      await api.of(NODES).create(node('b'));
      await until(() => expect(networks(api)).toEqual({ b: '10.244.1.0/24' }));
      await api.of(NODES).create(node('a'));
      await until(() => expect(networks(api)).toEqual({ a: '10.244.0.0/24', b: '10.244.1.0/24' }));
    });
  });

  test('are not given away while pods run in them, also when nobody remembers the node', async () => {
    const api = new FakeApi();
    api.put(PODS, runningPod('web', 'a', '10.244.0.7'));
    await withControllers(api, ['node-ipam-controller'], async () => {
      await api.of(NODES).create(node('b'));
      await until(() => expect(networks(api)).toEqual({ b: '10.244.1.0/24' }));
      await api.of(NODES).create(node('a'));
      await until(() => expect(networks(api)).toEqual({ a: '10.244.0.0/24', b: '10.244.1.0/24' }));
    });
  });
});

describe('one object that the server refuses to change stops no other', () => {
  /** Refuses every write to the object of that name. */
  const refusing = (verbs: readonly string[], name: string) =>
    new FakeApi({
      before: (verb, _, of) => {
        if (verbs.includes(verb) && of === name) throw statusError('InternalError', 'refused for the test');
      },
    });
  const silent = { type: 'Ready', status: 'Unknown', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const ready = { ...silent, status: 'True' };

  test('when pods of silent nodes are called unready', async () => {
    const api = refusing(['update'], 'bad');
    for (const name of ['a', 'b'])
      await api.of(NODES).create({ ...node(name), status: { conditions: [silent] } });
    for (const [name, on] of [
      ['bad', 'a'],
      ['good', 'a'],
      ['other', 'b'],
    ] as const)
      api.put(PODS, {
        ...runningPod(name, on, '10.244.0.7'),
        status: { phase: 'Running', conditions: [ready] },
      });
    const readiness = () =>
      Object.fromEntries(
        api.all(PODS).map(({ metadata, status }) => [metadata.name, status?.conditions?.[0]?.status]),
      );
    await withControllers(
      api,
      ['node-lifecycle-controller'],
      () => until(() => expect(readiness()).toEqual({ bad: 'True', good: 'False', other: 'False' })),
      { nodeMonitorPeriodMs: 5 },
    );
  });

  test('when pods that nobody will finish are removed', async () => {
    const api = refusing(['patch', 'delete'], 'bad');
    for (const name of ['bad', 'good'])
      await api.of(PODS).create({
        metadata: { name, namespace: 'default', deletionTimestamp: '2026-01-01T00:00:00Z' },
        spec: { containers: [] },
      });
    await withControllers(api, ['pod-garbage-collector-controller'], () =>
      until(() => expect(api.all(PODS).map(({ metadata }) => metadata.name)).toEqual(['bad'])),
    );
  });

  test('when old certificate requests are taken away', async () => {
    const api = refusing(['delete'], 'bad');
    const conditions = [{ type: 'Denied', status: 'True', lastUpdateTime: '2026-01-01T00:00:00Z' }];
    for (const name of ['bad', 'good'])
      await api.of(CERTIFICATE_SIGNING_REQUESTS).create({
        metadata: { name },
        spec: { request: '', signerName: 'x' },
        status: { conditions },
      });
    await withControllers(api, ['certificatesigningrequest-cleaner-controller'], () =>
      until(() =>
        expect(api.all(CERTIFICATE_SIGNING_REQUESTS).map(({ metadata }) => metadata.name)).toEqual(['bad']),
      ),
    );
  });
});
