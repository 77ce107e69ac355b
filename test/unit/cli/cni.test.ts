// The `trellis cni` commands with small plugins.
// Guarantees: results on standard output and nothing else; failures in words with exit code 1; cnitool's defaults.
import { chmodSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { answering, fakePlugins, refusing } from '../../support/fakePlugins.js';
import { trellis as runTrellis } from '../../support/trellisCommand.js';
import { FakeMachine } from '../doctor/fakeMachine.js';

const fake = fakePlugins();

const trellis = (...args: string[]) => runTrellis(args, new FakeMachine({}));

const confDir = () => path.join(fake.root, 'net.d');
const cni = (...args: string[]) =>
  trellis(
    'cni',
    ...args,
    '--conf-dir',
    confDir(),
    '--bin-dir',
    fake.dir,
    '--cache-dir',
    path.join(fake.root, 'cache'),
  );
const results = () => readdirSync(path.join(fake.root, 'cache', 'results'));

function configure(more: object = {}): void {
  fake.write('one', answering({ cniVersion: '0.4.0', ips: [{ version: '4', address: '10.0.0.2/24' }] }));
  mkdirSync(confDir(), { recursive: true });
  const list = {
    cniVersion: '0.4.0',
    name: 'net',
    plugins: [{ type: 'one', capabilities: { mac: true } }],
    ...more,
  };
  writeFileSync(path.join(confDir(), '10-net.conflist'), JSON.stringify(list));
}

// What `printf /run/netns/demo | sha512sum` begins with: cnitool makes its container IDs so.
const DEMO_ID = 'cnitool-78367785f8561ce49ede';

describe('add, check and del', () => {
  test('print the result as cnitool does, and nothing more', async () => {
    configure();
    const added = await cni(
      'add',
      'net',
      '/run/netns/demo',
      '--args',
      'IgnoreUnknown=1;A=b',
      '--capability-args',
      '{"mac": "m"}',
    );
    expect(added).toEqual({
      out: `{\n    "cniVersion": "0.4.0",\n    "ips": [\n        {\n            "version": "4",\n            "address": "10.0.0.2/24"\n        }\n    ]\n}\n`,
      err: '',
      code: 0,
    });
    expect(await cni('check', 'net', '/run/netns/demo')).toEqual({ out: '', err: '', code: 0 });
    expect(await cni('del', 'net', '/run/netns/demo')).toEqual({ out: '', err: '', code: 0 });
    expect(fake.order()).toEqual(['one ADD', 'one CHECK', 'one DEL']);
    for (const call of fake.calls())
      expect(call).toMatchObject({
        netns: '/run/netns/demo',
        ifName: 'eth0',
        args: 'IgnoreUnknown=1;A=b',
        stdin: { runtimeConfig: { mac: 'm' } },
      });
    expect(results()).toEqual([]);
  });

  test('name the container as cnitool does unless told', async () => {
    configure();
    await cni('add', 'net', '/run/netns/demo');
    await cni('add', 'net', '/run/netns/demo', '--container-id', 'mine', '--ifname', 'net1');
    expect(results()).toEqual([`net-${DEMO_ID}-eth0`, 'net-mine-net1']);
  });

  test('del works by what is kept when the configuration is gone', async () => {
    configure();
    await cni('add', 'net', '/run/netns/demo');
    rmSync(path.join(confDir(), '10-net.conflist'));
    expect((await cni('del', 'net', '/run/netns/demo')).code).toBe(0);
    expect(results()).toEqual([]);
    expect(await cni('del', 'net', '/run/netns/demo')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no network is called net'),
    });
  });

  test('a failed add is undone, its details and what followed are told', async () => {
    configure({ plugins: [{ type: 'one' }, { type: 'two' }] });
    fake.write('two', `echo "trace" >&2; ${refusing({ code: 11, msg: 'busy', details: 'later' })}`);
    expect(await cni('add', 'net', '/run/netns/demo')).toEqual({
      out: '',
      err: 'plugin two (ADD) failed: busy (code 11)\n  later\n  trace\nand then: plugin two (DEL) failed: busy (code 11)\n  later\n  trace\n',
      code: 1,
    });
    expect(fake.order()).toEqual(['one ADD', 'two ADD', 'two DEL', 'one DEL']);
    await cni('add', 'net', '/run/netns/demo', '--no-undo');
    expect(fake.order().slice(4)).toEqual(['one ADD', 'two ADD']);
  });
});

