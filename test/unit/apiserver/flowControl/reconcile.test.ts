// The default flow schemas and priority levels: what is corrected, what stays, and what is said of a level that is missing.
import { describe, expect, test } from 'vitest';
import { decodeObject } from '../../../../src/api/decode.js';
import type { V1FlowSchema, V1FlowSchemaCondition } from '../../../../src/api/gen/types.js';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { flowSchemaKind, priorityLevelConfigurationKind } from '../../../../src/api/kinds/flowControl.js';
import { validateObject } from '../../../../src/api/meta.js';
import type { KubeObject, Stored } from '../../../../src/api/object.js';
import {
  AUTO_UPDATE,
  MANDATORY_LEVELS,
  MANDATORY_SCHEMAS,
  SUGGESTED_LEVELS,
  SUGGESTED_SCHEMAS,
} from '../../../../src/apiserver/flowControl/defaults.js';
import { judged, revised } from '../../../../src/apiserver/flowControl/reconcile.js';

const TIME = '2026-01-01T00:00:00Z';
const probes = SUGGESTED_SCHEMAS.find(({ metadata }) => metadata?.name === 'probes') as V1FlowSchema;

test.each<[string, KindDefinition, readonly KubeObject[]]>([
  ['level', priorityLevelConfigurationKind as KindDefinition, [...MANDATORY_LEVELS, ...SUGGESTED_LEVELS]],
  ['schema', flowSchemaKind as KindDefinition, [...MANDATORY_SCHEMAS, ...SUGGESTED_SCHEMAS]],
])('every default %s is valid, and stored as it is written', (_, kind, objects) => {
  for (const object of objects) {
    const { object: draft, unknownFields } = decodeObject(kind, object);
    kind.defaults?.(draft);
    expect(unknownFields).toEqual([]);
    expect(draft).toMatchObject(object);
    expect(Object.keys(draft)).toEqual(['apiVersion', 'kind', 'metadata', 'spec']);
    expect(validateObject(kind, draft)).toEqual([]);
  }
});

describe('an object that is there', () => {
  const held = (mark: string | undefined, generation: number, matchingPrecedence: number) =>
    ({
      metadata: {
        name: 'probes',
        generation,
        annotations: { mine: 'x', ...(mark === undefined ? {} : { [AUTO_UPDATE]: mark }) },
      },
      spec: { ...probes.spec, matchingPrecedence },
    }) as unknown as Stored<V1FlowSchema>;

  test.each<[string, ReturnType<typeof held>, boolean, undefined | { precedence: number; mark: string }]>([
    ['as it ought to be', held('true', 1, 2), false, undefined],
    ['changed, and to be followed', held('true', 2, 7), false, { precedence: 2, mark: 'true' }],
    ['changed, and to be kept', held('false', 2, 7), false, undefined],
    ['unmarked and never changed', held(undefined, 1, 7), false, { precedence: 2, mark: 'true' }],
    ['unmarked and changed', held(undefined, 2, 7), false, { precedence: 7, mark: 'false' }],
    ['mandatory, whatever is said of it', held('false', 2, 7), true, { precedence: 2, mark: 'true' }],
  ])('%s', (_, object, isMandatory, expected) => {
    const right = revised(object, probes, isMandatory);
    if (expected === undefined) expect(right).toBeUndefined();
    else {
      expect(right?.spec?.matchingPrecedence).toBe(expected.precedence);
      expect(right?.metadata?.annotations).toEqual({ mine: 'x', [AUTO_UPDATE]: expected.mark });
    }
  });
});

describe('Dangling', () => {
  const other = { type: 'Other', status: 'True' };
  const missing = judged({ ...probes, status: { conditions: [other] } }, () => false, TIME);

  test('says that the level is missing, beside what others say', () => {
    expect(missing).toEqual([
      other,
      {
        type: 'Dangling',
        status: 'True',
        reason: 'NotFound',
        message:
          'This FlowSchema references the PriorityLevelConfiguration object named "exempt" but there is no such object',
        lastTransitionTime: TIME,
      },
    ]);
  });

  test('says that the level is there, once', () => {
    const status = { conditions: missing as V1FlowSchemaCondition[] };
    const found = judged({ ...probes, status }, (name) => name === 'exempt', '2026-01-02T00:00:00Z');
    expect(found?.[1]).toEqual({
      type: 'Dangling',
      status: 'False',
      reason: 'Found',
      message:
        'This FlowSchema references the PriorityLevelConfiguration object named "exempt" and it exists',
      lastTransitionTime: '2026-01-02T00:00:00Z',
    });
    expect(
      judged({ ...probes, status: { conditions: found as V1FlowSchemaCondition[] } }, () => true, TIME),
    ).toBeUndefined();
  });
});
