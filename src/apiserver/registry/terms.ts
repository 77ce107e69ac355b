// Terms of leaders, counted in the store: what a leader writes is written only while its term is the last one.
// Guarantees: a term begins only while its lease is as its leader saw it; from then on no write of an earlier term is made,
// however long it was under way.
import type { Stored } from '../../api/object.js';
import { LEASES } from '../../api/resources.js';
import { type Check, type Store, StoreError } from '../../store/store.js';
import { objectKey, termKey } from './keys.js';

/** The lease as its leader wrote it. */
export type HeldLease = Pick<Stored<object>['metadata'], 'name' | 'namespace' | 'resourceVersion'>;

/** Answers what every write of the term is checked against; undefined when the lease is no longer as it was. */
export async function beginTerm(
  store: Store,
  { namespace = '', name, resourceVersion }: HeldLease,
): Promise<Check | undefined> {
  const key = termKey(namespace, name);
  const held = await store.get(key);
  const value = Buffer.from(JSON.stringify({ lease: resourceVersion }));
  const term =
    held === undefined
      ? ({ verb: 'create', key, value } as const)
      : ({ verb: 'update', key, value, expected: held.revision } as const);
  const lease: Check = {
    verb: 'check',
    key: objectKey(LEASES, namespace, name),
    expected: Number(resourceVersion),
  };
  try {
    const [expected] = await store.transact([term, lease]);
    return { verb: 'check', key, expected: expected as number };
  } catch (error) {
    if (error instanceof StoreError && error.key !== undefined) return undefined;
    throw error;
  }
}
