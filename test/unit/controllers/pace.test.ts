// No controller runs away: pods made and removed at once, pods that fail at once, and what one owner may make of them.
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { PODS, REPLICA_SETS, STATEFUL_SETS } from '../../../src/api/resources.js';
import { FAILED, MADE, Pace } from '../../../src/controllers/pace.js';
import { FakeApi } from '../../support/fakeApi.js';
import { until } from '../../support/until.js';
import { withControllers } from './support/running.js';

const NOW = 1_000_000_000;

describe('the pace of an owner', () => {
  test('is a number of pods in any minute that grows with those it wishes for', () => {
    const pace = new Pace();
    const limit = MADE.base + MADE.each * 10;
    expect(pace.admit('u', limit - 1, 10, NOW)).toEqual({ count: limit - 1 });
    expect(pace.admit('u', 5, 10, NOW + 30_000)).toMatchObject({ count: 1, againMs: 31_000 });
    expect(pace.admit('u', 5, 10, NOW + 31_000).count).toBe(0);
    expect(pace.admit('other', 5, 10, NOW + 31_000).count).toBe(5);
    expect(pace.admit('u', 5, 10, NOW + 61_000)).toEqual({ count: 5 });
  });

  test('does not count what was not made after all', () => {
    const pace = new Pace();
    for (let round = 0; round < 100; round++) {
      expect(pace.admit('u', 1000, 1000, NOW).count).toBe(1000);
      pace.notMade('u', 1000);
    }
  });

  test('slows down with failures beyond the first rounds, and forgets them', () => {
    const pace = new Pace();
    const waits: (number | undefined)[] = [];
    for (let failure = 0; failure < FAILED.free + 8; failure++) {
      pace.failed('u', NOW);
      waits.push(pace.admit('u', 1, 1, NOW).againMs);
    }
    expect(waits.slice(0, FAILED.free)).toEqual(new Array(FAILED.free).fill(undefined));
    expect(waits.slice(FAILED.free)).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1000));
    expect(pace.admit('u', 1, 1, NOW + FAILED.forgottenMs + 1)).toEqual({ count: 1 });
  });

  test('takes the loss of all pods of a large owner for one round', () => {
    const pace = new Pace();
    for (let failure = 0; failure < 100; failure++) pace.failed('u', NOW);
    expect(pace.admit('u', 100, 100, NOW)).toEqual({ count: 100 });
  });
});

const selector = { matchLabels: { app: 'web' } };
const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [] } };
const metadata = { name: 'web', namespace: 'default' };

/** How many pods a controller makes while `end` takes care of each, until it is told to be slow. */
async function madeUntilSlow(
  controller: string,
  make: (api: FakeApi) => Promise<unknown>,
  end: (api: FakeApi) => void,
) {
  let made = 0;
  const api = new FakeApi({
    before: (verb, { resource }) => {
      if (verb === 'create' && resource === PODS.resource) made += 1;
    },
    changed: () => queueMicrotask(() => end(api)),
  });
  await make(api);
  const said: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void said.push(message) };
  await withControllers(api, [controller], () => until(() => expect(said.join()).toContain('more slowly')), {
    log,
  });
  return made;
}

const fail = (api: FakeApi) => {
  for (const { metadata: of, status } of api.all(PODS))
    if (status?.phase === undefined) api.setStatus(PODS, of, { phase: 'Failed' });
};

test.each([
  [
    'a ReplicaSet whose pods are removed at once',
    'replicaset-controller',
    (api: FakeApi) => api.of(REPLICA_SETS).create({ metadata, spec: { replicas: 1, selector, template } }),
    (api: FakeApi) => {
      for (const { metadata: of } of api.all(PODS)) api.remove(PODS, of);
    },
    MADE.base + MADE.each,
  ],
  [
    'a ReplicaSet whose pods fail at once',
    'replicaset-controller',
    (api: FakeApi) => api.of(REPLICA_SETS).create({ metadata, spec: { replicas: 1, selector, template } }),
    fail,
    FAILED.free + 1,
  ],
  [
    'a StatefulSet whose pods fail at once',
    'statefulset-controller',
    (api: FakeApi) =>
      api
        .of(STATEFUL_SETS)
        .create({ metadata, spec: { replicas: 1, selector, template, serviceName: 'web' } }),
    fail,
    FAILED.free + 1,
  ],
])('%s is slowed down', async (_, controller, make, end, most) => {
  const made = await madeUntilSlow(controller, make, end);
  expect(made).toBeGreaterThan(1);
  expect(made).toBeLessThanOrEqual(most);
});
