// The slices of Endpoints that people write.
import { describe, expect, test } from 'vitest';
import type { Slice } from '../../../../src/controllers/endpointSlice/plan.js';
import { isMirrored, planMirror } from '../../../../src/controllers/endpointSliceMirroring/plan.js';
import { pod, service } from '../support/objects.js';

const free = service({ selector: {} });
const endpoints = (ips: string[], meta: object = {}) => ({
  metadata: { ...pod('web').metadata, ...meta },
  subsets: [{ addresses: ips.map((ip) => ({ ip })), ports: [{ port: 80 }] }],
});
const made = (ips: string[]): Slice[] =>
  planMirror({ endpoints: endpoints(ips), service: free, slices: [] }).map(({ slice }, index) => ({
    ...slice,
    metadata: { ...pod(`s${index}`).metadata, labels: slice.metadata?.labels ?? {} },
  }));

describe('planMirror', () => {
  test('makes a slice a family, a hundred addresses each', () => {
    const ips = [...Array.from({ length: 150 }, (_, index) => `10.0.0.${index + 1}`), '2001:db8::1'];
    const slices = made(ips);
    expect(slices.map(({ addressType, endpoints: held }) => [addressType, held?.length])).toEqual([
      ['IPv4', 100],
      ['IPv4', 50],
      ['IPv6', 1],
    ]);
    expect(slices[0]?.metadata.labels).toMatchObject({
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
    });
  });
  test('leaves what is right, changes what is not, deletes what is too much', () => {
    const slices = made(['10.0.0.1']);
    expect(planMirror({ endpoints: endpoints(['10.0.0.1']), service: free, slices })).toEqual([]);
    const [change] = planMirror({ endpoints: endpoints(['10.0.0.2']), service: free, slices });
    expect(change).toMatchObject({ do: 'update', slice: { endpoints: [{ addresses: ['10.0.0.2'] }] } });
    expect(planMirror({ endpoints: undefined, service: free, slices })).toMatchObject([{ do: 'delete' }]);
  });
  test.each([
    ['a Service with a selector', endpoints([]), service()],
    ['a Service that is not there', endpoints([]), undefined],
    [
      'Endpoints that ask not to be',
      endpoints([], { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }),
      free,
    ],
    [
      'a leader lock of old',
      endpoints([], { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }),
      free,
    ],
  ])('does not mirror %s', (_, of, by) => {
    expect(isMirrored({ endpoints: of, service: by })).toBe(false);
  });
});
