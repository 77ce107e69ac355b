// The reference plugins run by our side, in namespaces that the test made: also the host is one of those.
// Guarantees: what is added works, is checked, and is gone after DEL; the machine's own network is not touched.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Cni } from '../../../src/cni/cni.js';
import { parseList } from '../../../src/cni/config.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';
import { trellis as runTrellis } from '../../support/trellisCommand.js';

const BIN = '/usr/lib/cni';
let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'trellis-plugins-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const cacheDir = () => path.join(root, 'cache');
const addresses = () =>
  readdirSync(path.join(root, 'addresses', 'net')).filter((name) => name.startsWith('10.'));

const bridge = () => ({
  type: 'bridge',
  bridge: 'br0',
  isGateway: true,
  ipMasq: true,
  capabilities: { ips: true, mac: true },
  ipam: {
    type: 'host-local',
    dataDir: path.join(root, 'addresses'),
    ranges: [[{ subnet: '10.88.0.0/24' }]],
    routes: [{ dst: '0.0.0.0/0' }],
  },
});
const portmap = { type: 'portmap', snat: true, capabilities: { portMappings: true } };
const network = (cniVersion: string, plugins: object[]) =>
  JSON.stringify({ cniVersion, name: 'net', plugins }, null, 2);
const list = (cniVersion: string, plugins: object[]) =>
  parseList({ name: 'test', text: network(cniVersion, plugins) });

const hostIn = ({ path: hostNetNs }: TestNetNs) =>
  new Cni({ binDirs: [BIN], cacheDir: cacheDir(), hostNetNs, undoFailedAdd: true });

/** What plugins leave on the host when a container is there: its interface and its rules. */
async function traces(host: TestNetNs): Promise<string> {
  const links = await host.run('ip', '-br', 'link', 'show', 'type', 'veth');
  const rules = (await host.run('iptables-save'))
    .split('\n')
    .filter((line) => /10\.88\.0\.\d+\/32|--dport/.test(line));
  return links + rules.join('\n');
}

