// An object and its companions when the store refuses, and when its answer is lost.
import { expect, test } from 'vitest';
import { guarded } from '../../../../src/apiserver/registry/create.js';
import { writeWith } from '../../../../src/apiserver/registry/transaction.js';
import { type Check, StoreError, type StoreErrorCode, type Write } from '../../../../src/store/store.js';
import { MemoryStore } from '../../../support/memoryStore.js';

const value = Buffer.from('{}');
const create = (key: string): Write => ({ verb: 'create', key, value });
const SERVICE = create('/registry/services/default/s');
const ADDRESSES = [
  '/registry/ipaddresses.networking.k8s.io/10.0.0.1',
  '/registry/ipaddresses.networking.k8s.io/fd00::1',
];

/** Makes every transaction, and fails then. */
class FailingStore extends MemoryStore {
  constructor(readonly code: StoreErrorCode) {
    super();
  }

  override async transact(writes: readonly (Write | Check)[]): Promise<readonly number[]> {
    if (writes.length === 1) return super.transact(writes);
    if (this.code === 'UNAVAILABLE') await super.transact(writes);
    throw new StoreError(this.code, 'failed', { key: SERVICE.key });
  }
}

async function left(code: StoreErrorCode): Promise<string[]> {
  const store = new FailingStore(code);
  await expect(writeWith(store, SERVICE, ADDRESSES.map(create))).rejects.toMatchObject({ code });
  return (await store.list({ prefix: '/registry/' })).entries.map(({ key }) => key);
}

test('a refused object leaves none of its companions', async () => {
  expect(await left('EXISTS')).toEqual([]);
});

test('an object whose answer was lost keeps both its addresses', async () => {
  expect(await left('UNAVAILABLE')).toEqual([...ADDRESSES, SERVICE.key]);
});

test.each<[string, Error, boolean]>([
  ['refused', new StoreError('CONFLICT', 'refused'), true],
  ['too large', new StoreError('TOO_LARGE', 'refused'), true],
  ['whose answer was lost', new StoreError('UNAVAILABLE', 'lost'), false],
  ['that failed before it began', new TypeError('ours'), true],
])('what a write took that was %s', async (_, error, isGivenBack) => {
  let given = false;
  const undo = () => {
    given = true;
  };
  await expect(guarded(undo, false, () => Promise.reject(error))).rejects.toBe(error);
  expect(given).toBe(isGivenBack);
});
