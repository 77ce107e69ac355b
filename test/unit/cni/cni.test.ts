// Chains of plugins, run for real with small scripts.
// Guarantees: order, previous results, environment, clean-up and concurrency are what the specification asks for.
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { Cni, type CniOptions } from '../../../src/cni/cni.js';
import { parseList } from '../../../src/cni/config.js';
import type { CniError } from '../../../src/cni/error.js';
import { CNI_VERSIONS } from '../../../src/cni/version.js';
import { answering, fakePlugins, refusing } from '../../support/fakePlugins.js';

const fake = fakePlugins();

const first = { cniVersion: '1.0.0', ips: [{ address: '10.0.0.2/24' }] };
const second = { cniVersion: '1.0.0', ips: [{ address: '10.0.0.3/24' }] };
const attachment = { containerId: 'c1', netns: '/run/netns/x', ifName: 'eth0' };

function make(options: CniOptions = {}) {
  return new Cni({ binDirs: [fake.dir], cacheDir: path.join(fake.root, 'cache'), ...options });
}

function list(plugins: object[], more: object = {}) {
  return parseList({
    name: 'f',
    text: JSON.stringify({ cniVersion: '1.0.0', name: 'net', plugins, ...more }),
  });
}

function twoPlugins() {
  fake.write('one', answering(first));
  fake.write('two', answering(second));
  return list([{ type: 'one', mtu: 1400 }, { type: 'two' }]);
}

const kept = () => path.join(fake.root, 'cache', 'results', 'net-c1-eth0');
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: CniError) => error,
  );

describe('a chain', () => {
  test('adds in order with the result before, checks in order and deletes in reverse with the last', async () => {
    const [cni, net] = [make(), twoPlugins()];
    const result = await cni.add(net, attachment);
    expect(result.ips).toEqual(second.ips);
    expect(existsSync(kept())).toBe(true);
    await cni.check(net, attachment);
    await cni.del(net, attachment);
    expect(existsSync(kept())).toBe(false);
    expect(fake.order()).toEqual(['one ADD', 'two ADD', 'one CHECK', 'two CHECK', 'two DEL', 'one DEL']);
    expect(fake.calls().map(({ stdin }) => stdin['prevResult'])).toEqual([
      undefined,
      first,
      second,
      second,
      second,
      second,
    ]);
    expect(fake.calls()[0]).toMatchObject({
      containerId: 'c1',
      netns: '/run/netns/x',
      ifName: 'eth0',
      args: '',
      path: fake.dir,
      stdin: { name: 'net', cniVersion: '1.0.0', type: 'one', mtu: 1400 },
    });
  });

  test('finds plugins in the first directory that has them', async () => {
    fake.write('one', answering(first));
    const other = path.join(fake.root, 'other');
    mkdirSync(other);
    // Neither a folder nor a file that cannot be run is a plugin.
    writeFileSync(path.join(other, 'one'), '');
    const cni = make({ binDirs: [path.join(fake.root, 'none'), other, fake.dir] });
    await cni.add(list([{ type: 'one' }]), attachment);
    expect(fake.calls()[0]?.path).toBe(`${fake.root}/none:${other}:${fake.dir}`);
  });

  test('gives settings by capability, also those of ADD to CHECK and DEL', async () => {
    fake.write('one', answering(first));
    fake.write('two', answering(second));
    const net = list([
      { type: 'one', capabilities: { mac: true } },
      { type: 'two', capabilities: { ips: true } },
    ]);
    const capabilityArgs = { mac: 'm', ips: ['10.0.0.9/24'], portMappings: [] };
    const cni = make();
    await cni.add(net, { ...attachment, capabilityArgs, args: [['K8S_POD_NAME', 'p']] });
    await cni.check(net, attachment);
    await cni.del(net, attachment);
    const seen = fake.calls().map(({ stdin, args }) => [stdin['runtimeConfig'], args]);
    const one = [{ mac: 'm' }, 'K8S_POD_NAME=p'];
    const two = [{ ips: ['10.0.0.9/24'] }, 'K8S_POD_NAME=p'];
    expect(seen).toEqual([one, two, one, two, two, one]);
  });

  test('deletes what nobody added, without a namespace too', async () => {
    const net = twoPlugins();
    await make().del(net, { containerId: 'c1' });
    await make().del(net, { containerId: 'c1', netns: '' });
    expect(fake.order()).toEqual(['two DEL', 'one DEL', 'two DEL', 'one DEL']);
    expect(fake.calls()[0]?.stdin).not.toHaveProperty('prevResult');
  });

  test('stops deleting at a failure and keeps the entry, so that DEL can be tried again', async () => {
    const [cni, net] = [make(), twoPlugins()];
    await cni.add(net, attachment);
    fake.write('two', refusing({ cniVersion: '1.0.0', code: 11, msg: 'try again' }));
    await expect(cni.del(net, attachment)).rejects.toMatchObject({
      code: 'PLUGIN_FAILED',
      cniCode: 11,
      plugin: 'two',
    });
    expect(existsSync(kept())).toBe(true);
    expect(fake.order().at(-1)).toBe('two DEL');
  });

  test.each(CNI_VERSIONS.map((version) => [version]))(
    'of version %s gives results in that version',
    async (cniVersion) => {
      const words =
        cniVersion < '0.3.0' ? { ip4: { ip: '10.0.0.2/24' } } : { ips: [{ address: '10.0.0.2/24' }] };
      fake.write('one', answering({ cniVersion, ...words }));
      fake.write('two', answering({ cniVersion, ...words }));
      const net = list([{ type: 'one' }, { type: 'two' }], { cniVersion });
      const cni = make();
      await cni.add(net, attachment);
      await cni.del(net, attachment);
      const [, add, del] = fake.calls();
      expect(add?.stdin['prevResult']).toMatchObject({ cniVersion });
      expect('prevResult' in (del?.stdin ?? {})).toBe(cniVersion >= '0.4.0');
      expect(existsSync(kept())).toBe(false);
    },
  );
});

