// One copy of a version for all informers of a process, told apart by kind, uid and version.
import { describe, expect, test } from 'vitest';
import type { V1Pod } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { ObjectCache } from '../../../src/client/cache.js';
import { SharedObjects } from '../../../src/client/sharedObjects.js';

const pod = (uid: string, resourceVersion: string) =>
  ({
    metadata: { name: 'a', namespace: 'n', uid, resourceVersion, managedFields: [{ manager: 'kubectl' }] },
    spec: { containers: [] },
  }) as unknown as Stored<V1Pod>;

describe('shared objects', () => {
  const cachesOf = (...kinds: readonly string[]) => {
    const objects = new SharedObjects();
    return kinds.map((kind) => new ObjectCache<V1Pod>({ objects, kind }));
  };

  test('is one copy of a version for every cache of the kind', () => {
    const [one, other] = cachesOf('v1 Pod', 'v1 Pod');
    one?.replace([pod('u', '1')]);
    other?.apply({ type: 'ADDED', object: pod('u', '1') });
    expect(other?.get('n/a')).toBe(one?.get('n/a'));
    expect(Object.isFrozen(one?.get('n/a')?.spec)).toBe(true);
  });

  test.each([
    ['another version', ['v1 Pod', 'v1 Pod'], pod('u', '2')],
    ['another object of the name', ['v1 Pod', 'v1 Pod'], pod('w', '1')],
    ['another form of the object', ['v1 Pod', 'v2 Pod'], pod('u', '1')],
  ])('%s is another copy', (_, kinds, object) => {
    const [one, other] = cachesOf(...kinds);
    one?.replace([pod('u', '1')]);
    other?.replace([object]);
    expect(other?.get('n/a')).not.toBe(one?.get('n/a'));
    expect(other?.get('n/a')?.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
  });

  test('keeps nothing of who wrote which field', () => {
    const cache = new ObjectCache<V1Pod>();
    cache.replace([pod('u', '1')]);
    expect(cache.get('n/a')?.metadata).toEqual({ name: 'a', namespace: 'n', uid: 'u', resourceVersion: '1' });
  });
});
