// What CNI plugins meet on a bad day: a crowd, a crash at any step, calls twice or too late, broken files and wishes.
// Guarantees: no address twice, nothing left after DEL, and each failure a CNI code with a sentence that helps.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { bridgeConfig } from '../../support/cni/bridgeConfig.js';
import { type Call, callPlugin, failureOf, OURS, succeed } from '../../support/cni/plugin.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'trellis-faults-'));
});
afterEach(() => rmSync(root, { recursive: true }));

interface Added {
  readonly ips: { address: string }[];
}
const SUBNET = '10.9.0.0/16';
/** None where the network's directory is not even made: DEL makes none. */
const reserved = () =>
  (existsSync(path.join(root, 'net')) ? readdirSync(path.join(root, 'net')) : []).filter((name) =>
    name.startsWith('10.'),
  );
const ipam = (more: object = {}) => ({
  type: 'host-local',
  dataDir: root,
  ranges: [[{ subnet: SUBNET }]],
  ...more,
});
const config = (more: object = {}) => bridgeConfig(ipam(), { ipMasq: true, ...more });
const addresses = (call: Partial<Call> = {}): Call => ({
  bin: OURS,
  plugin: 'host-local',
  command: 'ADD',
  netns: '/run/netns/none',
  config: config({ type: 'host-local' }),
  ...call,
});

