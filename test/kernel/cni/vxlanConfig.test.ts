// What the vxlan plugin says to subnet files, configurations and devices that are missing or wrong.
// Guarantees: the right code and the place of the mistake; nothing is made before the mistake is told.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { callPlugin, PLUGIN_DIR } from '../../support/cniPlugin.js';
import { netNsPerTest } from '../../support/netns.js';
import {
  DEVICE,
  makeDevice,
  makeHosts,
  network,
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

const good = subnetLines(1);
const dual = subnetLines(1, { v6: true });

/** Title, subnet file, what the message must hold. */
const MALFORMED: [string, string, string][] = [
  ['a line without "="', `# ours\n\n${good}what is this\n`, 'line 7: this is not KEY=VALUE: what is this'],
  [
    'a subnet that is none',
    good.replace('10.1.1.1/24', '10.1.1/24'),
    'line 2: FLANNEL_SUBNET must be an IPv4 network',
  ],
  [
    'a subnet without length',
    good.replace('10.1.1.1/24', '10.1.1.1'),
    'line 2: FLANNEL_SUBNET must be an IPv4 network',
  ],
  [
    'IPv6 where IPv4 belongs',
    good.replace('10.1.0.0/16', 'fd00::/64'),
    'line 1: FLANNEL_NETWORK must be an IPv4',
  ],
  [
    'IPv4 where IPv6 belongs',
    dual.replace('fd00:1::/48', '10.2.0.0/16'),
    'line 3: FLANNEL_IPV6_NETWORK must be an IPv6',
  ],
  [
    'an mtu in words',
    good.replace('1450', 'big'),
    'line 3: FLANNEL_MTU must be a number up to 65535, not "big"',
  ],
  [
    'an mtu beyond all links',
    good.replace('1450', '70000'),
    'line 3: FLANNEL_MTU must be a number up to 65535',
  ],
  ['an mtu too small for IPv6', dual.replace('1450', '1279'), 'the mtu 1279 is less than the 1280'],
  [
    'neither true nor false',
    good.replace('=true', '=yes'),
    'line 4: FLANNEL_IPMASQ must be true or false, not "yes"',
  ],
  ['no mtu', good.replace(/.*MTU.*\n/, ''), 'FLANNEL_MTU is missing'],
  ['no ipmasq', good.replace(/.*IPMASQ.*\n/, ''), 'FLANNEL_IPMASQ is missing'],
  ['a network without subnet', dual.replace(/.*IPV6_SUBNET.*\n/, ''), 'FLANNEL_IPV6_SUBNET is missing'],
  ['nothing at all', '', 'FLANNEL_NETWORK and FLANNEL_SUBNET is missing'],
  [
    'a subnet of another network',
    good.replace('10.1.1.1/24', '10.9.1.1/24'),
    '10.9.1.0/24 lies outside the network 10.1.0.0/16',
  ],
];

/** Title, change of the configuration, what the message must hold. */
const REFUSED: [string, object, string][] = [
  ['a delegate with a name', { delegate: { name: 'x' } }, "must not have 'name'"],
  ['a delegate with IPAM', { delegate: { ipam: {} } }, "must not have 'ipam'"],
  ['an empty vxlan section', { vxlan: {} }, 'neither name nor vni'],
  ['a VNI that is too large', { vxlan: { vni: 1 << 24 } }, 'invalid vxlan vni 16777216'],
  ['port 0', { vxlan: { vni: 1, port: 0 } }, 'invalid vxlan port 0'],
  ['a name that is too long', { vxlan: { vni: 1, name: 'a-name-of-16-let' } }, 'longer than 15'],
  ['an underlay that is not there', { vxlan: { vni: 1, dev: 'eth7' } }, 'no link "eth7"'],
  ['another VNI than the device has', { vxlan: { vni: 2, name: DEVICE } }, 'has VNI 1, not 2'],
  ['another port', { vxlan: { vni: 1, name: DEVICE, port: 4789 } }, 'uses port 8472, not 4789'],
  ['another local address', { vxlan: { vni: 1, name: DEVICE, local: '192.168.77.9' } }, 'not 192.168.77.9'],
  ['another underlay', { vxlan: { vni: 1, name: DEVICE, dev: 'lo' } }, 'is not on lo'],
  ['a device of another kind', { vxlan: { vni: 1, name: 'eth0' } }, 'is not a VXLAN device'],
  [
    'a VNI that another device has',
    { vxlan: { vni: 1, local: '192.168.77.1', dev: 'eth0' } },
    'another device has VNI 1',
  ],
  ['a plugin given by its path', { delegate: { type: '../bridge' } }, 'invalid delegate type'],
];

describeWith(
  {
    root: true,
    tools: ['nsenter', 'nft'],
    files: [path.join(PLUGIN_DIR, 'vxlan')],
    features: ['veth', 'bridge', 'vxlan'],
  },
  'mistakes told by the vxlan plugin',
  () => {
    const namespaces = netNsPerTest();
    const makeHost = async () => {
      const [host] = await makeHosts(namespaces, root);
      const netns = (await namespaces.make()).path;
      return { host, config: network(host), call: { host: host.ns, netns } };
    };

    test('a missing subnet file: try again later, and who writes which', async () => {
      const { host, config, call } = await makeHost();
      const subnetFile = '/run/nowhere/subnet.env';
      const wrong = { ...config, subnetFile };
      expect(await callPlugin({ ...call, config: wrong, command: 'ADD' })).toMatchObject({
        exitCode: 1,
        code: 11,
        msg: `subnet file ${subnetFile} is not there (yet)`,
        details: expect.stringMatching(
          /flanneld writes \/run\/flannel\/subnet.env, a node of Trellis \/run\/trellis\/<id>\/subnet.env/,
        ),
      });
      expect(await callPlugin({ ...call, config: wrong, command: 'GC' })).toMatchObject({ code: 11 });
      expect(await traces(host)).toEqual([]);
    });

    describe('subnet files', () => {
      test.each(MALFORMED)('%s', async (_title, text, words) => {
        const { host, config, call } = await makeHost();
        writeSubnetFile(host, text);
        const answer = await callPlugin({ ...call, config, command: 'ADD' });
        expect(answer).toMatchObject({ exitCode: 1, code: 7, msg: expect.stringContaining(words) });
        expect(answer.msg).toContain(host.subnetFile);
        expect(await traces(host)).toEqual([]);
      });

      test('several networks, spaces, comments and foreign keys are understood', async () => {
        const { host, config, call } = await makeHost();
        const text = good.replace('10.1.0.0/16', '10.1.0.0/16,10.5.0.0/16').replaceAll('\n', ' \r\n');
        writeSubnetFile(host, `# by hand\r\nOTHER=1\n${text}FLANNEL_NEW_KEY=x`);
        expect(await callPlugin({ ...call, config, command: 'ADD' })).toMatchObject({
          routes: [{ dst: '10.1.0.0/16' }, { dst: '10.5.0.0/16' }, { dst: '0.0.0.0/0' }],
        });
      });
    });

    describe('configurations', () => {
      test.each(REFUSED)('%s', async (_title, change, words) => {
        const { host, config, call } = await makeHost();
        writeSubnetFile(host, good);
        await makeDevice(host);
        const answer = await callPlugin({ ...call, config: { ...config, ...change }, command: 'ADD' });
        expect(answer).toMatchObject({ exitCode: 1, code: 7, msg: expect.stringContaining(words) });
        expect(await traces(host)).toEqual([]);
      });

      test("the delegate's own mtu and bridge win over the file's", async () => {
        const { host, config, call } = await makeHost();
        writeSubnetFile(host, good);
        const delegate = { bridge: 'mynet0', mtu: 1400, isGateway: false };
        await callPlugin({ ...call, config: { ...config, delegate }, command: 'ADD' });
        expect(await host.route.link('mynet0')).toMatchObject({ type: 'bridge', mtu: 1400 });
        expect(await host.route.addresses({ dev: 'mynet0', family: 'inet' })).toEqual([]);
      });
    });

    describe('devices', () => {
      test('one that is only named must be there', async () => {
        const { host, config, call } = await makeHost();
        writeSubnetFile(host, good);
        const named = { ...config, vxlan: { name: DEVICE } };
        const add = () => callPlugin({ ...call, config: named, command: 'ADD' });
        expect(await add()).toMatchObject({ code: 11, msg: `VXLAN device "${DEVICE}" is missing` });
        expect(await callPlugin({ ...call, config: named, command: 'STATUS' })).toMatchObject({ code: 50 });
        await makeDevice(host);
        expect(await callPlugin({ ...call, config: named, command: 'STATUS' })).toEqual({ exitCode: 0 });
        expect(await add()).toMatchObject({ exitCode: 0 });
      });

      test('one that is down is brought up, and is not made anew', async () => {
        const { host, call } = await makeHost();
        writeSubnetFile(host, good);
        await makeDevice(host);
        const before = await host.route.link(DEVICE);
        await host.route.apply([{ do: 'change', kind: 'link', name: DEVICE, up: false }]);
        await callPlugin({ ...call, config: network(host, { device: true }), command: 'ADD' });
        expect(await host.route.link(DEVICE)).toMatchObject({
          index: before?.index,
          mac: before?.mac,
          up: true,
        });
      });

      test('ten ADDs at once make one', async () => {
        const { host } = await makeHost();
        writeSubnetFile(host, good);
        const pods = await Promise.all(Array.from({ length: 10 }, () => namespaces.make()));
        const config = network(host, { device: true });
        const answers = await Promise.all(
          pods.map(({ path: netns }, i) =>
            callPlugin({ host: host.ns, config, netns, containerId: `c${i}`, command: 'ADD' }),
          ),
        );
        expect(new Set(answers.map(({ ips }) => ips?.[0]?.address)).size).toBe(10);
        expect((await host.route.links()).filter(({ type }) => type === 'vxlan')).toHaveLength(1);
      });
    });

    test('STATUS: ready when an ADD could be done', async () => {
      const { host, call } = await makeHost();
      const status = () =>
        callPlugin({ ...call, config: network(host, { device: true }), command: 'STATUS' });
      expect(await status()).toMatchObject({ code: 50, msg: expect.stringContaining('is not there (yet)') });
      writeSubnetFile(host, 'FLANNEL_MTU=x');
      expect(await status()).toMatchObject({ code: 50, msg: expect.stringContaining('line 1') });
      writeSubnetFile(host, good);
      expect(await status()).toEqual({ exitCode: 0 });
      expect(await host.route.link(DEVICE)).toBeUndefined();
    });
  },
);
