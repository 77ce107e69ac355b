// When an Event was last seen: what its time to live counts from.
import { expect, test } from 'vitest';
import type { CoreV1Event } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { lastSeen } from '../../../src/apiserver/eventExpiry.js';

const event = (fields: object): Stored<CoreV1Event> =>
  ({
    metadata: { name: 'e', creationTimestamp: '2026-01-01T00:00:00Z' },
    ...fields,
  }) as unknown as Stored<CoreV1Event>;

test.each([
  ['when it was made', {}, '2026-01-01T00:00:00Z'],
  [
    'when it was repeated',
    { lastTimestamp: '2026-01-01T02:00:00Z', eventTime: null },
    '2026-01-01T02:00:00Z',
  ],
  ['of a series', { series: { lastObservedTime: '2026-01-01T03:00:00.5Z' } }, '2026-01-01T03:00:00.500Z'],
  [
    'whose times are older or no times',
    { lastTimestamp: 'soon', eventTime: '2025-01-01T00:00:00Z' },
    '2026-01-01T00:00:00Z',
  ],
])('%s', (_, fields, expected) => {
  expect(lastSeen(event(fields))).toBe(Date.parse(expected));
});
