import { afterEach, expect, test } from 'vitest';
import type { Causes } from '../../../../src/api/causes.js';
import type { KindDefinition } from '../../../../src/api/kind.js';
import { customResourceDefinitionKind } from '../../../../src/api/kinds/customResource/definition.js';
import { SlowChecks } from '../../../../src/apiserver/load/slowChecks.js';
import { validateInTime } from '../../../../src/apiserver/registry/validateInTime.js';
import { definition, specOf } from '../../../support/customResources.js';
import { until } from '../../../support/until.js';

/** A thread that answers with what it was asked; for ever, or too much, where it is told so. */
const script = new URL(
  `data:text/javascript,${encodeURIComponent(`
    import { parentPort } from 'node:worker_threads';
    import { readlinkSync } from 'node:fs';
    parentPort.postMessage({ thread: Number(readlinkSync('/proc/thread-self').split('/').at(-1)) });
    parentPort.on('message', ({ object }) => {
      const asked = JSON.parse(object);
      if (asked === 'for ever') for (;;);
      if (asked === 'sleeps') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
      if (asked === 'memory') { const held = []; for (;;) held.push(new Array(100_000).fill({})); }
      if (asked === 'fails') return parentPort.postMessage({ error: 'it failed' });
      parentPort.postMessage({ causes: [{ message: asked }] });
    });`)}`,
);
const kind = customResourceDefinitionKind as unknown as KindDefinition;
let checks = new SlowChecks();
const open = (options = {}) => {
  checks = new SlowChecks({ script, ...options });
  return checks;
};
afterEach(() => checks.close());
const said = async (work: Promise<Causes>) => (await work)[0]?.message;

test('users take turns, however many checks one of them has', async () => {
  const { run } = { run: open().run.bind(checks) };
  const order: (string | undefined)[] = [];
  const ask = async (user: string, object: string) => order.push(await said(run(user, { kind, object })));
  await Promise.all([ask('a', 'a1'), ask('a', 'a2'), ask('a', 'a3'), ask('b', 'b1'), ask('c', 'c1')]);
  expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3']);
});

test('a check that takes too long is refused, and the next one is done', async () => {
  open({ mostMs: 300 });
  const refused = checks.run('a', { kind, object: 'for ever' });
  const next = checks.run('b', { kind, object: 'next' });
  await expect(refused).rejects.toMatchObject({ reason: 'RequestEntityTooLarge' });
  expect(await said(next)).toBe('next');
});

test('a check that has waited for its processor is no long one', async () => {
  open({ mostMs: 300 });
  expect(await said(checks.run('a', { kind, object: 'sleeps' }))).toBe('sleeps');
});

test('a check that takes too much memory is refused, and the next one is done', async () => {
  open({ mostMs: 60_000, memoryMb: 16 });
  const refused = checks.run('a', { kind, object: 'memory' });
  const next = checks.run('b', { kind, object: 'next' });
  await expect(refused).rejects.toMatchObject({ reason: 'RequestEntityTooLarge' });
  expect(await said(next)).toBe('next');
});

test('a check that fails is no answer, and the thread goes on', async () => {
  open();
  await expect(checks.run('a', { kind, object: 'fails' })).rejects.toThrow('it failed');
  expect(await said(checks.run('a', { kind, object: 'next' }))).toBe('next');
});

test('the thread ends when nobody needs it', async () => {
  open({ idleMs: 1 });
  await checks.run('a', { kind, object: 'x' });
  await until(() => expect(checks.isRunning).toBe(false));
});

test('who waits when the server ends is told so', async () => {
  open();
  const waiting = [1, 2].map((object) => checks.run('a', { kind, object }));
  checks.close();
  for (const one of waiting) await expect(one).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
});

test('what is quick is judged at once, what is not on the thread, not here', async () => {
  open();
  const context = { kind, user: { name: 'a', groups: [] } };
  const wrong = (count: number) =>
    definition({
      schema: specOf(
        Object.fromEntries(
          Array.from({ length: count }, (_, i) => [`f${i}`, { type: 'string', pattern: `(a|b){0,900}${i}` }]),
        ),
      ),
    });
  const judged = (count: number) => validateInTime({ slowChecks: checks }, context, wrong(count) as never);
  expect(Array.isArray(judged(0))).toBe(true);
  expect(checks.isRunning).toBe(false);
  const slow = judged(20);
  expect(slow).toBeInstanceOf(Promise);
  expect(checks.isRunning).toBe(true);
  expect((await slow)[0]?.message).toMatchObject({ kind: 'CustomResourceDefinition' });
});
