// Paths and the rights they need.
// Guarantees: hostile paths are no routes; the forms kubectl and the apiserver use are.
import { expect, test } from 'vitest';
import { attributesOf, routeOf } from '../../../../src/kubelet/server/routes.js';

const pod = { namespace: 'ns', pod: 'p' };
test.each([
  ['/healthz', { kind: 'healthz' }],
  ['/pods', { kind: 'pods' }],
  ['/runningpods/', { kind: 'runningPods' }],
  ['/runningpods', { kind: 'runningPods' }],
  ['/containerLogs/ns/p/c', { kind: 'logs', ...pod, container: 'c' }],
  ['/exec/ns/p/c', { kind: 'exec', ...pod, uid: undefined, container: 'c' }],
  ['/exec/ns/p/u/c', { kind: 'exec', ...pod, uid: 'u', container: 'c' }],
  ['/attach/ns/p/c', { kind: 'attach', ...pod, uid: undefined, container: 'c' }],
  ['/run/ns/p/c', { kind: 'run', ...pod, uid: undefined, container: 'c' }],
  ['/portForward/ns/p', { kind: 'portForward', ...pod, uid: undefined }],
  ['/portForward/ns/p/u', { kind: 'portForward', ...pod, uid: 'u' }],
  ['/metrics', { kind: 'other', path: '/metrics' }],
  ['/checkpoint/ns/p/c', { kind: 'checkpoint', ...pod, container: 'c' }],
  ['/checkpoint/ns/p', undefined],
  ['/exec/ns/p', undefined],
  ['/exec//p/c', undefined],
  ['/exec/ns/p/u/c/x', undefined],
  ['/containerLogs/ns/p', undefined],
  ['/containerLogs/ns/p/c/d', undefined],
  ['/exec/ns/p/%zz', undefined],
])('%s', (path, route) => {
  expect(routeOf(path)).toEqual(route);
});

test.each([
  ['GET', '/stats/summary', 'get', ['stats']],
  ['GET', '/metrics/cadvisor', 'get', ['metrics']],
  ['GET', '/metricsandmore', 'get', ['proxy']],
  ['GET', '/logs/syslog', 'get', ['log']],
  ['GET', '/pods', 'get', ['pods', 'proxy']],
  ['GET', '/healthz', 'get', ['healthz', 'proxy']],
  ['POST', '/exec/ns/p/c', 'create', ['proxy']],
  ['GET', '/containerLogs/ns/p/c', 'get', ['proxy']],
  ['POST', '/checkpoint/ns/p/c', 'create', ['checkpoint']],
  ['GET', '/anything', 'get', ['proxy']],
  ['BREW', '/pods', '', ['pods', 'proxy']],
])('%s %s needs %s on %s', (method, path, verb, subresources) => {
  expect(attributesOf(method, path)).toEqual({ verb, subresources });
});