describeWith(
  {
    root: true,
    tools: ['ip', 'iptables-save', 'nsenter'],
    files: [`${BIN}/bridge`, `${BIN}/host-local`, `${BIN}/portmap`, `${BIN}/loopback`],
    features: ['veth', 'bridge'],
  },
  'the reference plugins',
  () => {
    const namespaces = netNsPerTest();
    const make = async () => {
      const [host, container] = [await namespaces.make(), await namespaces.make()];
      await host.run('ip', 'link', 'set', 'lo', 'up');
      return { host, container, cni: hostIn(host) };
    };

    test.each(['0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0'])(
      'bridge of version %s comes and goes',
      async (version) => {
        const { host, container, cni } = await make();
        const net = list(version, [bridge()]);
        const attachment = { containerId: 'c1', netns: container.path };
        const result = await cni.add(net, attachment);
        expect(result).toMatchObject({
          cniVersion: version,
          ips: [{ address: '10.88.0.2/24', gateway: '10.88.0.1' }],
        });
        expect(await container.run('ip', '-br', 'addr', 'show', 'eth0')).toContain('10.88.0.2/24');
        expect(await container.run('ip', 'route')).toContain('default via 10.88.0.1 dev eth0');
        if (version >= '0.4.0') await cni.check(net, attachment);
        expect(addresses()).toEqual(['10.88.0.2']);
        await cni.del(net, attachment);
        await cni.del(net, attachment);
        expect([await traces(host), addresses(), await cni.cache.list()]).toEqual(['', [], []]);
      },
    );

    test('CHECK notices an address that somebody took away', async () => {
      const { container, cni } = await make();
      const net = list('1.0.0', [bridge()]);
      const attachment = { containerId: 'c1', netns: container.path };
      await cni.add(net, attachment);
      await container.run('ip', 'addr', 'flush', 'dev', 'eth0');
      await expect(cni.check(net, attachment)).rejects.toMatchObject({
        code: 'PLUGIN_FAILED',
        plugin: 'bridge',
      });
      await cni.del(net, attachment);
    });

    test('loopback, bridge and portmap: settings reach who takes them, and a published port works', async () => {
      const { host, container, cni } = await make();
      await cni.add(
        parseList({
          name: 'lo',
          text: '{"cniVersion": "1.0.0", "name": "lo", "plugins": [{"type": "loopback"}]}',
        }),
        {
          containerId: 'c1',
          netns: container.path,
          ifName: 'lo',
        },
      );
      const net = list('1.0.0', [bridge(), portmap]);
      const capabilityArgs = {
        mac: '02:aa:00:00:00:05',
        ips: ['10.88.0.77/24'],
        portMappings: [{ hostPort: 8080, containerPort: 80, protocol: 'tcp' }],
      };
      const attachment = { containerId: 'c1', netns: container.path };
      const result = await cni.add(net, { ...attachment, capabilityArgs });
      expect(result.ips[0]?.address).toBe('10.88.0.77/24');
      expect(await container.run('ip', '-br', 'link', 'show', 'eth0')).toContain('02:aa:00:00:00:05');
      expect(await container.run('ip', '-br', 'addr', 'show', 'lo')).toContain('127.0.0.1/8');
      expect(await talk(host, container)).toBe('hello');
      await cni.del(net, attachment);
      expect(await traces(host)).toBe('');
    });

    test('a failed chain is undone', async () => {
      const { host, container, cni } = await make();
      const net = list('1.0.0', [bridge(), { ...portmap, conditionsV4: ['--no-such-match'] }]);
      const capabilityArgs = { portMappings: [{ hostPort: 8080, containerPort: 80, protocol: 'tcp' }] };
      const failed = cni.add(net, { containerId: 'c1', netns: container.path, capabilityArgs });
      await expect(failed).rejects.toMatchObject({ code: 'PLUGIN_FAILED', plugin: 'portmap', errors: [] });
      expect([await traces(host), addresses(), await cni.cache.list()]).toEqual(['', [], []]);
    });

    test('ten containers at once get ten addresses; GC takes those that are not valid', async () => {
      const { host, cni } = await make();
      const containers = await Promise.all(Array.from({ length: 10 }, () => namespaces.make()));
      const net = list('1.0.0', [bridge()]);
      const results = await Promise.all(
        containers.map(({ path: netns }, i) => cni.add(net, { containerId: `c${i}`, netns })),
      );
      expect(new Set(results.map(({ ips }) => ips[0]?.address)).size).toBe(10);
      const removed = await cni.gc(net, [{ containerId: 'c3', ifName: 'eth0' }]);
      expect(removed).toHaveLength(9);
      expect(addresses()).toEqual([results[3]?.ips[0]?.address.replace('/24', '')]);
      await cni.gc(net, []);
      expect([await traces(host), addresses()]).toEqual(['', []]);
    });

    describe('trellis cni', () => {
      test('adds, checks, deletes and collects in the namespace it is told to take for the host', async () => {
        const { host, container } = await make();
        mkdirSync(path.join(root, 'net.d'));
        // Without ipMasq: the reference bridge leaves its rules when the namespace is gone before DEL.
        writeFileSync(
          path.join(root, 'net.d', '10.conflist'),
          network('1.0.0', [{ ...bridge(), ipMasq: false }]),
        );
        const trellis = (...args: string[]) =>
          runTrellis([
            'cni',
            ...args,
            '--conf-dir',
            path.join(root, 'net.d'),
            '--bin-dir',
            BIN,
            '--cache-dir',
            cacheDir(),
            '--host-netns',
            host.path,
          ]);
        const added = await trellis('add', 'net', container.path);
        expect(JSON.parse(added.out)).toMatchObject({
          cniVersion: '1.0.0',
          ips: [{ address: '10.88.0.2/24' }],
        });
        expect(await trellis('check', 'net', container.path)).toEqual({ out: '', err: '', code: 0 });
        expect(await trellis('del', 'net', container.path)).toEqual({ out: '', err: '', code: 0 });
        await trellis('add', 'net', container.path, '--container-id', 'gone');
        await container.remove();
        expect(await trellis('gc', 'net')).toEqual({ out: 'removed gone eth0\n', err: '', code: 0 });
        // The kernel takes a namespace's links down a little after its last user went.
        await expect.poll(() => traces(host)).toBe('');
        expect(addresses()).toEqual([]);
      });
    });
  },
);

const SERVER = `require('net').createServer((s) => s.end('hello')).listen(80, () => console.log('up')); setTimeout(() => process.exit(), 15000);`;
const CLIENT = `require('net').connect(8080, '10.88.0.1').on('data', (d) => { process.stdout.write(d); process.exit(); }); setTimeout(() => process.exit(1), 5000);`;

/** What a server on port 80 of the container says to the host on the published port. */
async function talk(host: TestNetNs, container: TestNetNs): Promise<string> {
  const server = execFile('nsenter', [`--net=${container.path}`, process.execPath, '-e', SERVER]);
  try {
    await new Promise((resolve) => server.stdout?.once('data', resolve));
    return await host.run(process.execPath, '-e', CLIENT);
  } finally {
    server.kill('SIGKILL');
  }
}
