// Whether the caller of a request is still there: asked before each write, and so without the signal, which is dear.
import { type AddressInfo, connect } from 'node:net';
import { expect, test, vi } from 'vitest';
import { silentLog } from '../../../../src/api/log.js';
import { type ApiRequest, jsonResponse } from '../../../../src/apiserver/exchange.js';
import { createInsecureServer } from '../../../../src/apiserver/http/server.js';
import { checkCaller } from '../../../../src/apiserver/registry/readAndWrite.js';
import { until } from '../../../support/until.js';

test('a caller that has gone away may write no more, and asking so makes no signal', async () => {
  let request: ApiRequest | undefined;
  let answer = () => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const server = createInsecureServer({
    user: { name: 'a', groups: [] },
    log: silentLog,
    handler: async (sent) => {
      request = sent;
      await answered;
      return jsonResponse(200, {});
    },
  });
  const made = vi.spyOn(globalThis, 'AbortController');
  try {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n');
    await until(() => expect(request).toBeDefined());
    const check = () => checkCaller({ request: request as ApiRequest });
    expect(check).not.toThrow();
    socket.destroy();
    await until(() => expect(check).toThrow('the caller has gone away'));
    expect(made).not.toHaveBeenCalled();
  } finally {
    made.mockRestore();
    answer();
    server.close();
  }
});
