import { expect, test } from 'vitest';
import { type ApiRequest, requestWith } from '../../../src/apiserver/exchange.js';

/** As requests over HTTPS are: what they have is made when it is asked for, of what nobody else sees. */
class Incoming implements ApiRequest {
  readonly method = 'POST';
  readonly url = '/api';
  readonly credentials = {};
  readonly #headers = { 'content-length': '5' };
  readonly #gone = new AbortController();
  signals = 0;

  get headers() {
    return this.#headers;
  }

  get signal() {
    this.signals += 1;
    return this.#gone.signal;
  }

  isAllowed() {
    return !this.#gone.signal.aborted;
  }

  async body() {
    return Buffer.from(`${this.#headers['content-length']} bytes`);
  }

  leave() {
    this.#gone.abort();
  }
}

test('a request with another body is otherwise the same, and its signal is made only when it is asked for', async () => {
  const incoming = new Incoming();
  const request = requestWith(requestWith(incoming, { body: async () => Buffer.from('other') }), {
    user: { name: 'a', groups: [] },
  });
  expect(request).toMatchObject({ method: 'POST', url: '/api', headers: { 'content-length': '5' } });
  expect(request.user?.name).toBe('a');
  expect(String(await request.body())).toBe('other');
  expect(request.isAllowed?.()).toBe(true);
  expect(incoming.signals).toBe(0);
  incoming.leave();
  expect(request.isAllowed?.()).toBe(false);
  expect(request.signal.aborted).toBe(true);
});

test('a request with another user keeps its body', async () => {
  const request = requestWith(new Incoming(), { user: { name: 'a', groups: [] } });
  expect(String(await request.body())).toBe('5 bytes');
});
