// What the bridge plugin's rules do to real packets: masquerading with either back end, and the check of senders.
// Guarantees: the host, the world and the pods are namespaces of the test; after the last DEL no rule of ours is left.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { bridgeConfig, DUAL_STACK } from '../../support/cni/bridgeConfig.js';
import { callPlugin, PLUGIN_DIR } from '../../support/cniPlugin.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const execute = promisify(execFile);
let dataDir = '';
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'trellis-firewall-'));
});
const servers: ChildProcess[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.kill('SIGKILL');
  rmSync(dataDir, { recursive: true });
});

/** Answers with the address it sees. */
const SERVER = `require('net').createServer((s) => s.end(s.remoteAddress)).listen(7000, '::', () => console.log('up'))`;
const CLIENT = `require('net').connect(7000, process.argv[1]).setTimeout(2000, function () { this.destroy(new Error('no answer')) }).on('data', (d) => process.stdout.write(d)).on('error', () => process.exit(1))`;

/** A host joined to a world in which a server tells who called. */
async function setUp(namespaces: ReturnType<typeof netNsPerTest>) {
  const [host, world] = [await namespaces.make(), await namespaces.make()];
  const outside = namespaces.closing(await openRoute(host.path));
  await outside.apply([
    { do: 'add', kind: 'link', name: 'up0', up: true, peer: { name: 'eth0', netns: world.path } },
    { do: 'add', kind: 'address', dev: 'up0', address: '192.168.77.1/24' },
    { do: 'add', kind: 'address', dev: 'up0', address: 'fd77::1/64', flags: ['nodad'] },
  ]);
  const inside = namespaces.closing(await openRoute(world.path));
  await inside.apply([
    { do: 'change', kind: 'link', name: 'eth0', up: true },
    { do: 'add', kind: 'address', dev: 'eth0', address: '192.168.77.2/24' },
    { do: 'add', kind: 'address', dev: 'eth0', address: 'fd77::2/64', flags: ['nodad'] },
  ]);
  const server = spawn('nsenter', [`--net=${world.path}`, process.execPath, '-e', SERVER]);
  servers.push(server);
  await new Promise((resolve) => server.stdout.once('data', resolve));
  return host;
}

const whoCalls = async (pod: TestNetNs, address: string) =>
  (await execute('nsenter', [`--net=${pod.path}`, process.execPath, '-e', CLIENT, address])).stdout;

const config = (fields: object) => bridgeConfig({ dataDir, ranges: DUAL_STACK }, fields);

describeWith(
  { root: true, tools: ['nsenter', 'nft', 'iptables-save'], files: [path.join(PLUGIN_DIR, 'bridge')] },
  'rules of the bridge plugin',
  () => {
    const namespaces = netNsPerTest();

    test.each(['nftables', 'iptables'])(
      'masquerade with %s: the world sees the host, and DEL leaves no rule',
      async (ipMasqBackend) => {
        const host = await setUp(namespaces);
        const pods = [await namespaces.make(), await namespaces.make()];
        const masquerade = config({ ipMasq: true, ipMasqBackend });
        const call = (command: 'ADD' | 'DEL', pod: TestNetNs) =>
          callPlugin({ host, command, config: masquerade, containerId: pod.name, netns: pod.path });
        for (const pod of pods) expect(await call('ADD', pod)).toMatchObject({ exitCode: 0 });
        for (const pod of pods) {
          expect(await whoCalls(pod, '192.168.77.2')).toBe('::ffff:192.168.77.1');
          expect(await whoCalls(pod, 'fd77::2')).toBe('fd77::1');
        }
        const [first, second] = pods as [TestNetNs, TestNetNs];
        expect(await call('DEL', first)).toEqual({ exitCode: 0 });
        expect(await whoCalls(second, '192.168.77.2')).toBe('::ffff:192.168.77.1');
        expect(await call('DEL', second)).toEqual({ exitCode: 0 });
        for (const tool of ['iptables-save', 'ip6tables-save'])
          expect(await host.run(tool)).not.toContain('TRELLIS');
        expect(await host.run('nft', 'list', 'ruleset')).not.toContain('trellis');
      },
    );

    test.each(['nftables', 'iptables'])(
      'GC with %s takes the rules of containers that are not in the list',
      async (ipMasqBackend) => {
        const host = await namespaces.make();
        const pods = [await namespaces.make(), await namespaces.make()] as const;
        const masquerade = config({ ipMasq: true, ipMasqBackend });
        for (const pod of pods)
          await callPlugin({
            host,
            command: 'ADD',
            config: masquerade,
            containerId: pod.name,
            netns: pod.path,
          });
        const valid = [{ containerID: pods[1].name, ifname: 'eth0' }];
        const gc = { ...masquerade, 'cni.dev/valid-attachments': valid };
        expect(await callPlugin({ host, command: 'GC', config: gc })).toEqual({ exitCode: 0 });
        const rules = (await host.run('nft', 'list', 'ruleset')) + (await host.run('iptables-save'));
        expect(rules).not.toContain(pods[0].name);
        expect(rules).toContain(pods[1].name);
      },
    );

    test('macspoofchk drops what a container sends from a hardware address that is not its own', async () => {
      const host = await setUp(namespaces);
      const pod = await namespaces.make();
      const call = (command: 'ADD' | 'DEL') =>
        callPlugin({
          host,
          command,
          config: config({ macspoofchk: true, ipMasq: true, ipMasqBackend: 'nftables' }),
          containerId: pod.name,
          netns: pod.path,
        });
      expect(await call('ADD')).toMatchObject({ exitCode: 0 });
      expect(await whoCalls(pod, '192.168.77.2')).toBe('::ffff:192.168.77.1');
      await pod.run('ip', 'link', 'set', 'eth0', 'address', '02:66:66:66:66:66');
      await expect(whoCalls(pod, '192.168.77.2')).rejects.toThrow();
      expect(await call('DEL')).toEqual({ exitCode: 0 });
      expect(await host.run('nft', 'list', 'ruleset')).not.toContain('trellis');
    });
  },
);
