// Pods of two hosts, added by the vxlan plugin, talk to each other through VXLAN.
// Guarantees: the daemon's part is played by the kernel ports; all traffic stays in namespaces of the test.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { callPlugin, PLUGIN_DIR } from '../../support/cniPlugin.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import {
  DEVICE,
  learnPeer,
  makeDevice,
  makeHosts,
  type NetworkOptions,
  network,
  OVERLAY_MTU,
  type OverlayHost,
  type SubnetLines,
  subnetLines,
  traces,
  writeSubnetFile,
} from '../../support/overlay.js';
import { describeWith } from '../../support/requires.js';

let root = '';
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'trellis-vxlan-'));
});
afterEach(() => rmSync(root, { recursive: true }));

// Answers every connection with the address that it comes from.
const SERVER = `require('net').createServer((s) => s.end(s.remoteAddress)).listen(80, '::', () => console.log('up')); setTimeout(() => process.exit(), 15000);`;
const client = (to: string) =>
  `require('net').connect(80, '${to}').on('data', (d) => { process.stdout.write(d); process.exit(); }); setTimeout(() => process.exit(1), 5000);`;

async function during<T>(pod: TestNetNs, [tool, ...args]: string[], work: () => Promise<T>): Promise<T> {
  const server = execFile('nsenter', [`--net=${pod.path}`, String(tool), ...args]);
  try {
    await new Promise((resolve, reject) => {
      server.stdout?.once('data', resolve);
      server.once('exit', () => reject(new Error('the server ended')));
    });
    return await work();
  } finally {
    server.kill('SIGKILL');
  }
}

/** The address that `from` has in the eyes of `to`, by TCP. */
const seenAddress = (from: TestNetNs, to: TestNetNs, address: string) =>
  during(to, [process.execPath, '-e', SERVER], () => from.run(process.execPath, '-e', client(address)));

const PYTHON = '/usr/bin/python3';
const ECHO = `
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.bind(('::', 9000)); s.settimeout(15)
print('up', flush=True)
while True:
    data, peer = s.recvfrom(65535)
    s.sendto(str(len(data)).encode(), peer)
`;
// Sends packets that nobody may fragment; prints what came of each size.
const SEND = `
import errno, socket, sys
to = sys.argv[1]
v6 = ':' in to
s = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(3)
s.setsockopt(*((socket.IPPROTO_IPV6, 23, 2) if v6 else (socket.IPPROTO_IP, 10, 2)))
for size in sys.argv[2:]:
    try:
        s.sendto(b'x' * int(size), (to, 9000))
        print(s.recv(100).decode())
    except OSError as e:
        print('timeout' if isinstance(e, TimeoutError) else errno.errorcode[e.errno])
`;

/** What came of UDP packets with that many bytes of payload and the "don't fragment" flag. */
const sendWhole = (from: TestNetNs, to: TestNetNs, address: string, sizes: number[]) =>
  during(to, [PYTHON, '-c', ECHO], async () =>
    (await from.run(PYTHON, '-c', SEND, address, ...sizes.map(String))).trim().split('\n'),
  );

/** How many packets a host had to cut into pieces. */
async function fragmented({ ns }: OverlayHost): Promise<number> {
  const [names = [], values = []] = (await ns.run('cat', '/proc/net/snmp'))
    .split('\n')
    .filter((line) => line.startsWith('Ip: '))
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('FragCreates')]);
}

