// What the vxlan plugin keeps between ADD and DEL, and how it gets rid of it: repeated, late, crashed, collected.
// Guarantees: every way to the end leaves the host as it was, but for the bridge.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { callPlugin, FAULTY, PLUGIN_DIR } from '../../support/cniPlugin.js';
import { netNsPerTest } from '../../support/netns.js';
import {
  DEVICE,
  makeHosts,
  type NetworkOptions,
  network,
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

const DONE = { exitCode: 0 };
const FAULTS = ['device', 'saved', 'bridge', 'veth', 'ipam', 'container', 'gateway', 'masquerade'];

describeWith(
  {
    root: true,
    tools: ['nsenter', 'nft'],
    files: [path.join(PLUGIN_DIR, 'vxlan'), '/usr/lib/cni/ptp'],
    features: ['veth', 'bridge', 'vxlan'],
  },
  'the state of the vxlan plugin',
  () => {
    const namespaces = netNsPerTest();

    async function makeHost(options: NetworkOptions & SubnetLines = {}) {
      const [host] = await makeHosts(namespaces, root);
      writeSubnetFile(host, subnetLines(1, options));
      const pod = await namespaces.make();
      const config = network(host, options);
      const call = { host: host.ns, config, netns: pod.path };
      return { host, pod, config, call, savedFile: (id = 'c1') => path.join(config.dataDir, id) };
    }

    test("ADD saves what it delegated, in flannel's form, for root alone", async () => {
      const { call, config, savedFile } = await makeHost({ v6: true });
      const runtimeConfig = { mac: '02:00:00:00:00:07' };
      const ipam = { ...config.ipam, routes: [{ dst: '192.168.0.0/16' }] };
      await callPlugin({ ...call, config: { ...config, runtimeConfig, ipam }, command: 'ADD' });
      expect(JSON.parse(readFileSync(savedFile(), 'utf8'))).toEqual({
        cniVersion: '1.1.0',
        name: 'pods',
        type: 'bridge',
        hairpinMode: true,
        isDefaultGateway: true,
        isGateway: true,
        ipMasq: false,
        mtu: 1450,
        runtimeConfig,
        ipam: {
          type: 'host-local',
          dataDir: config.ipam.dataDir,
          ranges: [[{ subnet: '10.1.1.0/24' }], [{ subnet: 'fd00:1:0:1::/64' }]],
          routes: [{ dst: '192.168.0.0/16' }, { dst: '10.1.0.0/16' }, { dst: 'fd00:1::/48' }],
        },
      });
      expect(statSync(savedFile()).mode & 0o777).toBe(0o600);
      expect(statSync(config.dataDir).mode & 0o777).toBe(0o700);
    });

    test('DEL may be repeated, and needs neither the subnet file nor the namespace', async () => {
      const { host, pod, call, config } = await makeHost({ ipMasq: false });
      expect(await callPlugin({ ...call, command: 'ADD' })).toMatchObject(DONE);
      rmSync(host.subnetFile);
      await pod.remove();
      const bare = { host: host.ns, config, command: 'DEL' } as const;
      expect(await callPlugin(bare)).toEqual(DONE);
      // The kernel takes a namespace apart, with the interfaces in it, a little after it is gone.
      await expect.poll(() => traces(host)).toEqual([]);
      expect(await callPlugin({ ...call, command: 'DEL' })).toEqual(DONE);
      expect(await callPlugin(bare)).toEqual(DONE);
    });

    test.each([
      ['is missing', (file: string) => rmSync(file)],
      ['is torn', (file: string) => writeFileSync(file, '{"name": "po')],
    ])('DEL works from the configuration when the saved file %s', async (_title, damage) => {
      const { host, call, savedFile } = await makeHost({ ipMasq: false });
      await callPlugin({ ...call, command: 'ADD' });
      damage(savedFile());
      expect(await callPlugin({ ...call, command: 'DEL' })).toEqual(DONE);
      expect(await traces(host)).toEqual([]);
    });

    test('DEL of a container that nobody added, on a host where nothing is, is success', async () => {
      const { host, call } = await makeHost();
      expect(await callPlugin({ ...call, command: 'DEL' })).toEqual(DONE);
      rmSync(host.subnetFile);
      expect(await callPlugin({ ...call, command: 'DEL' })).toEqual(DONE);
      writeSubnetFile(host, 'nonsense');
      expect(await callPlugin({ ...call, command: 'DEL' })).toEqual(DONE);
    });

    test("DEL takes over what flannel's own plugin saved", async () => {
      const { host, call, config, savedFile } = await makeHost();
      await callPlugin({ ...call, command: 'ADD' });
      // As its plugin writes it, with a bridge of its own choice.
      const saved = `{"cniVersion":"0.3.1","hairpinMode":true,"ipMasq":false,"ipam":{"dataDir":"${config.ipam.dataDir}","ranges":[[{"subnet":"10.1.1.0/24"}]],"routes":[{"dst":"10.1.0.0/16"}],"type":"host-local"},"isDefaultGateway":true,"isGateway":true,"mtu":1450,"name":"pods","type":"bridge"}`;
      writeFileSync(savedFile(), saved);
      expect(await callPlugin({ ...call, command: 'DEL' })).toEqual(DONE);
      expect(await traces(host)).toEqual([]);
    });

    test('a failed ADD leaves nothing; a second ADD leaves the first as it was', async () => {
      const { host, pod, call, savedFile } = await makeHost({ ipMasq: false });
      await pod.run('ip', 'link', 'add', 'eth0', 'type', 'bridge');
      expect(await callPlugin({ ...call, command: 'ADD' })).toMatchObject({ exitCode: 1, code: 7 });
      expect(await traces(host)).toEqual([]);
      await pod.run('ip', 'link', 'del', 'eth0');
      expect(await callPlugin({ ...call, command: 'ADD' })).toMatchObject(DONE);
      expect(await callPlugin({ ...call, command: 'ADD' })).toMatchObject({ exitCode: 1, code: 7 });
      expect(existsSync(savedFile())).toBe(true);
      rmSync(host.subnetFile);
      expect(await callPlugin({ ...call, command: 'DEL' })).toEqual(DONE);
      expect(await traces(host)).toEqual([]);
    });

    test.each(FAULTS)('killed at "%s", DEL leaves nothing', async (fault) => {
      const { host, call } = await makeHost({ ipMasq: false, device: true });
      const environment = { TRELLIS_CNI_FAULT: fault };
      expect(await callPlugin({ ...call, environment, binDir: FAULTY, command: 'ADD' })).toEqual({
        exitCode: null,
      });
      expect(await callPlugin({ ...call, command: 'DEL' })).toEqual(DONE);
      expect(await traces(host)).toEqual([]);
      expect(await callPlugin({ ...call, command: 'ADD' })).toMatchObject(DONE);
    });

    test('GC keeps what is valid and what other networks saved', async () => {
      const { host, config, savedFile } = await makeHost({ ipMasq: false });
      for (const containerId of ['c1', 'c2', 'c3']) {
        const netns = (await namespaces.make()).path;
        await callPlugin({ host: host.ns, config, netns, containerId, command: 'ADD' });
      }
      writeFileSync(savedFile('theirs'), '{"name": "other", "type": "bridge"}');
      writeFileSync(savedFile('odd'), '{"name": 7');
      const valid = { 'cni.dev/valid-attachments': [{ containerID: 'c2', ifname: 'eth0' }] };
      const collected = await callPlugin({ host: host.ns, config: { ...config, ...valid }, command: 'GC' });
      expect(collected).toEqual(DONE);
      const left = (await traces(host)).filter((trace) => !trace.startsWith('veth'));
      expect(left).toEqual(expect.arrayContaining(['10.1.1.3', 'c2', 'theirs', 'odd']));
      for (const gone of ['c1', 'c3', '10.1.1.2', '10.1.1.4'])
        expect(left.filter((trace) => new RegExp(`\\b${gone}\\b`).test(trace))).toEqual([]);
    });

    test('CHECK tells what became of an attachment', async () => {
      const { host, call, config } = await makeHost({ device: true });
      const prevResult = await callPlugin({ ...call, command: 'ADD' });
      const check = () => callPlugin({ ...call, config: { ...config, prevResult }, command: 'CHECK' });
      expect(await check()).toEqual(DONE);
      writeSubnetFile(host, subnetLines(9));
      expect(await check()).toMatchObject({ code: 999, details: expect.stringContaining('10.1.9.0/24') });
      writeSubnetFile(host, subnetLines(1));
      await host.ns.run('ip', 'link', 'set', DEVICE, 'down');
      expect(await check()).toMatchObject({ code: 999, msg: 'VXLAN device "flannel.1" is down' });
      await host.ns.run('ip', 'link', 'del', DEVICE);
      expect(await check()).toMatchObject({ code: 11, msg: 'VXLAN device "flannel.1" is missing' });
      rmSync(host.subnetFile);
      expect(await check()).toMatchObject({ code: 11 });
    });

    test('another delegate is run as a program', async () => {
      const { host, pod, call, config } = await makeHost();
      const other = { ...config, cniVersion: '1.0.0', delegate: { type: 'ptp' } };
      const environment = { CNI_PATH: `${PLUGIN_DIR}:/usr/lib/cni` };
      const ptp = { ...call, config: other, environment };
      expect(await callPlugin({ ...ptp, command: 'ADD' })).toMatchObject({
        ips: [{ address: '10.1.1.2/24' }],
      });
      expect(await pod.run('ip', 'link', 'show', 'eth0')).toContain('mtu 1450');
      expect(await host.route.link('cni0')).toBeUndefined();
      expect(await callPlugin({ ...ptp, command: 'DEL' })).toEqual(DONE);
      expect(await traces(host)).toEqual([]);
    });

    test('a data directory that cannot be made is told, and nothing is left', async () => {
      const { host, call, config } = await makeHost();
      const dataDir = path.join(root, 'file');
      writeFileSync(dataDir, '');
      mkdirSync(config.dataDir);
      const answer = await callPlugin({ ...call, config: { ...config, dataDir }, command: 'ADD' });
      expect(answer).toMatchObject({ code: 5, details: 'dataDir must be a directory that can be written' });
      expect(await traces(host)).toEqual([]);
    });
  },
);