test('gc removes what is of namespaces that are gone', async () => {
  configure();
  await cni('add', 'net', '/proc/self/ns/net', '--container-id', 'alive');
  await cni('add', 'net', '/run/netns/no-such', '--container-id', 'dead');
  expect(await cni('gc', 'net')).toEqual({ out: 'removed dead eth0\n', err: '', code: 0 });
  expect(results()).toEqual(['net-alive-eth0']);
  expect((await cni('gc', 'net', '/proc/self/ns/net')).out).toBe('removed alive eth0\n');
  await cni('add', 'net', '/proc/self/ns/net', '--container-id', 'alive');
  expect((await cni('gc', 'net', '--all')).out).toBe('removed alive eth0\n');
});

describe('status', () => {
  test('says that an old version cannot tell', async () => {
    configure();
    expect((await cni('status', 'net', '/run/netns/demo')).out).toBe(
      'unknown: network net is of version 0.4.0; STATUS came with 1.1.0\n',
    );
  });

  test('says ready, or why not', async () => {
    configure({ cniVersion: '1.1.0' });
    expect(await cni('status', 'net')).toEqual({ out: 'ready\n', err: '', code: 0 });
    fake.write('one', refusing({ code: 50, msg: 'no daemon' }));
    expect(await cni('status', 'net')).toEqual({
      out: '',
      err: 'plugin one (STATUS) failed: no daemon (code 50)\n',
      code: 1,
    });
  });
});

describe('list', () => {
  test('shows networks in order', async () => {
    configure();
    writeFileSync(
      path.join(confDir(), '05.conf'),
      '{"name": "first", "cniVersion": "1.0.0", "type": "bridge"}',
    );
    expect((await cni('list')).out).toBe(
      `NAME   VERSION  PLUGINS  FILE\nfirst  1.0.0    bridge   ${confDir()}/05.conf\nnet    0.4.0    one      ${confDir()}/10-net.conflist\n`,
    );
  });

  test('fails on files that cannot be used, after showing the rest', async () => {
    configure();
    writeFileSync(path.join(confDir(), '20.conf'), '{"name": "x",\n "type": 5}');
    const { out, err, code } = await cni('list');
    expect(out).toContain('10-net.conflist');
    expect([err, code]).toEqual([
      `${confDir()}/20.conf: line 2, column 10: type: must be a text, is a number\n`,
      1,
    ]);
  });

  test('fails without any', async () => {
    expect(await cni('list')).toEqual({
      out: '',
      err: `no network configuration in ${confDir()}\n`,
      code: 1,
    });
  });
});

test('install says what it did', async () => {
  const [from, to] = [path.join(fake.root, 'from'), path.join(fake.root, 'to')];
  mkdirSync(from);
  writeFileSync(path.join(from, 'trellis-cni'), 'trellis-cni');
  chmodSync(path.join(from, 'trellis-cni'), 0o755);
  symlinkSync('trellis-cni', path.join(from, 'bridge'));
  const install = (...more: string[]) => trellis('cni', 'install', '--from', from, '--dir', to, ...more);
  expect((await install()).out).toBe(`installed ${to}/trellis-cni\ninstalled ${to}/bridge -> trellis-cni\n`);
  writeFileSync(path.join(to, 'trellis-cni'), 'another');
  expect(await install()).toMatchObject({
    out: '',
    code: 1,
    err: expect.stringContaining('of another owner'),
  });
  expect((await install('--force')).out).toBe(
    `replaced  ${to}/trellis-cni\nunchanged ${to}/bridge -> trellis-cni\n`,
  );
});

describe('a wrong command line', () => {
  test.each([
    ['an unknown command', ['cni', 'ad'], '(Did you mean add?)', 'trellis cni'],
    ['no namespace', ['cni', 'add', 'net'], "missing required argument 'netns'", 'trellis cni add'],
    [
      'wrong arguments',
      ['cni', 'add', 'n', 'x', '--args', 'A'],
      'is not of the form KEY=VALUE',
      'trellis cni add',
    ],
    [
      'settings that are no JSON',
      ['cni', 'add', 'n', 'x', '--capability-args', '{'],
      'It must be JSON',
      'trellis cni add',
    ],
    [
      'settings that are no object',
      ['cni', 'add', 'n', 'x', '--capability-args', '[]'],
      'JSON object',
      'trellis cni add',
    ],
    ['a time of nothing', ['cni', 'gc', 'n', '--timeout', '0'], 'a number above 0', 'trellis cni gc'],
  ])('%s', async (_, args, hint, command) => {
    const { out, err, code } = await trellis(...args);
    expect(err).toContain(hint);
    expect(err).toContain(`Run "${command} --help"`);
    expect([out, code]).toEqual(['', 2]);
  });
});