describe('CHECK', () => {
  test.each([['0.1.0'], ['0.2.0'], ['0.3.0'], ['0.3.1']])('is not in version %s', async (cniVersion) => {
    const net = list([{ type: 'one' }], { cniVersion });
    await expect(make().check(net, attachment)).rejects.toMatchObject({ code: 'VERSION_UNSUPPORTED' });
  });

  test('of what nobody added says so', async () => {
    await expect(make().check(twoPlugins(), attachment)).rejects.toMatchObject({ code: 'NOT_ATTACHED' });
    expect(fake.calls()).toEqual([]);
  });

  test('runs nothing when the list disables it', async () => {
    const net = list([{ type: 'one' }], { disableCheck: true });
    await make().check(net, attachment);
    expect(fake.calls()).toEqual([]);
  });
});

describe('a failed ADD', () => {
  const broken = () => {
    fake.write('one', answering(first));
    fake.write(
      'two',
      `[ "$CNI_COMMAND" = DEL ] && exit 0; ${refusing({ code: 7, msg: 'bad conf', details: 'why' })}`,
    );
    fake.write('three', answering(second));
    return list([{ type: 'one' }, { type: 'two' }, { type: 'three' }]);
  };

  test('leaves clean-up to the runtime', async () => {
    await expect(make().add(broken(), attachment)).rejects.toMatchObject({
      cniCode: 7,
      msg: 'bad conf',
      details: 'why',
    });
    expect(fake.order()).toEqual(['one ADD', 'two ADD']);
    expect(existsSync(kept())).toBe(false);
  });

  test('is undone when asked for: the plugins that ran, in reverse', async () => {
    await expect(make({ undoFailedAdd: true }).add(broken(), attachment)).rejects.toMatchObject({
      cniCode: 7,
      errors: [],
    });
    expect(fake.order()).toEqual(['one ADD', 'two ADD', 'two DEL', 'one DEL']);
    expect(fake.calls().at(-1)?.stdin['prevResult']).toEqual(first);
  });

  test('tells what could not be undone, and goes on', async () => {
    const net = broken();
    fake.write('two', refusing({ code: 7, msg: 'never' }));
    const error = await failureOf(make({ undoFailedAdd: true }).add(net, attachment));
    expect(error).toMatchObject({
      command: 'ADD',
      errors: [{ command: 'DEL', plugin: 'two', msg: 'never' }],
    });
    expect(fake.order().at(-1)).toBe('one DEL');
  });

  test('of an attachment that is there does not undo the first', async () => {
    const cni = make({ undoFailedAdd: true });
    await cni.add(twoPlugins(), attachment);
    const before = readFileSync(kept(), 'utf8');
    await expect(cni.add(broken(), attachment)).rejects.toMatchObject({ cniCode: 7 });
    expect(fake.order().filter((call) => call.endsWith('DEL'))).toEqual([]);
    expect(readFileSync(kept(), 'utf8')).toBe(before);
  });

  test('is undone when the result cannot be kept', async () => {
    symlinkSync('/no/such/directory', path.join(fake.root, 'cache'));
    const error = await failureOf(make({ undoFailedAdd: true }).add(twoPlugins(), attachment));
    expect(error).toMatchObject({ code: 'CACHE_FAILED', errors: [] });
    expect(fake.order()).toEqual(['one ADD', 'two ADD', 'two DEL', 'one DEL']);
  });

  test('never begins where the cache cannot be read', async () => {
    writeFileSync(path.join(fake.root, 'cache'), '');
    const error = await failureOf(make({ undoFailedAdd: true }).add(twoPlugins(), attachment));
    expect(error?.code).toBe('CACHE_FAILED');
    expect(fake.calls()).toEqual([]);
  });

  test('with a missing plugin undoes those before it', async () => {
    fake.write('one', answering(first));
    const net = list([{ type: 'one' }, { type: 'gone' }]);
    const error = await failureOf(make({ undoFailedAdd: true }).add(net, attachment));
    expect(error).toMatchObject({ code: 'PLUGIN_NOT_FOUND', plugin: 'gone', errors: [] });
    expect(fake.order()).toEqual(['one ADD', 'one DEL']);
  });
});

