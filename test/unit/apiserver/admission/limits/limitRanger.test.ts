// LimitRanges: what they fill in, what they refuse, in whose words.
import { describe, expect, test } from 'vitest';
import type { V1LimitRangeItem } from '../../../../../src/api/gen/types.js';
import { PERSISTENT_VOLUME_CLAIMS, PODS } from '../../../../../src/api/resources.js';
import { makeLimitRanger } from '../../../../../src/apiserver/admission/limits/limitRanger.js';
import { admissionRequest } from '../../../../support/admissionRequest.js';

const run = (limits: readonly object[], object: object, type = PODS as never) => {
  const plugin = makeLimitRanger({
    limitRanges: () => [{ metadata: { name: 'l' }, spec: { limits: limits as V1LimitRangeItem[] } }] as never,
  });
  const request = admissionRequest({ type, object });
  plugin.mutate?.(request);
  plugin.validate?.(request);
  return object;
};
const pod = (...resources: object[]) => ({
  metadata: {},
  spec: { containers: resources.map((one, at) => ({ name: `c${at}`, resources: one })) },
});

test('fills in what is missing and says so', () => {
  const item = { type: 'Container', default: { cpu: '1', memory: '1Gi' }, defaultRequest: { cpu: '100m' } };
  expect(run([item], pod({ limits: { memory: '2Gi' } }))).toMatchObject({
    metadata: {
      annotations: {
        'kubernetes.io/limit-ranger':
          'LimitRanger plugin set: cpu request for container c0; cpu limit for container c0',
      },
    },
    spec: { containers: [{ resources: { limits: { cpu: '1', memory: '2Gi' }, requests: { cpu: '100m' } } }] },
  });
});

describe('refuses', () => {
  test.each<[string, object, object[], string]>([
    [
      'a request below the minimum',
      { type: 'Container', min: { cpu: '100m' } },
      [{ requests: { cpu: '50m' } }],
      'minimum cpu usage per Container is 100m, but request is 50m',
    ],
    [
      'no request where there is a minimum',
      { type: 'Container', min: { cpu: '100m' } },
      [{}],
      'minimum cpu usage per Container is 100m.  No request is specified',
    ],
    [
      'a limit above the maximum',
      { type: 'Container', max: { memory: '1Gi' } },
      [{ limits: { memory: '2Gi' } }],
      'maximum memory usage per Container is 1Gi, but limit is 2Gi',
    ],
    [
      'no limit where there is a maximum',
      { type: 'Container', max: { memory: '1Gi' } },
      [{}],
      'maximum memory usage per Container is 1Gi.  No limit is specified',
    ],
    [
      'containers that are too much together',
      { type: 'Pod', max: { cpu: '1' } },
      [{ limits: { cpu: '600m' } }, { limits: { cpu: '600m' } }],
      'maximum cpu usage per Pod is 1, but limit is 1200m',
    ],
    [
      'a limit too far from its request',
      { type: 'Container', maxLimitRequestRatio: { cpu: '2' } },
      [{ requests: { cpu: '100m' }, limits: { cpu: '400m' } }],
      'cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000',
    ],
  ])('%s', (_, item, resources, why) => {
    expect(() => run([item], pod(...resources))).toThrow(`pods "x" is forbidden: ${why}`);
  });
  test('everything at once, in one sentence', () => {
    const item = { type: 'Container', min: { cpu: '1', memory: '1Gi' } };
    expect(() => run([item], pod({}))).toThrow(
      'pods "x" is forbidden: [minimum cpu usage per Container is 1.  No request is specified, minimum memory usage per Container is 1Gi.  No request is specified]',
    );
  });
  test('a claim that is too large', () => {
    const claim = { spec: { resources: { requests: { storage: '2Gi' } } } };
    expect(() =>
      run(
        [{ type: 'PersistentVolumeClaim', max: { storage: '1Gi' } }],
        claim,
        PERSISTENT_VOLUME_CLAIMS as never,
      ),
    ).toThrow('maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi');
  });
});

test('lets what fits pass', () => {
  const item = { type: 'Container', min: { cpu: '100m' }, max: { cpu: '1' } };
  const fits = { requests: { cpu: '100m' }, limits: { cpu: '1' } };
  expect(run([item], pod(fits))).toEqual(pod(fits));
});