describeWith(
  { root: true, tools: ['ip', 'nft', 'nsenter', 'unshare', 'mount'], features: ['veth', 'bridge'] },
  'CNI plugins on a bad day',
  () => {
    const namespaces = netNsPerTest();
    const make = async () => {
      const [host, container] = [await namespaces.make(), await namespaces.make()];
      const call = (command: Call['command'], more: Partial<Call> = {}): Call => ({
        bin: OURS,
        plugin: 'bridge',
        command,
        host: host.path,
        netns: container.path,
        config: config(),
        ...more,
      });
      return { host, container, call };
    };
    const elements = async (host: TestNetNs) =>
      [...(await host.run('nft', 'list', 'ruleset')).matchAll(/comment "net (\S+) eth0"/g)]
        .map(([, id]) => id)
        .sort();
    const expectNothing = async (host: TestNetNs, container?: TestNetNs) => {
      // The kernel takes apart a namespace, and the pairs that end in it, a moment after it was removed.
      await expect.poll(() => host.run('ip', '-br', 'link', 'show', 'type', 'veth')).toBe('');
      expect(await host.run('nft', 'list', 'ruleset')).toBe('');
      expect(reserved()).toEqual([]);
      if (container !== undefined) expect(await container.run('ip', '-br', 'link')).not.toContain('eth0');
    };

    describe('a crowd', () => {
      test('200 containers at once get 200 addresses', async () => {
        const ids = Array.from({ length: 200 }, (_, i) => `c${i}`);
        const results = await Promise.all(
          ids.map((containerId) => succeed<Added>(addresses({ containerId }))),
        );
        expect(new Set(results.map(({ ips }) => ips[0]?.address)).size).toBe(200);
        expect(reserved()).toHaveLength(200);
        await Promise.all(ids.map((containerId) => succeed(addresses({ containerId, command: 'DEL' }))));
        expect(reserved()).toEqual([]);
      });

      test('50 containers join a bridge at once, which none of them found, and leave it', async () => {
        const { host, call } = await make();
        const containers = await Promise.all(Array.from({ length: 50 }, () => namespaces.make()));
        const all = (command: Call['command']) =>
          Promise.all(
            containers.map(({ path: netns }, i) =>
              succeed<Added>(call(command, { netns, containerId: `c${i}` })),
            ),
          );
        const results = await all('ADD');
        expect(new Set(results.map(({ ips }) => ips[0]?.address)).size).toBe(50);
        expect(await elements(host)).toHaveLength(50);
        await all('DEL');
        await expectNothing(host);
      });
    });

    describe('a crash of ADD', () => {
      test.each(['bridge', 'veth', 'reserve', 'ipam', 'container', 'gateway', 'masquerade'])(
        'at the step %s: DEL leaves nothing, and the next ADD works',
        async (fault) => {
          const { host, container, call } = await make();
          expect((await callPlugin(call('ADD', { fault }))).signal).toBe('SIGKILL');
          await succeed(call('DEL'));
          await expectNothing(host, container);
          await succeed(call('ADD'));
          await succeed(call('DEL'));
          await expectNothing(host, container);
        },
      );
    });

    describe('DEL', () => {
      test('twice, without namespace, and before any ADD', async () => {
        const { host, container, call } = await make();
        await succeed(call('DEL'));
        const prevResult = await succeed<Added>(call('ADD'));
        await succeed(call('DEL', { config: config({ prevResult }) }));
        await succeed(call('DEL', { config: config({ prevResult }) }));
        await succeed(call('ADD'));
        await container.remove();
        await succeed(call('DEL'));
        const { netns: _, ...without } = call('DEL');
        await succeed(without);
        await expectNothing(host);
      });

      test('that comes late leaves the next holder of the address alone', async () => {
        const { host, call } = await make();
        const other = await namespaces.make();
        const only = config({ ipam: ipam({ ranges: [[{ subnet: SUBNET, rangeEnd: '10.9.0.2' }]] }) });
        const prevResult = await succeed<Added>(call('ADD', { config: only }));
        await succeed(call('DEL', { config: { ...only, prevResult } }));
        await succeed(call('ADD', { config: only, containerId: 'c2', netns: other.path }));
        await succeed(call('DEL', { config: { ...only, prevResult } }));
        expect(await elements(host)).toEqual(['c2']);
        expect(reserved()).toEqual(['10.9.0.2']);
      });

      test('after a reboot: interfaces and rules are gone, state is there', async () => {
        const { call } = await make();
        const prevResult = await succeed<Added>(call('ADD'));
        const after = await make();
        await succeed(after.call('DEL', { config: config({ prevResult }), netns: '/run/netns/gone' }));
        await expectNothing(after.host);
      });
    });

    test('addresses of a former boot are given back by the next ADD, newer ones kept', async () => {
      const only = config({ type: 'host-local', ipam: ipam({ ranges: [[{ subnet: '10.9.0.0/29' }]] }) });
      mkdirSync(path.join(root, 'net'));
      writeFileSync(path.join(root, 'net', 'boot_id'), '00000000-0000-0000-0000-000000000000');
      for (const last of [2, 3, 4, 5, 6]) {
        const file = path.join(root, 'net', `10.9.0.${last}`);
        writeFileSync(file, `old${last}\r\neth0`);
        if (last < 6) utimesSync(file, 1, 1);
      }
      const { ips } = await succeed<Added>(addresses({ config: only }));
      expect(ips[0]?.address).toBe('10.9.0.2/29');
      expect(reserved().sort()).toEqual(['10.9.0.2', '10.9.0.6']);
    });

    describe('a failure says what to do', () => {
      test('a full range', async () => {
        const full = config({ ipam: ipam({ ranges: [[{ subnet: SUBNET, rangeEnd: '10.9.0.2' }]] }) });
        await succeed(addresses({ config: full }));
        expect(await failureOf(addresses({ config: full, containerId: 'c2' }))).toMatchObject({
          code: 11,
          msg: expect.stringContaining('no IP addresses available in range set'),
          details: expect.stringContaining('run GC'),
        });
      });

      test('an interface that is no bridge, and one whose address is another', async () => {
        const { host, container, call } = await make();
        await host.run('ip', 'link', 'add', 'dummy0', 'type', 'veth', 'peer', 'dummy1');
        expect(await failureOf(call('ADD', { config: config({ bridge: 'dummy0' }) }))).toMatchObject({
          code: 7,
          msg: expect.stringContaining('not a bridge'),
          details: expect.stringContaining('name another'),
        });
        await host.run('ip', 'link', 'del', 'dummy0');
        await host.run('ip', 'link', 'add', 'br0', 'type', 'bridge');
        await host.run('ip', 'addr', 'add', '10.8.0.1/24', 'dev', 'br0');
        expect(await failureOf(call('ADD'))).toMatchObject({
          code: 7,
          details: expect.stringContaining('forceAddress'),
        });
        await expectNothing(host, container);
      });

      test('CHECK when the bridge is missing', async () => {
        const { host, call } = await make();
        const prevResult = await succeed<Added>(call('ADD'));
        await host.run('ip', 'link', 'del', 'br0');
        expect(await failureOf(call('CHECK', { config: config({ prevResult }) }))).toMatchObject({
          code: 999,
          msg: 'bridge br0 is missing',
        });
        await succeed(call('DEL'));
      });

      test.each([
        {
          what: 'a wrong subnet',
          ipam: { subnet: '10.9.0.0/99' },
          code: 6,
          says: /"subnet" must be an address with a prefix/,
        },
        {
          what: 'host bits',
          ipam: { subnet: '10.9.0.7/24' },
          code: 7,
          says: /the network address is 10\.9\.0\.0/,
        },
        { what: 'no ranges', ipam: {}, code: 7, says: /give ipam a "subnet" or "ranges"/ },
      ])('$what', async ({ ipam: wrong, code, says }) => {
        const failure = await failureOf(
          addresses({ config: config({ ipam: { type: 'host-local', dataDir: root, ...wrong } }) }),
        );
        expect(failure.code).toBe(code);
        expect(`${failure.msg} ${failure.details}`).toMatch(says);
      });

      test('malformed JSON, with line and column', async () => {
        const failure = await failureOf(
          addresses({ config: '{\n  "cniVersion": "1.1.0",\n  "name": oops\n}' }),
        );
        expect(failure).toMatchObject({ code: 6, msg: expect.stringMatching(/line 3.*column 11/) });
      });

      test('an unknown version', async () => {
        expect(await failureOf(addresses({ config: config({ cniVersion: '9.9.9' }) }))).toMatchObject({
          code: 1,
          details: expect.stringContaining("'9.9.9'; this plugin speaks 0.1.0"),
        });
      });

      test('a read-only data directory: ADD and STATUS', async () => {
        const script = `mount -t tmpfs -o ro none ${root} && exec "$0"`;
        const wrapper = ['unshare', '-m', 'sh', '-c', script];
        const says = {
          msg: expect.stringContaining('Read-only'),
          details: expect.stringContaining('dataDir'),
        };
        expect(await failureOf(addresses({ wrapper }))).toMatchObject({ code: 5, ...says });
        expect(await failureOf(addresses({ wrapper, command: 'STATUS' }))).toMatchObject({
          code: 50,
          ...says,
        });
      });
    });

    test('STATUS is silent when all is well', async () => {
      const { call } = await make();
      expect(await callPlugin(call('STATUS'))).toEqual({ code: 0, signal: null, out: '', err: '' });
    });

    test('GC removes exactly what is not in the list', async () => {
      const { host, call } = await make();
      const others = await Promise.all([namespaces.make(), namespaces.make(), namespaces.make()]);
      for (const [i, { path: netns }] of others.entries())
        await succeed(call('ADD', { netns, containerId: `c${i}` }));
      const valid = { 'cni.dev/valid-attachments': [{ containerID: 'c1', ifname: 'eth0' }] };
      await succeed(call('GC', { config: config(valid) }));
      expect(await elements(host)).toEqual(['c1']);
      expect(reserved()).toEqual(['10.9.0.3']);
    });

    test('a flushed firewall: CHECK tells, and the next ADD mends the chains', async () => {
      const { host, call } = await make();
      const other = await namespaces.make();
      const prevResult = await succeed<Added>(call('ADD'));
      const check = call('CHECK', { config: config({ prevResult }) });
      await succeed(check);
      await host.run('nft', 'flush', 'table', 'ip', 'trellis_cni');
      expect(await failureOf(check)).toMatchObject({
        code: 999,
        details: expect.stringContaining('next ADD'),
      });
      await succeed(call('ADD', { netns: other.path, containerId: 'c2' }));
      await succeed(check);
    });
  },
);
