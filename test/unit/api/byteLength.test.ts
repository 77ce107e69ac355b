// Sizes are counted in bytes of UTF-8, and so are the bounds that are stated in bytes.
import { expect, test } from 'vitest';
import { byteLength } from '../../../src/api/byteLength.js';
import { configMapKind } from '../../../src/api/kinds/configMap.js';
import { validateAnnotations } from '../../../src/api/meta.js';

test.each(['', 'plain', 'é', '€ and 漢', '😀', 'a😀b'])('%j', (text) => {
  expect(byteLength(text)).toBe(Buffer.byteLength(text));
});

test('half a million letters of two bytes each are as much as a ConfigMap may hold, and one more is too much', () => {
  const refusals = (length: number) => configMapKind.validate?.({ data: { key: 'é'.repeat(length) } });
  expect(refusals(512 * 1024)).toEqual([]);
  expect(refusals(512 * 1024 + 1)).toMatchObject([{ reason: 'FieldValueTooLong' }]);
});

test('so are annotations', () => {
  const refusals = (length: number) => validateAnnotations({ k: '€'.repeat(length) }, 'metadata.annotations');
  expect(refusals(87_000)).toEqual([]);
  expect(refusals(88_000)).toMatchObject([{ reason: 'FieldValueTooLong' }]);
});
