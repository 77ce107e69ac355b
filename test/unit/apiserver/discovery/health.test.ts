// The health paths: checks by Kubernetes' names, what is said of them, and how they are counted.
import { describe, expect, test } from 'vitest';
import { Health } from '../../../../src/apiserver/discovery/health.js';

const well = { isStoreWatched: () => true, isReady: () => true, isEnding: () => false };
const said = (health: Health, root: 'livez' | 'readyz' | 'healthz', one = '', query = '') => {
  const { status, body } = health.answer(root, one, new URLSearchParams(query));
  return [status, String(body)];
};
const HOOKS = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'priority-and-fairness-config-consumer',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'start-cluster-authentication-info-controller',
  'storage-readiness',
  'start-legacy-token-tracking-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'priority-and-fairness-config-producer',
  'bootstrap-controller',
  'start-kubernetes-service-cidr-controller',
].map((name) => `[+]poststarthook/${name} ok`);

describe('a server that is well', () => {
  test.each(['livez', 'readyz', 'healthz'] as const)('says ok at /%s', (root) => {
    expect(said(new Health(well), root)).toEqual([200, 'ok']);
  });
  test('names its checks', () => {
    const lines = ['[+]ping ok', '[+]log ok', '[+]etcd ok', ...HOOKS, 'livez check passed', ''];
    expect(said(new Health(well), 'livez', '', 'verbose')).toEqual([200, lines.join('\n')]);
    const [, ready] = said(new Health(well), 'readyz', '', 'verbose');
    for (const name of ['etcd-readiness', 'informer-sync', 'shutdown'])
      expect(ready).toContain(`[+]${name} ok`);
  });
  test('answers one check by its path, and knows no others', () => {
    expect(said(new Health(well), 'livez', 'poststarthook/rbac/bootstrap-roles')).toEqual([200, 'ok']);
    expect(() => said(new Health(well), 'livez', 'nope')).toThrow(/could not find/);
  });
});

test('what fails is named, and why is not told', () => {
  const health = new Health({ ...well, isStoreWatched: () => false });
  const [status, text] = said(health, 'readyz');
  expect(status).toBe(500);
  expect(text).toContain('[-]etcd failed: reason withheld\n');
  expect(text).toMatch(/readyz check failed\n$/);
  expect(said(health, 'readyz', 'etcd')).toEqual([500, 'internal server error: reason withheld\n']);
});

test('a check may be left out, and one that is not there is named', () => {
  const health = new Health({ ...well, isStoreWatched: () => false });
  const [status, text] = said(health, 'livez', '', 'exclude=etcd&exclude=nope&verbose');
  expect(status).toBe(200);
  expect(text).toContain('[+]etcd excluded: ok\n');
  expect(text).toContain('warn: some health checks cannot be excluded: no matches for "nope"\n');
});

test('an ending server is not ready', () => {
  const [status, text] = said(new Health({ ...well, isEnding: () => true }), 'readyz');
  expect([status, String(text).includes('[-]shutdown failed')]).toEqual([500, true]);
});

test('/metrics/slis tells the last result of each check and how often it was which', () => {
  const health = new Health({ ...well, isStoreWatched: () => false });
  said(health, 'livez');
  said(health, 'livez');
  const text = health.metrics();
  expect(text).toContain('kubernetes_healthcheck{name="ping",type="livez"} 1\n');
  expect(text).toContain('kubernetes_healthcheck{name="etcd",type="livez"} 0\n');
  expect(text).toContain('kubernetes_healthchecks_total{name="etcd",status="error",type="livez"} 2\n');
});
