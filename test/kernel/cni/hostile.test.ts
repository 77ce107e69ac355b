// CNI plugins on hosts where others mean harm, and with names that nobody should choose.
// Guarantees: nobody but root can make a plugin wait; what outlives a killed plugin is waited for, and plugins that it ran do not; no
// attachment touches another's rules; nothing named by a configuration is followed, waited for or read without an end.

import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { run } from '../../../src/kernel/process.js';
import { bridgeConfig } from '../../support/cni/bridgeConfig.js';
import { type Call, callPlugin, failureOf, OURS, succeed } from '../../support/cni/plugin.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'trellis-hostile-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const at = (...names: string[]) => path.join(root, ...names);
const modeOf = (file: string) => statSync(file).mode & 0o7777;
const reserved = (network = 'net') => readdirSync(at(network)).filter((name) => name.startsWith('10.'));
/** A zombie, which nobody has buried yet, does nothing more. */
function isRunning(pid: string): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
const config = (more: object = {}) =>
  bridgeConfig({ dataDir: root, ranges: [[{ subnet: '10.9.0.0/24' }]] }, { ipMasq: true, ...more });
const addresses = (command: Call['command'], more: Partial<Call> = {}): Call => ({
  bin: OURS,
  plugin: 'host-local',
  command,
  netns: '/run/netns/none',
  config: config(),
  ...more,
});

describe('host-local on a hostile disk', () => {
  const openMask = ['sh', '-c', 'umask 0; exec "$0" "$@"'];

  test('whatever the umask is, nobody else can take the lock or write', async () => {
    await succeed(
      addresses('ADD', {
        wrapper: openMask,
        config: config({ ipam: { ...config().ipam, dataDir: at('a', 'b') } }),
      }),
    );
    expect([modeOf(at('a')), modeOf(at('a', 'b', 'net')), modeOf(at('a', 'b', 'net', 'lock'))]).toEqual([
      0o755, 0o700, 0o600,
    ]);
  });

  test('a lock that another plugin left open to all is closed to them', async () => {
    mkdirSync(at('net'));
    writeFileSync(at('net', 'lock'), '');
    chmodSync(at('net', 'lock'), 0o666);
    await succeed(addresses('ADD'));
    expect(modeOf(at('net', 'lock'))).toBe(0o600);
  });

  test.each(['lock', 'last_reserved_ip.0'])(
    'a link or a pipe in the place of %s is refused',
    async (name) => {
      mkdirSync(at('net'));
      writeFileSync(at('outside'), 'precious');
      symlinkSync(at('outside'), at('net', name));
      expect(await failureOf(addresses('ADD'))).toMatchObject({ code: 5 });
      expect(readFileSync(at('outside'), 'utf8')).toBe('precious');
      rmSync(at('net', name));
      await run(['mkfifo', at('net', name)]);
      expect(await failureOf(addresses('ADD'))).toMatchObject({ code: 5 });
      expect(reserved()).toEqual([]);
    },
  );

  test('a container with a very long name gives its address back', async () => {
    const containerId = 'c'.repeat(5_000);
    await succeed(addresses('ADD', { containerId }));
    expect(reserved()).toHaveLength(1);
    await succeed(addresses('DEL', { containerId }));
    expect(reserved()).toEqual([]);
  });

  test.each(['/dev/zero', '/proc'])('resolvConf %s is refused', async (resolvConf) => {
    const ipam = { ...config().ipam, resolvConf };
    expect(await failureOf(addresses('ADD', { config: config({ ipam }) }))).toMatchObject({ code: 5 });
  });

  test('a configuration beyond all measure is refused', async () => {
    const text = JSON.stringify(config({ note: 'x'.repeat(1024 * 1024) }));
    expect(await failureOf(addresses('ADD', { config: text }))).toMatchObject({ code: 6 });
  });
});

describeWith({ root: true, tools: ['mount', 'umount'] }, 'host-local on a full disk', () => {
  test('DEL gives the address back, also after a reboot', async () => {
    mkdirSync(at('net'));
    await run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', at('net')]);
    try {
      await succeed(addresses('ADD'));
      rmSync(at('net', 'boot_id'));
      await run(['sh', '-c', `cat /dev/zero > ${at('net', 'ballast')}`]);
      expect(reserved()).toHaveLength(1);
      await succeed(addresses('DEL'));
      expect(reserved()).toEqual([]);
    } finally {
      await run(['umount', at('net')]);
    }
  });
});

