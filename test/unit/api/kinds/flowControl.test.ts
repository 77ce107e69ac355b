// Flow schemas and priority levels: what is filled in and what is refused.
import { describe, expect, test } from 'vitest';
import type { V1FlowSchema, V1PriorityLevelConfiguration } from '../../../../src/api/gen/types.js';
import type { Draft } from '../../../../src/api/kind.js';
import { flowSchemaKind, priorityLevelConfigurationKind } from '../../../../src/api/kinds/flowControl.js';

const level = { name: 'p' };
const rule = {
  subjects: [{ kind: 'User', user: { name: 'example-e2e-non-existent-user' } }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
};
const schema = (spec: object, name = 'x') =>
  ({ metadata: { name }, spec: { priorityLevelConfiguration: level, ...spec } }) as V1FlowSchema;
const limited = (more: object, name = 'x') =>
  ({ metadata: { name }, spec: { type: 'Limited', ...more } }) as V1PriorityLevelConfiguration;
const reject = { limitResponse: { type: 'Reject' } };
const queue = (queuing: object) => ({ limited: { limitResponse: { type: 'Queue', queuing } } });

describe('FlowSchema', () => {
  test('gets a precedence', () => {
    const draft = schema({}) as Draft<V1FlowSchema>;
    flowSchemaKind.defaults?.(draft);
    expect(draft.spec?.matchingPrecedence).toBe(1000);
  });

  test.each<[string, V1FlowSchema, string[]]>([
    ['a whole one', schema({ rules: [rule], distinguisherMethod: { type: 'ByUser' } }), []],
    ['a precedence out of range', schema({ matchingPrecedence: 10_001 }), ['spec.matchingPrecedence']],
    ['the precedence of another', schema({ matchingPrecedence: 1 }), ['spec.matchingPrecedence']],
    ['its own precedence', schema({ matchingPrecedence: 1 }, 'exempt'), []],
    [
      'no level',
      schema({ priorityLevelConfiguration: { name: '' } }),
      ['spec.priorityLevelConfiguration.name'],
    ],
    [
      'a method that is none',
      schema({ distinguisherMethod: { type: 'ByMoon' } }),
      ['spec.distinguisherMethod.type'],
    ],
    ['no subjects', schema({ rules: [{ ...rule, subjects: [] }] }), ['spec.rules[0].subjects']],
    ['no rules', schema({ rules: [{ subjects: rule.subjects }] }), ['spec.rules[0]']],
    [
      'a subject of two kinds',
      schema({ rules: [{ ...rule, subjects: [{ kind: 'Group', user: { name: 'a' } }] }] }),
      ['spec.rules[0].subjects[0].user', 'spec.rules[0].subjects[0].group'],
    ],
    [
      'a resource rule of no namespace',
      schema({ rules: [{ ...rule, resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }] }] }),
      ['spec.rules[0].resourceRules[0].namespaces'],
    ],
  ])('%s', (_, object, fields) => {
    expect((flowSchemaKind.validate?.(object) ?? []).map(({ field }) => field)).toEqual(fields);
  });
});

describe('PriorityLevelConfiguration', () => {
  test('gets shares and queues', () => {
    const draft = limited(queue({})) as Draft<V1PriorityLevelConfiguration>;
    priorityLevelConfigurationKind.defaults?.(draft);
    expect(draft.spec?.limited).toEqual({
      nominalConcurrencyShares: 30,
      lendablePercent: 0,
      limitResponse: { type: 'Queue', queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 } },
    });
  });

  test.each<[string, V1PriorityLevelConfiguration, string[]]>([
    ['one that rejects', limited({ limited: reject }), []],
    ['a type that is none', limited({ type: 'Free' }), ['spec.type']],
    ['exempt under another name', limited({ type: 'Exempt' }), ['spec.type']],
    ['limits of an exempt one', limited({ type: 'Exempt', limited: reject }, 'exempt'), ['spec.limited']],
    ['no limits', limited({}), ['spec.limited']],
    [
      'too much lent',
      limited({ limited: { ...reject, lendablePercent: 101 } }),
      ['spec.limited.lendablePercent'],
    ],
    [
      'a hand larger than its queues',
      limited(queue({ queues: 1, handSize: 2, queueLengthLimit: 5 })),
      ['spec.limited.limitResponse.queuing.handSize'],
    ],
  ])('%s', (_, object, fields) => {
    expect((priorityLevelConfigurationKind.validate?.(object) ?? []).map(({ field }) => field)).toEqual(
      fields,
    );
  });
});
