// Terms of leaders: what an earlier one writes after a later one has begun is refused.
import { expect, test } from 'vitest';
import { LEASES } from '../../../../src/api/resources.js';
import { objectKey } from '../../../../src/apiserver/registry/keys.js';
import { beginTerm } from '../../../../src/apiserver/registry/terms.js';
import { writeWith } from '../../../../src/apiserver/registry/transaction.js';
import { MemoryStore } from '../../../support/memoryStore.js';

const value = Buffer.from('{}');
const name = { namespace: 'kube-system', name: 'kube-scheduler' };
const key = objectKey(LEASES, name.namespace, name.name);
const create = (at: string) => ({ verb: 'create', key: `/registry/pods/default/${at}`, value }) as const;

test('a write of the last term is made, and none of an earlier one', async () => {
  const store = new MemoryStore();
  const first = await store.create(key, value);
  const old = await beginTerm(store, { ...name, resourceVersion: String(first) });
  await writeWith(store, create('one'), [], old);
  const second = await store.update(key, value, first);
  const last = await beginTerm(store, { ...name, resourceVersion: String(second) });
  await expect(writeWith(store, create('two'), [], old)).rejects.toMatchObject({ reason: 'Timeout' });
  await writeWith(store, create('three'), [], last);
  const { entries } = await store.list({ prefix: '/registry/pods/' });
  expect(entries.map((entry) => entry.key.split('/').at(-1))).toEqual(['one', 'three']);
});

test('a lease that another has taken begins no term', async () => {
  const store = new MemoryStore();
  const first = await store.create(key, value);
  await store.update(key, value, first);
  expect(await beginTerm(store, { ...name, resourceVersion: String(first) })).toBeUndefined();
});