describeWith(
  { root: true, tools: ['ip', 'nft', 'nsenter', 'flock', 'iptables-save'], features: ['veth', 'bridge'] },
  'CNI plugins on a hostile host',
  () => {
    const namespaces = netNsPerTest();
    const make = async (conf: object = {}) => {
      const [host, container] = [await namespaces.make(), await namespaces.make()];
      const call = (command: Call['command'], more: Partial<Call> = {}): Call => ({
        bin: OURS,
        plugin: 'bridge',
        command,
        host: host.path,
        netns: container.path,
        config: config(conf),
        ...more,
      });
      const rules = async () =>
        `${await host.run('nft', 'list', 'ruleset')}${await host.run('iptables-save', '-t', 'nat')}`;
      return { host, container, call, rules };
    };
    const iptables = { ipMasqBackend: 'iptables' };

    test('who locks the namespace itself holds up nobody', async () => {
      const { host, call, rules } = await make(iptables);
      const script = `exec 9< "$0"; flock -x 9 && touch "$1" && exec sleep 1000`;
      const holder = spawn('sh', ['-c', script, host.path, at('held')]);
      try {
        await until(() => expect(existsSync(at('held'))).toBe(true));
        await succeed(call('ADD'));
        await succeed(call('DEL'));
        expect(await rules()).not.toContain('TRELLIS');
        // The lock's file goes with its holder.
        expect(existsSync(`/run/trellis-cni/rules-${statSync(host.path).ino}`)).toBe(false);
      } finally {
        holder.kill('SIGKILL');
      }
    });

    test('what a killed ADD left running is waited for', async () => {
      const { call, rules } = await make(iptables);
      mkdirSync(at('bin'));
      const slow = `#!/bin/sh\ntouch ${at('began')}\nuntil [ -e ${at('go')} ]; do sleep 0.02; done\n/usr/sbin/iptables-restore "$@"\ntouch ${at('ended')}\n`;
      writeFileSync(at('bin', 'iptables-restore'), slow, { mode: 0o755 });
      const environment = { PATH: `${at('bin')}:/usr/sbin:/usr/bin:/sbin:/bin` };
      const wrapper = ['sh', '-c', `echo $$ > ${at('pid')}; exec "$0" "$@"`];
      const add = callPlugin(call('ADD', { environment, wrapper }));
      await until(() => expect(existsSync(at('began'))).toBe(true));
      process.kill(Number(readFileSync(at('pid'), 'utf8')), 'SIGKILL');
      let isOver = false;
      const del = succeed(
        call('DEL', { wrapper: ['sh', '-c', `echo $$ > ${at('del')}; exec "$0" "$@"`] }),
      ).finally(() => {
        isOver = true;
      });
      // Until it waits for the lock, or has not waited at all.
      const isWaiting = () =>
        existsSync(at('del')) &&
        new RegExp(`-> FLOCK .* ${readFileSync(at('del'), 'utf8').trim()} `).test(
          readFileSync('/proc/locks', 'utf8'),
        );
      await until(() => expect(isOver || isWaiting()).toBe(true));
      writeFileSync(at('go'), '');
      await Promise.all([add, del, until(() => expect(existsSync(at('ended'))).toBe(true))]);
      expect(await rules()).not.toContain('TRELLIS');
    });

    test.each([
      ['an IPAM plugin', 'bridge', 'host-local', () => ({ ipam: { ...config().ipam, type: 'slow' } })],
      [
        'a delegate',
        'vxlan',
        'bridge',
        () => ({
          subnetFile: at('subnet.env'),
          dataDir: at('saved'),
          ipam: { dataDir: root },
          delegate: { type: 'slow', bridge: 'br0', isGateway: true },
        }),
      ],
    ])('%s dies with the plugin that ran it, and DEL leaves nothing', async (_, plugin, real, conf) => {
      const subnet = ['NETWORK=10.9.0.0/16', 'SUBNET=10.9.0.1/24', 'MTU=1450', 'IPMASQ=false'];
      writeFileSync(at('subnet.env'), subnet.map((line) => `FLANNEL_${line}\n`).join(''));
      mkdirSync(at('bin'));
      const wait = `echo $$ > ${at('new')}; mv ${at('new')} ${at('began')}; until [ -e ${at('go')} ]; do sleep 0.02; done`;
      const slow = `#!/bin/sh\n[ $CNI_COMMAND != ADD ] || { ${wait}; }\nexec ${path.join(OURS, real)}\n`;
      writeFileSync(at('bin', 'slow'), slow, { mode: 0o755 });
      const { host, container, call, rules } = await make(conf());
      const wrapper = ['sh', '-c', `echo $$ > ${at('pid')}; exec "$0" "$@"`];
      const more = { plugin, wrapper, environment: { CNI_PATH: `${at('bin')}:${OURS}` } };
      const add = callPlugin(call('ADD', more));
      await until(() => expect(existsSync(at('began'))).toBe(true));
      process.kill(Number(readFileSync(at('pid'), 'utf8')), 'SIGKILL');
      expect((await add).signal).toBe('SIGKILL');
      await succeed(call('DEL', more));
      // What would still run now takes an address and puts the interface into the container.
      writeFileSync(at('go'), '');
      const child = readFileSync(at('began'), 'utf8').trim();
      await until(() => expect(isRunning(child)).toBe(false));
      expect(existsSync(at('net')) ? reserved() : []).toEqual([]);
      expect(await rules()).not.toMatch(/trellis/i);
      expect(await container.run('ip', '-br', 'link')).not.toContain('eth0');
      expect(await host.run('ip', '-br', 'link', 'show', 'type', 'veth')).toBe('');
      await succeed(call('ADD', more));
      expect(reserved()).toHaveLength(1);
      await succeed(call('DEL', more));
      expect(reserved()).toEqual([]);
    });

    test.each([['nftables'], ['iptables']])(
      'with %s, DEL of one interface leaves the other with as long a name',
      async (ipMasqBackend) => {
        const name = `n${'e'.repeat(90)}t`;
        const conf = { ipMasqBackend, name, isDefaultGateway: false, isGateway: true };
        const { call, rules } = await make(conf);
        const containerId = 'c'.repeat(64);
        const one = await succeed<{ ips: { address: string }[] }>(
          call('ADD', { containerId, ifName: 'eth0' }),
        );
        await succeed(call('ADD', { containerId, ifName: 'eth1' }));
        await succeed(call('DEL', { containerId, ifName: 'eth1' }));
        expect(await rules()).toContain(one.ips[0]?.address.split('/')[0]);
        const valid = { 'cni.dev/valid-attachments': [{ containerID: containerId, ifname: 'eth0' }] };
        await succeed(call('GC', { config: config({ ...conf, ...valid }) }));
        expect(await rules()).toContain(one.ips[0]?.address.split('/')[0]);
        await succeed(call('DEL', { containerId, ifName: 'eth0' }));
        expect(await rules()).not.toMatch(/trellis/i);
      },
    );

    test.each([['nftables'], ['iptables']])(
      'with %s, an interface of any name leaves nothing behind',
      async (ipMasqBackend) => {
        const { container, call, rules } = await make({ ipMasqBackend });
        for (const ifName of [`e"x`, 'e\\x', `e'x`, 'eé\u{1f600}', 'e\u0001$x`']) {
          await succeed(call('ADD', { ifName }));
          await succeed(call('DEL', { ifName }));
          expect(await rules()).not.toMatch(/trellis/i);
        }
        expect(await container.run('ip', '-br', 'link')).not.toMatch(/^e/m);
      },
    );

    test.each(['br%d', 'a/b', 'a:b', 'a b', 'much-too-long-name'])(
      'a bridge called %s is refused',
      async (bridge) => {
        const { host, call } = await make({ bridge });
        const links = await host.run('ip', '-br', 'link');
        expect(await failureOf(call('ADD'))).toMatchObject({ code: 7 });
        expect(await host.run('ip', '-br', 'link')).toBe(links);
      },
    );

    test('a namespace that is a pipe, or of another kind, is refused at once', async () => {
      const { call } = await make();
      await run(['mkfifo', at('pipe')]);
      for (const netns of [at('pipe'), '/proc/self/ns/mnt'])
        expect(await failureOf(call('ADD', { netns }))).toMatchObject({ code: 3 });
    });

    test('the shipped plugins have no fault points', async () => {
      const { call } = await make();
      const environment = Object.fromEntries([['TRELLIS_CNI_FAULT', 'veth']]);
      await succeed(call('ADD', { environment }));
      await succeed(call('DEL'));
    });
  },
);
