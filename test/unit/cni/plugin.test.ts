// Plugins that misbehave.
// Guarantees: each way to fail has its code and its words, and nothing of a killed plugin goes on running.
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { askPlugin, callPlugin } from '../../../src/cni/plugin.js';
import { fakePlugins, refusing } from '../../support/fakePlugins.js';
import { until } from '../../support/until.js';

const fake = fakePlugins();

const runner = (timeoutMs = 10_000) => ({ binDirs: [fake.dir], timeoutMs });
const call = { plugin: 'bad', command: 'ADD' as const, config: { type: 'bad' } };

describe('a plugin', () => {
  test.each([
    [
      'that explains itself',
      refusing({ cniVersion: '1.0.0', code: 11, msg: 'busy', details: 'later' }),
      {
        code: 'PLUGIN_FAILED',
        cniCode: 11,
        msg: 'busy',
        details: 'later',
        message: 'plugin bad (ADD) failed: busy (code 11)',
      },
    ],
    [
      'that explains itself on both outputs',
      `echo "level=error noise" >&2; ${refusing({ code: 7, msg: 'no', details: 'd' })}`,
      { code: 'PLUGIN_FAILED', cniCode: 7, details: 'd\nlevel=error noise' },
    ],
    [
      'that fails in silence',
      'exit 3',
      { code: 'PLUGIN_CRASHED', message: 'plugin bad (ADD) ended with status 3 without an error message' },
    ],
    [
      'that fails with garbage',
      'echo "<html>"; echo "panic: nil" >&2; exit 2',
      {
        code: 'PLUGIN_CRASHED',
        message: 'plugin bad (ADD) ended with status 2 and printed "<html>"; standard error: "panic: nil"',
        details: 'panic: nil',
      },
    ],
    ['that fails with JSON that is no error', 'echo \'{"ok": 1}\'; exit 1', { code: 'PLUGIN_CRASHED' }],
    [
      'that dies by a signal',
      'echo "about to die" >&2; kill -SEGV $$',
      {
        code: 'PLUGIN_CRASHED',
        message: expect.stringContaining('was ended by SIGSEGV'),
        details: 'about to die',
      },
    ],
    [
      'that succeeds with garbage',
      'echo hello',
      { code: 'PLUGIN_OUTPUT', message: 'plugin bad succeeded in ADD but printed no JSON: "hello"' },
    ],
    ['that succeeds with nothing', 'exit 0', { code: 'PLUGIN_OUTPUT' }],
    [
      'that prints without end',
      'yes',
      { code: 'PLUGIN_OUTPUT', message: 'plugin bad (ADD) printed more than 8388608 bytes and was killed' },
    ],
  ])('%s', async (_, script, expected) => {
    fake.write('bad', script);
    await expect(askPlugin(runner(), call)).rejects.toMatchObject({
      ...expected,
      plugin: 'bad',
      command: 'ADD',
    });
  });

  test('that is missing', async () => {
    await expect(callPlugin(runner(), call)).rejects.toMatchObject({
      code: 'PLUGIN_NOT_FOUND',
      message: `plugin bad was not found as an executable in ${fake.dir}`,
    });
  });

  test('that cannot be executed', async () => {
    fake.write('bad', '');
    writeFileSync(path.join(fake.dir, 'bad'), '#!/no/such/interpreter\n');
    await expect(callPlugin(runner(), call)).rejects.toMatchObject({ code: 'PLUGIN_CRASHED' });
  });

  test('that never reads its input', async () => {
    fake.write('bad', '');
    writeFileSync(path.join(fake.dir, 'bad'), '#!/bin/sh\necho "{}"\n');
    const config = { type: 'bad', padding: 'x'.repeat(1 << 20) };
    expect(await askPlugin(runner(), { ...call, config })).toEqual({});
  });

  test('that gets a large configuration', async () => {
    fake.write('bad', '');
    writeFileSync(path.join(fake.dir, 'bad'), '#!/bin/sh\nwc -c\n');
    const config = { type: 'bad', padding: 'x'.repeat(1 << 20) };
    expect(await askPlugin(runner(), { ...call, config })).toBe(JSON.stringify(config).length);
  });

  test('that is being written waits until it is whole', async () => {
    fake.write('bad', 'echo "{}"');
    const writer = openSync(path.join(fake.dir, 'bad'), 'r+');
    setTimeout(() => closeSync(writer), 250);
    expect(await askPlugin(runner(), call)).toEqual({});
  });
});

describe('a plugin that hangs', () => {
  const isRunning = (pid: number) =>
    existsSync(`/proc/${pid}`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

  test('is killed with its children', async () => {
    fake.write('bad', `sleep 300 & echo $! > "$0.child"; echo $$ > "$0.self"; echo "waiting" >&2; wait`);
    const started = Date.now();
    await expect(callPlugin(runner(700), call)).rejects.toMatchObject({
      code: 'PLUGIN_TIMEOUT',
      message: 'plugin bad (ADD) did not end within 700 ms and was killed',
      details: 'waiting',
    });
    expect(Date.now() - started).toBeLessThan(5_000);
    for (const file of ['bad.self', 'bad.child']) {
      const pid = Number(readFileSync(path.join(fake.dir, file), 'utf8'));
      await until(() => expect(isRunning(pid)).toBe(false));
    }
  });

  test('is not held up by a child that keeps its output open', async () => {
    fake.write('bad', `sleep 5 & echo $! > "$0.child"; echo '{"a":1}'`);
    const started = Date.now();
    expect(await askPlugin(runner(), call)).toEqual({ a: 1 });
    expect(Date.now() - started).toBeLessThan(4_000);
    process.kill(Number(readFileSync(path.join(fake.dir, 'bad.child'), 'utf8')));
  });
});

test('a host namespace that is not there is told before the plugin runs', async () => {
  fake.write('bad', 'echo "{}"');
  await expect(callPlugin({ ...runner(), hostNetNs: '/run/netns/no-such' }, call)).rejects.toMatchObject({
    code: 'ARGUMENT_INVALID',
  });
  expect(fake.calls()).toEqual([]);
});
