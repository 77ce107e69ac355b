// What users see of every kind: its columns, and the smallest object with its defaults, as one text per kind.
// Guarantees: no default and no column comes, goes or changes unnoticed. `vitest -u` writes the texts anew: read the difference.
import { expect, test } from 'vitest';
import { KINDS } from '../../../../src/api/kinds/index.js';
import { smallest } from './smallest.js';
import { create } from './support.js';

test.each(KINDS.map((kind) => [kind.type.resource, kind] as const))('%s', async (resource, kind) => {
  const columns = kind.columns.map(({ name, type, priority }) => `${name} ${type} ${priority}`);
  const filled = JSON.stringify(create(kind, smallest(kind)), undefined, 1);
  await expect(`${columns.join('\n')}\n\n${filled}\n`).toMatchFileSnapshot(`golden/${resource}.txt`);
});
