// Places for requests: who gets one, who holds none, and what the others are told.
import { describe, expect, test } from 'vitest';
import { makeInFlight } from '../../../../src/apiserver/load/inFlight.js';
import { parseRequest } from '../../../../src/apiserver/requestInfo.js';
import type { RequestTrace } from '../../../../src/apiserver/requestTrace.js';

const trace = (
  method: string,
  path: string,
  groups: string[] = [],
  user = false,
  name = 'jane',
): RequestTrace => {
  const url = new URL(path, 'http://x');
  return {
    request: { method, url: path, ...(user ? { user: { name: 'me', groups: [] } } : {}) } as never,
    auditId: '',
    receivedAt: 0,
    started: 0,
    info: parseRequest(method, url.pathname, url.searchParams),
    caller: { name, groups },
  };
};
const READ = trace('GET', '/api/v1/pods');
const WRITE = trace('POST', '/api/v1/namespaces/a/pods');

describe('in flight', () => {
  test('refuses what is too much, with when to come again, and counts it', () => {
    const inFlight = makeInFlight({ maxReading: 1, maxMutating: 1 });
    const leave = inFlight.enter(READ);
    expect(() => inFlight.enter(READ)).toThrow(
      expect.objectContaining({
        code: 429,
        message: 'Too many requests, please try again later.',
        status: expect.objectContaining({ details: { retryAfterSeconds: 1 } }),
      }),
    );
    expect(inFlight.dropped).toEqual({ readOnly: 1, mutating: 0 });
    inFlight.enter(WRITE);
    leave?.();
    leave?.();
    expect(inFlight.current).toEqual({ readOnly: 0, mutating: 1 });
    inFlight.enter(READ);
  });
  test.each([
    ['a watch', trace('GET', '/api/v1/pods?watch=1')],
    ['an exec', trace('POST', '/api/v1/namespaces/a/pods/p/exec')],
    ['a log', trace('GET', '/api/v1/namespaces/a/pods/p/log')],
    ['a caller in the same process', trace('GET', '/api/v1/pods', [], true)],
  ])('%s holds no place', (_, long) => {
    const inFlight = makeInFlight({ maxReading: 1, maxMutating: 1 });
    for (let n = 0; n < 3; n += 1) expect(inFlight.enter(long)).toBeUndefined();
    expect(inFlight.current).toEqual({ readOnly: 0, mutating: 0 });
  });
  test('one user holds at most half of the places, and gets one again when one is given back', () => {
    const inFlight = makeInFlight({ maxReading: 10, maxMutating: 10 });
    const leaves = Array.from({ length: 5 }, () => inFlight.enter(READ));
    expect(() => inFlight.enter(READ)).toThrow(expect.objectContaining({ code: 429 }));
    inFlight.enter(WRITE);
    for (let n = 0; n < 5; n += 1) inFlight.enter(trace('GET', '/api/v1/pods', [], false, 'joe'));
    leaves[0]?.();
    inFlight.enter(READ);
    expect(inFlight.current).toEqual({ readOnly: 10, mutating: 1 });
  });
  test('never refuses system:masters', () => {
    const inFlight = makeInFlight({ maxReading: 1, maxMutating: 1 });
    inFlight.enter(READ);
    inFlight.enter(trace('GET', '/api/v1/pods', ['system:masters']));
    expect(inFlight.current.readOnly).toBe(2);
  });
  test('zero is no limit', () => {
    const inFlight = makeInFlight({ maxReading: 0, maxMutating: 0 });
    for (let n = 0; n < 1000; n += 1) for (const one of [READ, WRITE]) inFlight.enter(one);
    expect(inFlight.current).toEqual({ readOnly: 1000, mutating: 1000 });
    expect(inFlight.dropped).toEqual({ readOnly: 0, mutating: 0 });
  });
});
