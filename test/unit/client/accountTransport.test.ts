// Requests as a service account: whose token they carry, and when another one is asked for.
import { expect, test } from 'vitest';
import { SERVICE_ACCOUNTS } from '../../../src/api/resources.js';
import { notFound } from '../../../src/api/status.js';
import { openAccountTransport } from '../../../src/client/accountTransport.js';
import type { Client } from '../../../src/client/client.js';
import type { TransportRequest } from '../../../src/client/transport.js';

const ACCOUNT = { name: 'job-controller', namespace: 'kube-system' };
const HOUR_MS = 3_600_000;

function world({ exists = true } = {}) {
  let now = 0;
  let issued = 0;
  let present = exists;
  let answer = 200;
  const log: string[] = [];
  const sent: (string | undefined)[] = [];
  const accounts = {
    async post() {
      log.push('token');
      if (!present) throw notFound(SERVICE_ACCOUNTS, ACCOUNT.name);
      issued += 1;
      return {
        status: { token: `t${issued}`, expirationTimestamp: new Date(now + HOUR_MS).toISOString() },
      };
    },
    async create() {
      log.push('create');
      present = true;
    },
  };
  const issuer = { of: () => accounts } as unknown as Client;
  const transport = openAccountTransport({
    account: ACCOUNT,
    issuer,
    now: () => now,
    transport: {
      async request({ headers }: TransportRequest) {
        sent.push(headers?.['authorization']);
        return { status: answer, headers: {}, body: (async function* () {})() };
      },
      close() {},
    },
  });
  const ask = () => transport.request({ method: 'GET', path: '/api', headers: { accept: 'a' } });
  return {
    ask,
    log,
    sent,
    pass: (ms: number) => {
      now += ms;
    },
    answers: (status: number) => {
      answer = status;
    },
  };
}

test('asks for one token for requests that come together, and keeps it', async () => {
  const { ask, log, sent } = world();
  await Promise.all([ask(), ask()]);
  await ask();
  expect(log).toEqual(['token']);
  expect(sent).toEqual(['Bearer t1', 'Bearer t1', 'Bearer t1']);
});

test('renews a token before it ends', async () => {
  const { ask, sent, pass } = world();
  await ask();
  pass(HOUR_MS * 0.79);
  await ask();
  pass(HOUR_MS * 0.02);
  await ask();
  expect(sent).toEqual(['Bearer t1', 'Bearer t1', 'Bearer t2']);
});

test('makes an account that is missing', async () => {
  const { ask, log, sent } = world({ exists: false });
  await ask();
  expect(log).toEqual(['token', 'create', 'token']);
  expect(sent).toEqual(['Bearer t1']);
});

test('does not use a token again that was refused', async () => {
  const { ask, sent, answers } = world();
  answers(401);
  await ask();
  answers(200);
  await ask();
  expect(sent).toEqual(['Bearer t1', 'Bearer t2']);
});
