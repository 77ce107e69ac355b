// The autoscaler's first looks at a target: what it finds is a wish like any other.
import { expect, test } from 'vitest';
import { EVENTS, HORIZONTAL_POD_AUTOSCALERS } from '../../../../src/api/resources.js';
import { FakeApi } from '../../../support/fakeApi.js';
import { until } from '../../../support/until.js';
import { withControllers } from '../support/running.js';

/** With a Deployment's scale, and one external metric. */
class ScaleApi extends FakeApi {
  replicas = 6;
  metric: string | undefined = '200';
  readonly asked: string[] = [];

  override async raw<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    if (path.endsWith('/scale')) {
      if (method === 'PUT') this.replicas = (body as { spec: { replicas: number } }).spec.replicas;
      const { replicas } = this;
      return { spec: { replicas }, status: { replicas, selector: 'app=web' } } as Answer;
    }
    if (!path.includes('external.metrics')) return super.raw(method, path);
    this.asked.push(path);
    return { items: this.metric === undefined ? [] : [{ value: this.metric }] } as Answer;
  }
}

const autoscaler = {
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    minReplicas: 1,
    maxReplicas: 10,
    metrics: [
      {
        type: 'External',
        external: { metric: { name: 'queue' }, target: { type: 'AverageValue', averageValue: '100' } },
      },
    ],
  },
};

test('a new autoscaler waits its window out before it shrinks its target', async () => {
  let skewMs = 0;
  const api = new ScaleApi();
  await api.of(HORIZONTAL_POD_AUTOSCALERS).create(autoscaler);
  const more = { now: () => Date.now() + skewMs, autoscaler: { periodMs: 5 } };
  await withControllers(
    api,
    ['horizontal-pod-autoscaler-controller'],
    async () => {
      await until(() => expect(api.asked.length).toBeGreaterThan(3));
      expect(api.replicas).toBe(6);
      skewMs = 301_000;
      await until(() => expect(api.replicas).toBe(2));
    },
    more,
  );
});

test('a metric that cannot be had is told as an event', async () => {
  const api = new ScaleApi();
  api.metric = undefined;
  await api.of(HORIZONTAL_POD_AUTOSCALERS).create(autoscaler);
  await withControllers(api, ['horizontal-pod-autoscaler-controller'], async () => {
    const told = () => api.all(EVENTS).map(({ reason }) => reason);
    await until(() => expect(told()).toContain('FailedGetExternalMetric'));
    await until(() => expect(told()).toContain('FailedComputeMetricsReplicas'));
  });
});
