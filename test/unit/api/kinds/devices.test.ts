// Devices and claims on them: what is filled in and what is refused.
import { describe, expect, test } from 'vitest';
import type {
  ResourceV1ResourceClaim,
  V1DeviceClass,
  V1ResourceClaimTemplate,
  V1ResourceSlice,
} from '../../../../src/api/gen/types.js';
import type { Draft } from '../../../../src/api/kind.js';
import {
  deviceClassKind,
  resourceClaimKind,
  resourceClaimTemplateKind,
  resourceSliceKind,
} from '../../../../src/api/kinds/devices.js';

const exactly = { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1 };
const claim = (requests: readonly object[], status: object = {}) =>
  ({ spec: { devices: { requests } }, status }) as unknown as ResourceV1ResourceClaim;
const request = (more: object = { exactly }) => ({ name: 'req-0', ...more });
const allocation = { devices: { results: [] } };
const slice = (more: object) =>
  ({
    spec: { driver: 'example.com', pool: { name: 'p', generation: 1, resourceSliceCount: 1 }, ...more },
  }) as V1ResourceSlice;
const fieldsOf = (causes: readonly { readonly field?: string | undefined }[] | undefined) =>
  (causes ?? []).map(({ field }) => field);

test('a request asks for one device unless it says otherwise', () => {
  const draft = claim([request({ exactly: { deviceClassName: 'gpu' } })]) as Draft<ResourceV1ResourceClaim>;
  resourceClaimKind.defaults?.(draft);
  expect(draft.spec.devices?.requests).toEqual([request()]);
});

describe('a claim', () => {
  const reservedFor = [{ resource: 'pods', name: 'a', uid: '1' }];
  test.each<[string, ResourceV1ResourceClaim, string[]]>([
    ['of one device', claim([request()]), []],
    ['of nothing', claim([]), []],
    [
      'without a class',
      claim([request({ exactly: { ...exactly, deviceClassName: '' } })]),
      ['spec.devices.requests[0].exactly.deviceClassName'],
    ],
    [
      'of both forms',
      claim([request({ exactly, firstAvailable: [{ name: 'a', ...exactly }] })]),
      ['spec.devices.requests[0]'],
    ],
    ['of neither form', claim([request({})]), ['spec.devices.requests[0]']],
    ['with a name twice', claim([request(), request()]), ['spec.devices.requests[1].name']],
    [
      'of an unknown mode',
      claim([request({ exactly: { ...exactly, allocationMode: 'Some' } })]),
      ['spec.devices.requests[0].exactly.allocationMode'],
    ],
    [
      'of all and a number',
      claim([request({ exactly: { ...exactly, allocationMode: 'All' } })]),
      ['spec.devices.requests[0].exactly.count'],
    ],
    ['used before it has devices', claim([], { reservedFor }), ['status.reservedFor']],
    ['in use', claim([], { allocation, reservedFor }), []],
    [
      'used twice by one',
      claim([], { allocation, reservedFor: [...reservedFor, ...reservedFor] }),
      ['status.reservedFor[1].uid'],
    ],
  ])('%s', (_, object, fields) => {
    expect(fieldsOf(resourceClaimKind.validate?.(object))).toEqual(fields);
  });

  test('keeps what it asked for and what it was given', () => {
    const given = claim([request()], { allocation });
    expect(fieldsOf(resourceClaimKind.validate?.(claim([], { allocation }), given))).toEqual(['spec']);
    const other = claim([request()], { allocation: { devices: { results: [{ device: 'a' }] } } });
    expect(fieldsOf(resourceClaimKind.validate?.(other, given))).toEqual(['status.allocation']);
    expect(resourceClaimKind.validate?.(claim([request()]), given)).toEqual([]);
  });

  test('has a state', () => {
    const state = (object: ResourceV1ResourceClaim) =>
      resourceClaimKind.columns.find(({ name }) => name === 'State')?.cell(object, 0);
    expect([state(claim([])), state(claim([], { allocation, reservedFor }))]).toEqual([
      'pending',
      'allocated,reserved',
    ]);
  });
});

test('a template keeps what it says', () => {
  const template = (requests: readonly object[]) =>
    ({ spec: { spec: { devices: { requests } } } }) as unknown as V1ResourceClaimTemplate;
  expect(fieldsOf(resourceClaimTemplateKind.validate?.(template([]), template([request()])))).toEqual([
    'spec',
  ]);
});

test('a class without an expression or parameters is refused', () => {
  const spec = { selectors: [{ cel: { expression: '' } }], config: [{ opaque: { driver: 'example.com' } }] };
  expect(fieldsOf(deviceClassKind.validate?.({ spec } as unknown as V1DeviceClass))).toEqual([
    'spec.selectors[0].cel.expression',
    'spec.config[0].opaque.parameters',
  ]);
});

test.each<[string, V1ResourceSlice, string[]]>([
  ['of a node', slice({ nodeName: 'n', devices: [{ name: 'a' }] }), []],
  ['of nowhere', slice({}), ['spec']],
  ['of two places', slice({ nodeName: 'n', allNodes: true }), ['spec']],
  [
    'with a device twice',
    slice({ allNodes: true, devices: [{ name: 'a' }, { name: 'a' }] }),
    ['spec.devices[1].name'],
  ],
  ['of no pool', slice({ allNodes: true, pool: {} }), ['spec.pool.name', 'spec.pool.resourceSliceCount']],
])('a slice %s', (_, object, fields) => {
  expect(fieldsOf(resourceSliceKind.validate?.(object))).toEqual(fields);
});

test('a slice stays of its node', () => {
  const moved = slice({ nodeName: 'm' });
  expect(fieldsOf(resourceSliceKind.validate?.(moved, slice({ nodeName: 'n' })))).toEqual(['spec.nodeName']);
});
