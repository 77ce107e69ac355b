import { expect, test } from 'vitest';
import { KINDS } from '../../../../../src/api/kinds/index.js';
import { endpointOf } from '../../../../../src/apiserver/customResources/conversion/endpoint.js';
import type { Feed } from '../../../../../src/apiserver/registry/feed.js';

const SERVICE = {
  metadata: { name: 'hook', namespace: 'ops' },
  spec: { type: 'ClusterIP', ports: [{ name: 'web', port: 8443, targetPort: 9443 }] },
};

/** A cluster that holds one service and one slice of its endpoints. */
function cluster(service: object | undefined, ready = true) {
  const slice = {
    endpoints: [{ addresses: ['10.0.0.7'], conditions: { ready } }],
    ports: [{ name: 'web', port: 9443 }],
  };
  const held = (object: object, labels = {}) => ({ parse: () => object, summary: { labels } });
  const feed = {
    cacheOf: () => ({
      get: () => (service === undefined ? undefined : held(service)),
      range: () => [held(slice, { 'kubernetes.io/service-name': 'hook' })],
    }),
  } as unknown as Feed;
  return { feed, kinds: KINDS };
}

const reference = { service: { name: 'hook', namespace: 'ops', port: 8443, path: '/convert' } };

test('a service is called at a ready endpoint, under its own name', () => {
  expect(endpointOf(cluster(SERVICE), reference)).toEqual({
    url: 'https://hook.ops.svc:8443/convert?timeout=30s',
    host: '10.0.0.7',
    port: 9443,
    path: '/convert?timeout=30s',
    servername: 'hook.ops.svc',
    authority: 'hook.ops.svc:8443',
  });
});

test.each([
  ['there is no service', cluster(undefined), 'service "hook" not found'],
  ['it has no such port', cluster({ ...SERVICE, spec: { ports: [] } }), 'no service port 8443 found'],
  ['no endpoint is ready', cluster(SERVICE, false), 'no endpoints available for service "hook"'],
])('a call fails in the words of Kubernetes when %s', (_, made, words) => {
  const call = 'Post "https://hook.ops.svc:8443/convert?timeout=30s": ';
  expect(() => endpointOf(made, reference)).toThrow(call + words);
});

test('a name outside is called as it is, and so is a URL', () => {
  const external = { ...SERVICE, spec: { type: 'ExternalName', externalName: 'hooks.example.com' } };
  expect(endpointOf(cluster(external), reference)).toMatchObject({ host: 'hooks.example.com', port: 8443 });
  expect(endpointOf(cluster(undefined), { url: 'https://[::1]/x' })).toMatchObject({
    host: '::1',
    port: 443,
    path: '/x?timeout=30s',
    authority: '[::1]',
  });
});
