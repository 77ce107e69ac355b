// The addon called as nobody should: every argument that is not of its kind is refused, and none means something else.
// Guarantees: nothing is opened in the host's namespace by mistake, nothing is cut at a NUL, and nothing is left behind.
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Addon, addon as load } from '../../../src/kernel/addon.js';
import { createNetNs, removeNetNs } from '../../../src/kernel/netns.js';
import { run } from '../../../src/kernel/process.js';
import { describeWith } from '../../support/requires.js';

const addon = load() as unknown as Record<keyof Addon, (...values: unknown[]) => unknown>;
const refused = expect.objectContaining({ code: 'INVALID' });
const runOptions = { timeoutMs: 1000, maxOutputBytes: 1000, env: {} };

const noNamespaces: [string, unknown][] = [
  ['null', null],
  ['NaN', Number.NaN],
  ['zero', 0],
  ['a negative number', -1],
  ['half a process', 1.5],
  ['infinity', Number.POSITIVE_INFINITY],
  ['more than a process id', 2 ** 32 + 1],
  ['an empty string', ''],
  ['a path with a NUL', '/run/netns/a\0b'],
  ['an object', {}],
  ['a list', ['/run/netns/a']],
  ['true', true],
  ['false', false],
  ['a symbol', Symbol('x')],
  ['a function', () => undefined],
  ['a large integer', 1n],
  ['a boxed string', Object('/run/netns/a')],
];

describe.each(noNamespaces)('%s as a namespace', (_, value) => {
  test.each<[keyof Addon, (namespace: unknown) => unknown[]]>([
    ['open', (namespace) => ['route', namespace]],
    ['watchRoutes', (namespace) => [namespace, ['link'], () => undefined]],
    ['watchNft', (namespace) => [namespace, () => undefined]],
    ['txChecksum', (namespace) => [namespace, 'lo']],
    ['setTxChecksum', (namespace) => [namespace, 'none', true]],
    ['isRefused', (namespace) => [namespace, '127.0.0.1', '127.0.0.1', 1]],
    ['run', (namespace) => [['true'], namespace, [], runOptions]],
  ])('%s refuses it', (name, argumentsFor) => {
    expect(() => addon[name](...argumentsFor(value))).toThrow(refused);
  });
});

test.each<[string, keyof Addon, unknown[]]>([
  ['a limit of time below zero', 'run', [['true'], undefined, [], { ...runOptions, timeoutMs: -1 }]],
  [
    'a limit of time that is none',
    'run',
    [['true'], undefined, [], { ...runOptions, timeoutMs: Number.NaN }],
  ],
  ['input that is no bytes', 'run', [['true'], undefined, ['x'], runOptions]],
  ['arguments that are no list', 'run', ['true', undefined, [], runOptions]],
  ['a variable that is no text', 'run', [['true'], undefined, [], { ...runOptions, env: { A: 1 } }]],
  ['no options', 'run', [['true'], undefined, []]],
  ['a descriptor that is none', 'tryLockFile', [-1]],
  ['a family that is no text', 'open', [7, undefined]],
  ['a listener that is none', 'watchNft', [undefined, 'x']],
  ['a path that is none', 'createNetNs', [undefined]],
])('%s is refused', (_, name, values) => {
  expect(() => addon[name](...values)).toThrow(refused);
});

test('lists of the runtime may be given away while they are compared', async () => {
  const pleg = load().openPleg();
  const list = () => new Uint8Array(8 << 20);
  for (let round = 0; round < 5; round++) {
    const [sandboxes, containers] = [list(), list()];
    const diff = pleg.diff(sandboxes, containers).catch((error: Error) => error);
    structuredClone(sandboxes.buffer, { transfer: [sandboxes.buffer, containers.buffer] });
    expect(sandboxes.byteLength).toBe(0);
    expect(await diff).toMatchObject({ code: 'EBADMSG' });
  }
});

test('programs that take long leave the threads of Node alone', async () => {
  const stop = path.join(mkdtempSync(path.join(tmpdir(), 'trellis-long-')), 'stop');
  const waiting = `until [ -e '${stop}' ]; do sleep 0.05; done`;
  const long = Array.from({ length: 8 }, () => run(['sh', '-c', waiting]));
  try {
    // All of these need a thread of libuv's pool, which has four.
    await Promise.all(Array.from({ length: 8 }, () => stat('/')));
    expect(readdirSync(path.dirname(stop))).toEqual([]);
  } finally {
    await run(['touch', stop]);
    await Promise.all(long);
    rmSync(path.dirname(stop), { recursive: true });
  }
});

describeWith({ root: true, tools: ['prlimit'] }, 'namespaces by their path', () => {
  test('a NUL cuts nothing off', async () => {
    const pin = `/run/netns/trellis-nul-${process.pid}`;
    await createNetNs(pin);
    try {
      await expect(removeNetNs(`${pin}\0b`)).rejects.toMatchObject({ code: 'INVALID' });
      await expect(createNetNs(`${pin}-two\0b`)).rejects.toMatchObject({ code: 'INVALID' });
      expect(existsSync(`${pin}-two`)).toBe(false);
      expect(statSync(pin).isFile()).toBe(true);
    } finally {
      await removeNetNs(pin);
    }
  });

  test.each([
    ['of another kind', '/proc/self/ns/mnt'],
    ['that is a device', '/dev/zero'],
  ])('a namespace %s is refused', async (_, at) => {
    await expect(run(['true'], { netns: at })).rejects.toMatchObject({ code: 'EINVAL' });
  });

  test('a pipe is refused at once', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'trellis-pipe-'));
    const pipe = path.join(directory, 'pipe');
    await run(['mkfifo', pipe]);
    await expect(run(['true'], { netns: pipe })).rejects.toMatchObject({ code: 'EINVAL' });
    rmSync(directory, { recursive: true });
  });

  test('a socket that cannot be opened there is told with its reason', async () => {
    // With no descriptor left the namespace cannot be opened, with one left the socket in it cannot.
    const script = `
      const { closeSync, openSync } = require('node:fs');
      const addon = require(process.argv[1]);
      const held = [];
      try { for (;;) held.push(openSync('/dev/null')); } catch {}
      const tried = () => addon.open('route', '/proc/self/ns/net').then(() => 'opened', (error) => error.code + ' ' + error.message);
      tried().then(async (none) => {
        closeSync(held.pop());
        const one = await tried();
        for (const fd of held) closeSync(fd);
        console.log(none + '\\n' + one);
      });`;
    const addonFile = path.resolve(process.env['TRELLIS_ADDON'] ?? 'build/Release/trellis.node');
    const { stdout } = await run(['prlimit', '--nofile=64:64', process.execPath, '-e', script, addonFile]);
    expect(stdout.toString().trim().split('\n')).toEqual([
      'EMFILE open network namespace /proc/self/ns/net: Too many open files',
      'EMFILE open a netlink socket of protocol 0: Too many open files',
    ]);
  });
});
