// Which requests are recorded, how much of them, and where.
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { openAuditLog } from '../../../src/apiserver/audit/auditLog.js';
import { auditEvent } from '../../../src/apiserver/audit/event.js';
import { readPolicy, uniformPolicy } from '../../../src/apiserver/audit/policy.js';
import { parseRequest } from '../../../src/apiserver/requestInfo.js';
import type { RequestTrace } from '../../../src/apiserver/requestTrace.js';
import { until } from '../../support/until.js';

const trace = (method: string, url: string, name = 'jane', groups = ['dev']): RequestTrace => {
  const { pathname, searchParams } = new URL(url, 'http://x');
  const headers = { authorization: 'Bearer top-secret', 'user-agent': 'kubectl' };
  return {
    request: { method, url, headers, remoteAddress: '::ffff:10.0.0.9' } as never,
    auditId: 'id',
    receivedAt: 0,
    started: 0,
    info: parseRequest(method, pathname, searchParams),
    caller: { name, groups },
    user: { name, groups },
    allowedBy: 'RBAC: because',
  };
};
const POD = '/api/v1/namespaces/a/pods/x';

describe('the policy', () => {
  const policy = readPolicy({
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    rules: [
      { level: 'None', users: ['system:kube-proxy'] },
      { level: 'None', nonResourceURLs: ['/healthz*'] },
      { level: 'Request', verbs: ['create'], resources: [{ group: '', resources: ['pods', 'pods/*'] }] },
      { level: 'RequestResponse', namespaces: ['a'] },
      { level: 'Metadata', userGroups: ['dev'] },
    ],
  });
  test.each([
    ['by user', trace('GET', POD, 'system:kube-proxy'), 'None'],
    ['by path', trace('GET', '/healthz/ping'), 'None'],
    ['by verb and resource', trace('POST', '/api/v1/namespaces/b/pods'), 'Request'],
    ['by subresource', trace('POST', '/api/v1/namespaces/b/pods/x/exec'), 'Request'],
    ['by namespace', trace('GET', POD), 'RequestResponse'],
    ['by group', trace('GET', '/api/v1/nodes'), 'Metadata'],
    ['what no rule names', trace('GET', '/api/v1/nodes', 'x', []), 'None'],
    ['secrets, whatever the rule', trace('GET', '/api/v1/namespaces/a/secrets/s'), 'Metadata'],
    ['tokens, whatever the rule', trace('POST', '/api/v1/namespaces/a/serviceaccounts/s/token'), 'Metadata'],
  ])('%s', (_, request, level) => expect(policy(request)).toBe(level));
  test('one level for all still spares secrets', () => {
    const all = uniformPolicy('RequestResponse');
    expect(all(trace('GET', POD))).toBe('RequestResponse');
    for (const url of [
      '/api/v1/secrets',
      '/api/v1/namespaces/a/secrets/s/status',
      '/apis/authentication.k8s.io/v1/tokenreviews',
    ])
      expect(all(trace('POST', url))).toBe('Metadata');
  });
  test.each([
    ['another kind', { kind: 'Role' }, /kind Policy/],
    ['no rules', { apiVersion: 'audit.k8s.io/v1', kind: 'Policy' }, /no rules/],
    [
      'a level',
      { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'All' }] },
      /rules\[0\].level/,
    ],
    ['text', 'x', /expected an object/],
  ])('refuses %s', (_, document, message) => expect(() => readPolicy(document)).toThrow(message));
});

test('an event says who did what, and no credentials', () => {
  const sent = Buffer.from('{"a":1}');
  const event = auditEvent(
    { ...trace('GET', `${POD}?x=y`), annotations: { 'plugin/said': 'this' } },
    'Request',
    { status: 200, sent, answered: sent },
    1000,
  );
  expect(event).toMatchObject({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Request',
    auditID: 'id',
    verb: 'get',
    stage: 'ResponseComplete',
    requestURI: `${POD}?x=y`,
    sourceIPs: ['10.0.0.9'],
    userAgent: 'kubectl',
    user: { username: 'jane', groups: ['dev'] },
    objectRef: { resource: 'pods', namespace: 'a', name: 'x', apiVersion: 'v1' },
    responseStatus: { code: 200 },
    requestObject: { a: 1 },
    requestReceivedTimestamp: '1970-01-01T00:00:00.000000Z',
    annotations: {
      'authorization.k8s.io/decision': 'allow',
      'authorization.k8s.io/reason': 'RBAC: because',
      'plugin/said': 'this',
    },
  });
  expect(JSON.stringify(event)).not.toMatch(/top-secret|responseObject/);
});

test('the file is private, grows by lines, and is set aside', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'audit-'));
  try {
    const file = path.join(dir, 'audit.log');
    const log = openAuditLog({ path: file, maxSizeMb: 1, maxBackups: 2, log: silentLog });
    const line = 'x'.repeat(400_000);
    for (let n = 0; n < 12; n += 1) {
      log.write(line);
      // Names of files that were set aside differ by the millisecond.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await log.close();
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(log.written).toBe(12);
    expect(
      (await readFile(file, 'utf8'))
        .split('\n')
        .filter(Boolean)
        .every((one) => one === line),
    ).toBe(true);
    const names = await readdir(dir);
    expect(names.length).toBeGreaterThan(1);
    expect(names.length).toBeLessThanOrEqual(4);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

describe('what is set aside', () => {
  const line = (n: number) => `${n} ${'x'.repeat(600_000)}`;
  async function written(maxBackups: number, foreign: readonly string[]): Promise<Map<string, string>> {
    const dir = await mkdtemp(path.join(tmpdir(), 'audit-'));
    try {
      for (const name of foreign) await writeFile(path.join(dir, name), name);
      const log = openAuditLog({
        path: path.join(dir, 'audit.log'),
        maxSizeMb: 1,
        maxBackups,
        log: silentLog,
      });
      for (let n = 0; n < 8; n += 1) log.write(line(n));
      await log.close();
      const most = maxBackups === 0 ? 8 : maxBackups + 1;
      return await until(async () => {
        const names = await readdir(dir);
        expect(names.length).toBe(most + foreign.length);
        const texts = names.map(
          async (name) => [name, await readFile(path.join(dir, name), 'utf8')] as const,
        );
        return new Map(await Promise.all(texts));
      });
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  }
  test('is the newest of it, and files of others stay whatever they are called', async () => {
    const foreign = ['audit-archive.log', 'audit-zz.log', 'audit-server-2020-01-01T00-00-00.000.log'];
    const files = await written(2, foreign);
    for (const name of foreign) expect(files.get(name)).toBe(name);
    const own = [...files]
      .filter(([name]) => !foreign.includes(name))
      .map(([, text]) => Number(text.split(' ')[0]));
    expect(own.sort()).toEqual([5, 6, 7]);
  });
  test('is never overwritten, though many are set aside in one millisecond', async () => {
    const lines = [...(await written(0, [])).values()].map((text) => Number(text.split(' ')[0]));
    expect(lines.sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});
