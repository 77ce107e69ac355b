import { expect, test } from 'vitest';
import { shortages } from '../../../src/kubelet/admission.js';
import { podsToPreempt } from '../../../src/kubelet/preemption.js';
import { container, podOf } from './support.js';

const CRITICAL = 2_000_000_000;
const one = (name: string, resources: object, spec: object = {}) =>
  podOf({ containers: [container('web', { resources })], ...spec }, { name, uid: name });
const asking = (name: string, cpu: string, spec: object = {}) => one(name, { requests: { cpu } }, spec);
const held = (name: string, cpu: string) => one(name, { limits: { cpu, memory: '1Mi' } });
const idle = (name: string) => one(name, {});

const victims = (
  pod: ReturnType<typeof podOf>,
  others: readonly ReturnType<typeof podOf>[],
  allocatable: Readonly<Record<string, string>> = { cpu: '4' },
) =>
  podsToPreempt(pod, others, shortages(pod, others, { allocatable }))?.map(({ metadata }) => metadata.name);

const critical = (cpu: string) => asking('critical', cpu, { priority: CRITICAL });

test('burstable pods go before guaranteed ones, the nearest to what is missing first', () => {
  const others = [held('sure', '1'), asking('small', '500m'), asking('right', '1'), asking('large', '1500m')];
  expect(victims(critical('1'), others)).toEqual(['right']);
  expect(victims(critical('1500m'), others)).toEqual(['large']);
  expect(victims(critical('3'), others)).toEqual(['large', 'right', 'small']);
  expect(victims(critical('4'), others)?.toSorted()).toEqual(['large', 'right', 'small', 'sure']);
});

test('where only places are missing a best-effort pod goes', () => {
  const others = [held('sure', '1'), asking('some', '1'), idle('idle')];
  expect(victims(critical('1'), others, { cpu: '4', pods: '3' })).toEqual(['idle']);
});

test('nothing goes when it would not be enough', () => {
  const others = [asking('some', '1'), asking('other-critical', '3', { priority: CRITICAL })];
  expect(victims(critical('2'), others)).toBeUndefined();
});

test('a critical pod goes only for one of higher priority', () => {
  const others = [asking('critical-too', '4', { priority: CRITICAL })];
  expect(victims(critical('1'), others)).toBeUndefined();
  const higher = asking('higher', '1', { priority: CRITICAL + 1000 });
  expect(victims(higher, others)).toEqual(['critical-too']);
});
