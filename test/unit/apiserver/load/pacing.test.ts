// Which requests are paced, and what they hold while they are.
import { describe, expect, test } from 'vitest';
import type { ApiRequest } from '../../../../src/apiserver/exchange.js';
import { BodyRoom } from '../../../../src/apiserver/load/bodyRoom.js';
import { COSTLY_BYTES } from '../../../../src/apiserver/load/costlySteps.js';
import { makePacing } from '../../../../src/apiserver/load/pacing.js';
import type { RequestTrace } from '../../../../src/apiserver/requestTrace.js';

const traceOf = (headers: ApiRequest['headers'], own: Partial<ApiRequest> = {}): RequestTrace => ({
  request: {
    headers,
    signal: new AbortController().signal,
    body: async () => Buffer.from('body'),
    ...own,
  } as ApiRequest,
  auditId: '',
  receivedAt: 0,
  started: 0,
  caller: { name: 'jane', groups: [] },
});

describe('pacing', () => {
  test.each([
    ['without a body', {}, {}],
    ['of little', { 'content-length': '100' }, {}],
    [
      'of the same process',
      { 'content-length': String(COSTLY_BYTES) },
      { user: { name: 'system:apiserver', groups: [] } },
    ],
  ])('leaves a request %s as it is', (_, headers, own) => {
    const trace = traceOf(headers, own);
    expect(makePacing().paced(trace)).toBe(trace.request);
  });
  test.each([
    ['large', { 'content-length': String(COSTLY_BYTES) }, COSTLY_BYTES],
    ['of a size that is not told', { 'transfer-encoding': 'chunked' }, 3 * 1024 * 1024],
  ])('holds room for a body that is %s until the request ends', async (_, headers, bytes) => {
    const room = new BodyRoom();
    const trace = traceOf(headers);
    let left = 0;
    trace.leave = () => (left += 1);
    const request = makePacing({ room }).paced(trace);
    expect(room.taken).toBe(0);
    expect((await request.body()).toString()).toBe('body');
    expect(room.taken).toBe(bytes);
    trace.leave();
    expect([room.taken, left]).toEqual([0, 1]);
  });
  test('asks for a turn only where there is much to do', async () => {
    const { step } = makePacing();
    expect(step('jane', COSTLY_BYTES - 1)).toBeUndefined();
    await expect(step('jane', COSTLY_BYTES)).resolves.toBeUndefined();
  });
});
