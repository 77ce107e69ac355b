// The wire between the nodes of one machine, in a network of the test's own.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Layout, layoutOf } from '../../../src/cluster/layout.js';
import { localNodes, underlayAddresses } from '../../../src/cluster/nodes/localNode.js';
import { chooseUnderlay, makeUnderlay, removeUnderlay } from '../../../src/cluster/nodes/underlay.js';
import { defaultSettings } from '../../../src/cluster/settings.js';
import { removeNetNs } from '../../../src/kernel/netns.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { openMode } from '../../../src/proxy/modes.js';
import { netNsPerTest, type TestNetNs } from '../../support/netns.js';
import { endpoint, servicePort, stateOf } from '../../support/proxy/port.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

const namespaces = netNsPerTest();
const settings = {
  ...defaultSettings('host'),
  nodes: 3,
  clusterCidr: '10.244.0.0/16,fd00:10:244::/56',
  underlayCidr: '172.30.7.0/24,fd00:10:30:7::/64',
};
let dir = '';
let layout: Layout;
let host: TestNetNs;

beforeEach(async () => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-underlay-'));
  layout = { ...layoutOf(dir), netnsDir: path.join(dir, 'netns') };
  host = await namespaces.make();
  await host.run('ip', 'link', 'set', 'lo', 'up');
});
afterEach(async () => {
  for (const { netns } of localNodes(layout, settings)) await removeNetNs(netns);
  rmSync(dir, { recursive: true });
});

const ports = async () => ({
  nft: namespaces.closing(await openNft(host.path)),
  route: namespaces.closing(await openRoute(host.path)),
});

describeWith({ root: true, tools: ['nft', 'ip', 'busybox', 'nsenter'] }, 'the wire between nodes', () => {
  test('joins the machine and its nodes, and goes away as a whole', async () => {
    const own = await ports();
    const nodes = localNodes(layout, settings);
    const addresses = [1, 2, 3].flatMap((number) => underlayAddresses(settings, number));
    for (let again = 0; again < 2; again++) {
      await removeUnderlay(layout, nodes, own);
      await makeUnderlay(layout, settings, own);
      for (const { netns } of nodes)
        for (const address of addresses)
          await host.run('nsenter', `--net=${netns}`, 'busybox', 'ping', '-c1', '-W5', address);
      for (const address of addresses) await host.run('busybox', 'ping', '-c1', '-W5', address);
      const rules = await host.run('nft', 'list', 'ruleset');
      expect(rules).toContain('ip saddr 172.30.7.0/24 ip daddr != 172.30.7.0/24 ip daddr != 10.244.0.0/16');
      expect(rules).toContain('ip6 saddr fd00:10:30:7::/64 ip6 daddr != fd00:10:30:7::/64');
    }
    for (let again = 0; again < 2; again++) await removeUnderlay(layout, nodes, own);
    expect((await own.route.links()).map(({ name }) => name)).toEqual(['lo']);
    expect(await host.run('nft', 'list', 'ruleset')).toBe('');
    for (const { netns } of nodes) expect(existsSync(netns)).toBe(false);
  });

  test('leads back to the node that asked, where a node port of the machine picks its own endpoint', async () => {
    const own = await ports();
    const [asking] = localNodes(layout, settings);
    const [machine = ''] = underlayAddresses(settings, 1);
    const [address = ''] = asking?.addresses ?? [];
    await makeUnderlay(layout, settings, own);
    // As an agent has it: the bridge's own packets meet the rules too, and one that comes back leaves by the port it came by.
    await host.run('sh', '-c', 'echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables');
    await host.run('busybox', 'sysctl', '-q', 'net.ipv4.ip_forward=1');
    const options = { table: 'trellis-underlay', families: ['ip'], traffic: {}, netns: host.path } as const;
    const mode = await openMode('nftables', options);
    await mode.sync(
      stateOf(servicePort(1, { nodePort: 30_080, endpoints: [endpoint(address, false, 8080)] })),
    );
    const inside = ['nsenter', `--net=${asking?.netns}`, 'busybox'] as const;
    const serving = host.run(
      ...inside,
      'timeout',
      '60',
      'busybox',
      'nc',
      '-l',
      '-p',
      '8080',
      '-e',
      'echo',
      'here',
    );
    await until(async () =>
      expect(await host.run(...inside, 'timeout', '5', 'busybox', 'nc', machine, '30080')).toContain('here'),
    );
    await serving;
    mode.close();
  });

  test('takes ranges to which the machine has no way yet', async () => {
    const own = await ports();
    expect(await chooseUnderlay(settings, own.route)).toBe('172.30.0.0/24,fd00:10:30::/64');
    await host.run('ip', 'address', 'add', '172.30.0.9/28', 'dev', 'lo');
    await host.run('ip', 'route', 'add', 'blackhole', '172.30.1.0/24');
    await host.run('ip', 'route', 'add', 'blackhole', 'fd00:10:30::/63');
    expect(await chooseUnderlay(settings, own.route)).toBe('172.30.2.0/24,fd00:10:30:2::/64');
  });
});
