// When a quota's status is written, and which change of a pod gives something back.
import { expect, test } from 'vitest';
import { isClaimRelief, isRelief, planQuota } from '../../../../src/controllers/resourceQuota/controller.js';

test.each<[string, object, object | undefined]>([
  ['nobody has counted', {}, { hard: { cpu: '1' }, used: { cpu: '500m' } }],
  [
    'the limit changed',
    { hard: { cpu: '2' }, used: { cpu: '500m' } },
    { hard: { cpu: '1' }, used: { cpu: '500m' } },
  ],
  [
    'something went',
    { hard: { cpu: '1' }, used: { cpu: '1' } },
    { hard: { cpu: '1' }, used: { cpu: '500m' } },
  ],
  ['it is right, in other words', { hard: { cpu: '1000m' }, used: { cpu: '0.5' } }, undefined],
])('%s', (_, status, expected) => {
  expect(planQuota({ spec: { hard: { cpu: '1' } }, status }, { cpu: '500m' })).toEqual(expected);
});

test('a pod that is done gives back what it used, and so does one that has let go of some', () => {
  const asking = (cpu: string) => ({ containers: [{ name: 'c', resources: { requests: { cpu } } }] });
  const pod = (phase: string, cpu = '1') => ({ spec: asking(cpu), status: { phase } });
  expect(isRelief(pod('Running', '1'), pod('Running', '2'))).toBe(true);
  expect(isRelief(pod('Running', '2'), pod('Running', '1'))).toBe(false);
  expect(isRelief(pod('Succeeded'), pod('Running'))).toBe(true);
  expect(isRelief(pod('Succeeded'), pod('Succeeded'))).toBe(false);
  expect(isRelief(pod('Running'), pod('Pending'))).toBe(false);
});

test('a claim gives something back when it leaves a class, or holds less', () => {
  const claim = (storage: string, volumeAttributesClassName: string, current?: string, given?: string) => ({
    spec: { resources: { requests: { storage } }, volumeAttributesClassName },
    status: {
      ...(current === undefined ? {} : { currentVolumeAttributesClassName: current }),
      ...(given === undefined ? {} : { allocatedResources: { storage: given } }),
    },
  });
  expect(isClaimRelief(claim('1Gi', 'silver', 'gold'), claim('1Gi', 'gold', 'gold'))).toBe(false);
  expect(isClaimRelief(claim('1Gi', 'silver', 'silver'), claim('1Gi', 'silver', 'gold'))).toBe(true);
  expect(isClaimRelief(claim('1Gi', 'gold', 'gold', '2Gi'), claim('2Gi', 'gold', 'gold', '2Gi'))).toBe(false);
  expect(isClaimRelief(claim('1Gi', 'gold', 'gold', '1Gi'), claim('1Gi', 'gold', 'gold', '2Gi'))).toBe(true);
});