describe('concurrency', () => {
  const slow = `echo "in $CNI_CONTAINERID" >> "$0.log"; sleep 0.3; echo "out $CNI_CONTAINERID" >> "$0.log"; ${answering(first)}`;
  const log = () => readFileSync(path.join(fake.dir, 'slow.log'), 'utf8').trim().split('\n');

  test('different containers run in parallel', async () => {
    fake.write('slow', slow);
    const [cni, net] = [make(), list([{ type: 'slow' }])];
    await Promise.all(['a', 'b', 'c'].map((containerId) => cni.add(net, { containerId })));
    expect(
      log()
        .slice(0, 3)
        .every((line) => line.startsWith('in ')),
    ).toBe(true);
  });

  test('one container is served serially, also on two networks', async () => {
    fake.write('slow', slow);
    const cni = make();
    await Promise.all([
      cni.add(list([{ type: 'slow' }]), { containerId: 'a' }),
      cni.add(list([{ type: 'slow' }], { name: 'other' }), { containerId: 'a', ifName: 'eth1' }),
      cni.del(list([{ type: 'slow' }]), { containerId: 'a' }),
    ]);
    expect(log()).toEqual(['in a', 'out a', 'in a', 'out a', 'in a', 'out a']);
  });
});

test('names that cannot be are refused before any plugin runs', async () => {
  const net = twoPlugins();
  const [cni, wrong] = [make(), { containerId: '../c' }];
  for (const work of [cni.add(net, wrong), cni.del(net, wrong), cni.check(net, wrong)])
    await expect(work).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
  expect(fake.calls()).toEqual([]);
});

describe('STATUS', () => {
  test('asks every plugin of 1.1.0', async () => {
    fake.write('one', 'exit 0');
    fake.write('two', 'exit 0');
    const net = list([{ type: 'one' }, { type: 'two' }], { cniVersion: '1.1.0' });
    expect(await make().status(net)).toEqual({ known: true });
    expect(fake.order()).toEqual(['one STATUS', 'two STATUS']);
    expect(fake.calls()[0]).toMatchObject({
      containerId: '',
      ifName: '',
      stdin: { name: 'net', cniVersion: '1.1.0' },
    });
  });

  test('fails with the code of the plugin that is not ready', async () => {
    fake.write('one', refusing({ code: 50, msg: 'no daemon' }));
    const net = list([{ type: 'one' }], { cniVersion: '1.1.0' });
    await expect(make().status(net)).rejects.toMatchObject({
      cniCode: 50,
      msg: 'no daemon',
      command: 'STATUS',
    });
  });

  test('cannot be told before', async () => {
    expect(await make().status(list([{ type: 'one' }]))).toEqual({
      known: false,
      reason: 'network net is of version 1.0.0; STATUS came with 1.1.0',
    });
  });
});
