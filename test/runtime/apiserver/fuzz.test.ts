// Thousands of almost right requests over the whole HTTP surface, made from a seed.
// Guarantees: no answer blames the server; refusals are Status; the server lives and its memory is bounded.
// TRELLIS_FUZZ_REQUESTS=N runs it longer, TRELLIS_FUZZ_SEED=S repeats a run.
import https from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiFuzz, type FuzzRequest } from '../../support/apiFuzz.js';
import { type ApiServerCommand, startApiServerCommand } from '../../support/apiServerCommand.js';

const REQUESTS = Number(process.env['TRELLIS_FUZZ_REQUESTS'] ?? 3000);
const SEED = Number(process.env['TRELLIS_FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 32));
const CLIENTS = 8;
/** What another server, the store or a revision that is not yet there may well cause. */
const RIGHT_ABOVE_500 = new Set([501, 503, 504]);

describe(`the HTTP surface, seed ${SEED}`, () => {
  let api: ApiServerCommand;
  let agent: https.Agent;
  beforeAll(async () => {
    api = await startApiServerCommand();
    const { ca, cert, key } = api.admin;
    agent = new https.Agent({ keepAlive: true, maxSockets: CLIENTS, ca, cert, key });
    await send({
      method: 'POST',
      path: '/api/v1/namespaces/default/serviceaccounts',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from('{"metadata":{"name":"default"}}'),
    });
  });
  afterAll(async () => {
    agent?.destroy();
    await api?.close();
  });

  interface Answer {
    readonly code: number;
    readonly type: string;
    readonly text: string;
  }

  function send({ method, path, headers, body }: FuzzRequest): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': body.length };
      const target = { host: '127.0.0.1', port: api.port, agent, method, path };
      const request = https.request({ ...target, headers: { ...headers, ...length }, timeout: 60_000 });
      request.on('timeout', () => request.destroy(new Error('no answer in a minute')));
      request.on('error', reject).on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
        const type = response.headers['content-type'] ?? '';
        response.on('end', () => resolve({ code: response.statusCode ?? 0, type, text }));
        response.on('error', reject);
      });
      request.end(body);
    });
  }

  /** What is wrong with the answer, if anything. */
  function fault({ method }: FuzzRequest, { code, type, text }: Answer): string | undefined {
    if (code >= 500 && !RIGHT_ABOVE_500.has(code)) return `${code} ${text}`;
    if (method === 'HEAD' || !type.startsWith('application/json')) return code < 400 ? undefined : noStatus();
    try {
      // A watch is a line an event.
      for (const line of text.split('\n').filter(Boolean)) {
        const { kind, code: told } = JSON.parse(line);
        if (code >= 400 && (kind !== 'Status' || told !== code)) return `${code} without a Status: ${line}`;
      }
      return undefined;
    } catch {
      return `${code}, and no JSON: ${text.slice(0, 300)}`;
    }
    function noStatus(): string | undefined {
      return method === 'HEAD' ? undefined : `${code} as ${type}: ${text.slice(0, 300)}`;
    }
  }

  test(`takes ${REQUESTS} almost right requests`, { timeout: 120_000 + REQUESTS * 40 }, async () => {
    const fuzz = new ApiFuzz(SEED);
    const faults: string[] = [];
    const codes = new Map<number, number>();
    let left = REQUESTS;
    const client = async () => {
      while (left > 0 && api.isAlive() && faults.length < 20) {
        left -= 1;
        const request = fuzz.request();
        const told = await send(request).then(
          (answer) => {
            codes.set(answer.code, (codes.get(answer.code) ?? 0) + 1);
            return fault(request, answer);
          },
          (error: Error) => `no answer: ${error.message}`,
        );
        if (told !== undefined) faults.push(`${describeRequest(request)}\n  ${told}`);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    expect(api.isAlive(), api.output().slice(-4000)).toBe(true);
    expect(faults.join('\n'), api.output().slice(-4000)).toBe('');
    expect(api.output()).not.toContain('a request failed');
    expect(await api.residentMb()).toBeLessThan(500);
    // Almost right is also often right: a run that only met refusals would prove little.
    const right = [...codes].reduce((sum, [code, count]) => sum + (code < 400 ? count : 0), 0);
    expect(right / REQUESTS).toBeGreaterThan(0.15);
  });
});

function describeRequest({ method, path, headers, body }: FuzzRequest): string {
  const sent = body === undefined ? '' : ` ${body.toString().slice(0, 2000)}`;
  return `${method} ${path} ${JSON.stringify(headers)}${sent}`;
}
