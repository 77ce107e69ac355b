// What becomes of objects whose owners are gone or going.
import { describe, expect, test } from 'vitest';
import {
  type ItemAction,
  type OwnerState,
  planItem,
} from '../../../../src/controllers/garbageCollector/plan.js';
import { ago, pod } from '../support/objects.js';

const owner = (name: string, blockOwnerDeletion = true) => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name,
  uid: `uid-${name}`,
  blockOwnerDeletion,
});
const item = (owners: string[], finalizers: string[] = [], going = false) =>
  pod('item', {
    meta: {
      ownerReferences: owners.map((name) => owner(name)),
      finalizers,
      ...(going ? { deletionTimestamp: ago(1) } : {}),
    },
  });
const dependent = (name: string, more: object = {}, blocks = true) =>
  pod(name, { meta: { ownerReferences: [owner('item', blocks)], ...more } });
const plan = (
  object: ReturnType<typeof item>,
  states: Record<string, OwnerState> = {},
  dependents: ReturnType<typeof dependent>[] = [],
) => planItem({ item: object, ownerState: ({ name }) => states[name] ?? 'solid', dependents });

describe('planItem', () => {
  const waiting = dependent('w', { finalizers: ['foregroundDeletion'], deletionTimestamp: ago(1) });
  test.each<[string, ItemAction[], ItemAction[]]>([
    ['leaves what nobody owns', plan(item([])), []],
    ['leaves what an owner holds', plan(item(['a'])), []],
    [
      'deletes what lost its owner',
      plan(item(['a']), { a: 'absent' }),
      [{ do: 'delete', propagationPolicy: 'Background' }],
    ],
    [
      'drops the lost owner of what has another',
      plan(item(['a', 'b']), { a: 'absent' }),
      [{ do: 'setOwners', owners: [owner('b')] }],
    ],
    [
      'drops an owner that waits, of what has another',
      plan(item(['a', 'b']), { a: 'waiting' }),
      [{ do: 'setOwners', owners: [owner('b')] }],
    ],
    [
      'deletes in the foreground under an owner that waits',
      plan(item(['a']), { a: 'waiting' }, [dependent('d')]),
      [{ do: 'delete', propagationPolicy: 'Foreground' }],
    ],
    [
      'unties a circle',
      plan(item(['a']), { a: 'waiting' }, [waiting]),
      [
        { do: 'unblock', dependent: waiting },
        { do: 'delete', propagationPolicy: 'Foreground' },
      ],
    ],
    [
      'keeps to the orphan finalizer',
      plan(item(['a'], ['orphan']), { a: 'absent' }),
      [{ do: 'delete', propagationPolicy: 'Orphan' }],
    ],
    ['leaves what is already going', plan(item(['a'], ['mine'], true), { a: 'absent' }), []],
  ])('%s', (_, actions, wanted) => {
    expect(actions).toEqual(wanted);
  });

  test('lets an owner in the foreground go when nothing blocks it', () => {
    const free = plan(item([], ['foregroundDeletion', 'mine'], true), {}, [dependent('d', {}, false)]);
    expect(free).toEqual([{ do: 'setFinalizers', finalizers: ['mine'] }]);
    const d = dependent('d');
    expect(plan(item([], ['foregroundDeletion'], true), {}, [d])).toEqual([{ do: 'visit', dependent: d }]);
  });

  test('orphans the dependents before the owner goes', () => {
    const d = dependent('d');
    expect(plan(item([], ['orphan'], true), {}, [d])).toEqual([
      { do: 'orphan', dependent: d },
      { do: 'setFinalizers', finalizers: [] },
    ]);
  });
});