describeWith(
  {
    root: true,
    tools: ['nsenter', 'nft', 'unshare', 'mount'],
    files: [path.join(PLUGIN_DIR, 'vxlan'), PYTHON],
    features: ['veth', 'bridge', 'vxlan'],
  },
  'pods across hosts',
  () => {
    const namespaces = netNsPerTest();

    /** Two hosts with a pod on each. */
    async function makePods(lines: SubnetLines, options: NetworkOptions = {}) {
      const hosts = await makeHosts(namespaces, root);
      const pods = [];
      for (const host of hosts) {
        writeSubnetFile(host, subnetLines(host.number, lines));
        if (options.device !== true) await makeDevice(host);
        const ns = await namespaces.make();
        const call = { host: host.ns, config: network(host, options), netns: ns.path };
        const result = await callPlugin({ ...call, command: 'ADD' });
        expect(result).toMatchObject({ exitCode: 0 });
        pods.push({ ns, result, call, host });
      }
      const [one, two] = pods;
      if (one === undefined || two === undefined) throw new Error('two hosts have two pods');
      await learnPeer(hosts[0], hosts[1], lines);
      await learnPeer(hosts[1], hosts[0], lines);
      return { one, two };
    }

    test('reach each other by TCP with their own addresses; DEL leaves nothing but the bridge', async () => {
      const { one, two } = await makePods({});
      expect(two.result).toMatchObject({
        ips: [{ address: '10.1.2.2/24', gateway: '10.1.2.1' }],
        routes: [{ dst: '10.1.0.0/16' }, { dst: '0.0.0.0/0', gw: '10.1.2.1' }],
      });
      expect(await seenAddress(one.ns, two.ns, '10.1.2.2')).toBe('::ffff:10.1.1.2');
      expect(await seenAddress(two.ns, one.ns, '10.1.1.2')).toBe('::ffff:10.1.2.2');
      for (const { call, host, result } of [one, two]) {
        const config = { ...call.config, prevResult: result };
        expect(await callPlugin({ ...call, config, command: 'CHECK' })).toEqual({ exitCode: 0 });
        expect(await callPlugin({ ...call, config, command: 'DEL' })).toEqual({ exitCode: 0 });
        expect(await traces(host)).toEqual([]);
        expect((await host.route.links()).map(({ name }) => name).sort()).toEqual([
          'cni0',
          'eth0',
          DEVICE,
          'lo',
        ]);
      }
    });

    test('dual stack, on devices that the plugin made', async () => {
      const { one, two } = await makePods({ v6: true, prefix: 'TRELLIS' }, { device: true });
      expect(two.result.ips).toMatchObject([
        { address: '10.1.2.2/24' },
        { address: 'fd00:1:0:2::2/64', gateway: 'fd00:1:0:2::1' },
      ]);
      expect(await two.host.route.link(DEVICE)).toMatchObject({
        type: 'vxlan',
        up: true,
        mtu: OVERLAY_MTU,
        vxlan: { vni: 1, port: 8472, local: two.host.underlay, learning: false },
      });
      // Until duplicate address detection ends, the bridge would not ask where a pod is. Without it the kernel still calls
      // an address tentative for a moment, so the switch is read and not the address.
      expect(await two.host.ns.run('cat', '/proc/sys/net/ipv6/conf/cni0/accept_dad')).toBe('0\n');
      expect(await seenAddress(one.ns, two.ns, '10.1.2.2')).toBe('::ffff:10.1.1.2');
      expect(await seenAddress(one.ns, two.ns, 'fd00:1:0:2::2')).toBe('fd00:1:0:1::2');
      await callPlugin({ ...one.call, command: 'DEL' });
      expect(await traces(one.host)).toEqual([]);
    });

    test('a packet of exactly the mtu passes whole, one byte more is refused where it is sent', async () => {
      const { one, two } = await makePods({ v6: true }, { device: true });
      const [fits4, fits6] = [OVERLAY_MTU - 28, OVERLAY_MTU - 48];
      expect(await sendWhole(one.ns, two.ns, '10.1.2.2', [100, fits4, fits4 + 1])).toEqual([
        '100',
        String(fits4),
        'EMSGSIZE',
      ]);
      expect(await sendWhole(one.ns, two.ns, 'fd00:1:0:2::2', [100, fits6, fits6 + 1])).toEqual([
        '100',
        String(fits6),
        'EMSGSIZE',
      ]);
      expect([await fragmented(one.host), await fragmented(two.host)]).toEqual([0, 0]);
    });

    test('where the daemon does not masquerade, the bridge does, and DEL takes the rules away', async () => {
      const { one } = await makePods({ ipMasq: false });
      expect(await traces(one.host)).not.toEqual([]);
      expect(await one.host.ns.run('nft', 'list', 'ruleset')).toContain('10.1.1.2');
      await callPlugin({ ...one.call, command: 'DEL' });
      expect(await traces(one.host)).toEqual([]);
    });

    // Of either name, the plugin looks for the file that flanneld writes.
    test.each(['flannel', 'vxlan'])(
      "the configuration and the subnet file of flannel's documentation work as written, type %s",
      async (type) => {
        const [host, pod] = [await namespaces.make(), await namespaces.make()];
        const [run, lib, bin] = ['run', 'lib', 'bin'].map((name) => path.join(root, type, name));
        for (const directory of [`${run}/flannel`, `${run}/netns`, `${lib}/cni`, `${bin}`])
          mkdirSync(directory, { recursive: true });
        symlinkSync(path.join(PLUGIN_DIR, 'trellis-cni'), `${bin}/${type}`);
        writeFileSync(
          `${run}/flannel/subnet.env`,
          'FLANNEL_NETWORK=10.1.0.0/16\nFLANNEL_SUBNET=10.1.17.1/24\nFLANNEL_MTU=1472\nFLANNEL_IPMASQ=true\n',
        );
        // Its files are at their usual places, in a mount namespace of the one call.
        const script = `mount --rbind /run/netns ${run}/netns && mount --rbind ${run} /run && mount --bind ${lib} /var/lib && exec "$0"`;
        const prefix = ['unshare', '--mount', 'sh', '-c', script];
        const config = { name: 'mynet', type };
        const call = { host, netns: pod.path, config, prefix, binDir: String(bin) };
        const result = await callPlugin({ ...call, command: 'ADD' });
        expect(result).toMatchObject({
          exitCode: 0,
          ip4: { ip: '10.1.17.2/24', gateway: '10.1.17.1', routes: [{ dst: '10.1.0.0/16' }] },
        });
        expect(await pod.run('ip', 'link', 'show', 'eth0')).toContain('mtu 1472');
        expect(await host.run('ip', '-br', 'addr', 'show', 'cni0')).toContain('10.1.17.1/24');
        expect(await callPlugin({ ...call, command: 'DEL' })).toEqual({ exitCode: 0 });
        expect(await host.run('ip', '-br', 'link', 'show', 'type', 'veth')).toBe('');
      },
    );
  },
);
