// Who places a pod that waits for its gates may ask more of its node, and nothing less or else.
import { expect, test } from 'vitest';
import type { V1PodSpec } from '../../../../../src/api/gen/types.js';
import { validatePodUpdate } from '../../../../../src/api/kinds/pod/update.js';

const zone = (...values: string[]) => ({ key: 'zone', operator: 'In', values });
const term = (...matchExpressions: object[]) => ({ matchExpressions });
const required = (...nodeSelectorTerms: object[]) => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
});
const preferred = (weight: number) => ({
  nodeAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight, preference: term(zone('a')) }],
  },
});
const podAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }] };

const GATES = [{ name: 'example.com/queue' }];
const specOf = (more: object, schedulingGates: object[] = GATES) =>
  ({ containers: [{ name: 'c', image: 'i' }], schedulingGates, ...more }) as unknown as V1PodSpec;
const fieldsOf = (before: object, after: object, gates?: object[]) =>
  validatePodUpdate(specOf(after, gates), specOf(before, gates)).map(({ field }) => field);

const TERMS = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';

test.each<[string, object, object, string[]]>([
  ['a first label', {}, { nodeSelector: { a: '' } }, []],
  ['another label', { nodeSelector: { a: '' } }, { nodeSelector: { a: '', b: 'c' } }, []],
  ['another value', { nodeSelector: { a: '' } }, { nodeSelector: { a: 'x' } }, ['spec.nodeSelector']],
  ['one label less', { nodeSelector: { a: '' } }, {}, ['spec.nodeSelector']],
  ['a first term', {}, { affinity: required(term(zone('a'))) }, []],
  [
    'a first term beside those of pods',
    { affinity: { podAffinity } },
    { affinity: { podAffinity, ...required(term(zone('a'))) } },
    [],
  ],
  [
    'one more expression',
    { affinity: required(term(zone('a'))) },
    { affinity: required(term(zone('a'), zone('b'))) },
    [],
  ],
  [
    'another expression',
    { affinity: required(term(zone('a'))) },
    { affinity: required(term(zone('a', 'b'))) },
    [`${TERMS}[0]`],
  ],
  [
    'an expression less',
    { affinity: required(term(zone('a'), zone('b'))) },
    { affinity: required(term(zone('b'))) },
    [`${TERMS}[0]`],
  ],
  [
    'one more term, which widens',
    { affinity: required(term(zone('a'))) },
    { affinity: required(term(zone('a')), term(zone('b'))) },
    [TERMS],
  ],
  ['no term any more', { affinity: required(term(zone('a'))) }, {}, [TERMS]],
  [
    'an expression in a term that matched nothing',
    { affinity: required({}) },
    { affinity: required(term(zone('a'))) },
    [`${TERMS}[0]`],
  ],
  ['other preferences', { affinity: preferred(1) }, { affinity: preferred(2) }, []],
  ['no preferences any more', { affinity: preferred(1) }, {}, []],
  ['affinity to other pods', {}, { affinity: { podAffinity } }, ['spec']],
  [
    'affinity to pods no more',
    { affinity: { podAffinity } },
    { affinity: required(term(zone('a'))) },
    ['spec'],
  ],
  [
    'affinity to other pods beside a stricter term',
    { affinity: required(term(zone('a'))) },
    { affinity: { podAffinity, ...required(term(zone('a'), zone('b'))) } },
    ['spec'],
  ],
  ['another priority', {}, { nodeSelector: { a: '' }, priority: 7 }, ['spec']],
])('%s', (_, before, after, fields) => {
  expect(fieldsOf(before, after)).toEqual(fields);
});

test('without gates nothing of it may change', () => {
  expect(fieldsOf({}, { nodeSelector: { a: '' } }, [])).toEqual(['spec']);
  expect(fieldsOf({}, { affinity: required(term(zone('a'))) }, [])).toEqual(['spec']);
});

test('the gates may go by the same change', () => {
  const after = { ...specOf({ nodeSelector: { a: '' } }), schedulingGates: [] };
  expect(validatePodUpdate(after, specOf({}))).toEqual([]);
});
