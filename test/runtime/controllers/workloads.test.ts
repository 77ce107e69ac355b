// The workload controllers through the real apiserver, killed and started while they work: nothing is made twice.
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  CRON_JOBS,
  DAEMON_SETS,
  JOBS,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PODS,
  REPLICATION_CONTROLLERS,
  STATEFUL_SETS,
} from '../../../src/api/resources.js';
import { until } from '../../support/until.js';
import { openWorld, type World } from './support/world.js';

const NODE_NAMES = ['n0', 'n1', 'n2'];
const template = (app: string, more: object = {}) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: 'main', image: 'busybox:1' }], ...more },
});
const selector = (app: string) => ({ matchLabels: { app } });
const named = (name: string) => ({ name, namespace: 'default' });

let world: World;
beforeAll(async () => {
  world = await openWorld(NODE_NAMES);
});
afterAll(() => world.close());

const podsOf = async (app: string) =>
  (await world.all(PODS)).filter(({ metadata }) => metadata.labels?.['app'] === app);
const madeFor = (prefix: string) => world.made.filter((name) => name.startsWith(prefix));

async function restartWhile(count: number): Promise<void> {
  for (let time = 0; time < count; time++) {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
    await world.restart();
  }
}

test('a ReplicationController makes exactly its pods', async () => {
  const spec = { replicas: 5, selector: { app: 'rc' }, template: template('rc') };
  await world.client.of(REPLICATION_CONTROLLERS).create({ metadata: named('rc'), spec });
  await restartWhile(2);
  await until(async () => {
    const { status } = await world.client.of(REPLICATION_CONTROLLERS).get(named('rc'));
    expect(status.readyReplicas).toBe(5);
  });
  expect(madeFor('rc-')).toHaveLength(5);
});

test('a DaemonSet stands on every node, also on one that comes later, and rolls', async () => {
  const sets = world.client.of(DAEMON_SETS);
  await sets.create({
    metadata: named('agent'),
    spec: {
      selector: selector('agent'),
      template: template('agent'),
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1 } },
    },
  });
  await restartWhile(2);
  await until(async () => expect((await sets.get(named('agent'))).status.numberAvailable).toBe(3));
  expect(madeFor('agent-')).toHaveLength(3);
  await sets.patch(named('agent'), 'strategic', {
    spec: { template: { spec: { containers: [{ name: 'main', image: 'busybox:2' }] } } },
  });
  await restartWhile(2);
  await until(async () => {
    const { status, metadata } = await sets.get(named('agent'));
    expect(status).toMatchObject({
      observedGeneration: metadata.generation,
      updatedNumberScheduled: 3,
      numberAvailable: 3,
    });
  });
  const pods = await podsOf('agent');
  expect(new Set(pods.map(({ spec }) => spec.nodeName)).size).toBe(3);
  expect(pods.every(({ spec }) => spec.containers[0]?.image === 'busybox:2')).toBe(true);
  expect(madeFor('agent-')).toHaveLength(6);
});

test('a StatefulSet brings its pods up in order, each with its claim, and updates them from the top', async () => {
  const sets = world.client.of(STATEFUL_SETS);
  await sets.create({
    metadata: named('db'),
    spec: {
      replicas: 3,
      serviceName: 'db',
      selector: selector('db'),
      template: template('db'),
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
    },
  });
  await restartWhile(3);
  await until(async () => expect((await sets.get(named('db'))).status.readyReplicas).toBe(3));
  expect(madeFor('db-')).toEqual(['db-0', 'db-1', 'db-2']);
  const claims = (await world.all(PERSISTENT_VOLUME_CLAIMS)).map(({ metadata }) => metadata.name).sort();
  expect(claims).toEqual(['data-db-0', 'data-db-1', 'data-db-2']);
  await sets.patch(named('db'), 'strategic', {
    spec: { template: { spec: { containers: [{ name: 'main', image: 'busybox:2' }] } } },
  });
  await restartWhile(3);
  await until(async () => {
    const { status } = await sets.get(named('db'));
    expect([
      status.currentRevision === status.updateRevision,
      status.updatedReplicas,
      status.readyReplicas,
    ]).toEqual([true, 3, 3]);
  });
  expect(madeFor('db-').slice(3)).toEqual(['db-2', 'db-1', 'db-0']);
});

test('a Job counts every pod once, over restarts', async () => {
  const failing = new Set<string>();
  world.fate = (pod) => {
    if (pod.metadata.labels?.['app'] !== 'sum') return 'ready';
    if (failing.size < 3) failing.add(pod.metadata.name);
    return failing.has(pod.metadata.name) ? 'failed' : 'succeeded';
  };
  const jobs = world.client.of(JOBS);
  await jobs.create({
    metadata: named('sum'),
    spec: { completions: 10, parallelism: 4, template: template('sum', { restartPolicy: 'Never' }) },
  });
  await restartWhile(4);
  await until(async () => {
    const { status } = await jobs.get(named('sum'));
    expect(status.conditions?.map(({ type }) => type)).toContain('Complete');
  });
  const { status } = await jobs.get(named('sum'));
  expect(status).toMatchObject({ succeeded: 10, failed: 3 });
  expect(madeFor('sum-')).toHaveLength(13);
  await jobs.delete(named('sum'), { propagationPolicy: 'Background' });
  await until(async () => expect(await podsOf('sum')).toEqual([]));
});

test('an Indexed Job does every index once', async () => {
  world.fate = (pod) => (pod.metadata.labels?.['app'] === 'idx' ? 'succeeded' : 'ready');
  const jobs = world.client.of(JOBS);
  await jobs.create({
    metadata: named('idx'),
    spec: {
      completions: 8,
      parallelism: 3,
      completionMode: 'Indexed',
      ttlSecondsAfterFinished: 0,
      template: template('idx', { restartPolicy: 'Never' }),
    },
  });
  await restartWhile(2);
  await until(async () =>
    expect((await world.all(JOBS)).map(({ metadata }) => metadata.name)).not.toContain('idx'),
  );
  expect(
    madeFor('idx-')
      .map((name) => name.slice(0, 6))
      .sort(),
  ).toEqual(Array.from({ length: 8 }, (_, index) => `idx-${index}-`));
});

test('a CronJob starts a time once', async () => {
  world.fate = (pod) => (pod.metadata.labels?.['app'] === 'tick' ? 'succeeded' : 'ready');
  await world.client.of(CRON_JOBS).create({
    metadata: named('tick'),
    spec: {
      schedule: '@every 1s',
      concurrencyPolicy: 'Forbid',
      successfulJobsHistoryLimit: 1,
      jobTemplate: { spec: { template: template('tick', { restartPolicy: 'Never' }) } },
    },
  });
  await until(async () => {
    const { status } = await world.client.of(CRON_JOBS).get(named('tick'));
    expect(status.lastSuccessfulTime).toBeDefined();
  });
  await world.client.of(CRON_JOBS).delete(named('tick'));
  await until(async () => expect(await podsOf('tick')).toEqual([]));
});

test('a node that comes later gets its daemon', async () => {
  await world.client.of(NODES).create({ metadata: { name: 'n3' }, status: {} });
  await world.ready('n3');
  await until(async () => expect(await podsOf('agent')).toHaveLength(4));
});
