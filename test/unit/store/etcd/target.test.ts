// How a restore to etcd is cut into transactions.
import { expect, test } from 'vitest';
import { batches } from '../../../../src/store/etcd/target.js';

const entry = (bytes: number) => ({ key: '/k', value: Buffer.alloc(bytes), revision: 1 });
const sizes = (values: readonly number[]) => [...batches(values.map(entry))].map((batch) => batch.length);

test.each([
  ['nothing', [], []],
  ['as many as fit', Array.from({ length: 250 }, () => 10), [100, 100, 50]],
  ['a value too large to share goes alone', [10, 1_400_000, 10], [1, 1, 1]],
  ['what exceeds the size begins the next', [600_000, 600_000, 10], [1, 2]],
] as const)('%s', (_, values, wanted) => {
  expect(sizes(values)).toEqual(wanted);
});
