// Long requests are cut for the way to the core; what comes back speaks of the requests as they were given.
import { describe, expect, test } from 'vitest';
import type { IpSetRequest } from '../../../src/kernel/ipset/port.js';
import { joinFailures, splitRequests } from '../../../src/kernel/splitRequests.js';

const requests: readonly IpSetRequest[] = [
  { do: 'flush', kind: 'set', name: 's' },
  {
    do: 'add',
    kind: 'entry',
    set: 's',
    existsOk: true,
    entries: Array.from({ length: 4500 }, (_, i) => String(i)),
  },
  { do: 'delete', kind: 'entry', set: 's', entries: ['1', '2'] },
];
const cut = () => splitRequests(requests, 'entries', 2000);
const failure = { code: 'EEXIST', message: '', operation: '', kernel: '', errno: 17 };

describe('long requests', () => {
  test('are cut into pieces that keep order and options', () => {
    const pieces = cut();
    expect(pieces.map(({ index, offset }) => [index, offset])).toEqual([
      [0, 0],
      [1, 0],
      [1, 2000],
      [1, 4000],
      [2, 0],
    ]);
    const joined = pieces.flatMap(({ request, index }) =>
      index === 1 && 'entries' in request ? request.entries : [],
    );
    expect(joined).toEqual(requests[1]?.kind === 'entry' ? requests[1].entries : []);
    expect(pieces[2]?.request).toMatchObject({ do: 'add', set: 's', existsOk: true });
  });

  test('have their failures told by their own numbers', () => {
    const pieces = cut();
    const failures = joinFailures(pieces, [
      { ...failure, index: 1, entry: 7 },
      { ...failure, index: 3, entry: 7 },
      { ...failure, index: 4, entry: 1 },
      failure,
    ]);
    expect(failures.map(({ index, entry }) => [index, entry])).toEqual([
      [1, 7],
      [1, 4007],
      [2, 1],
      [undefined, undefined],
    ]);
  });

  test('that fail as a whole fail once', () => {
    const pieces = cut();
    const failures = joinFailures(
      pieces,
      [1, 2, 3].map((index) => ({ ...failure, index })),
    );
    expect(failures.map(({ index }) => index)).toEqual([1]);
  });
});
