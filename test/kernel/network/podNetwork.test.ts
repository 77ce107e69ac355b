import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { removePodNetwork, setUpPodNetwork } from '../../../src/network/podNetwork.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const namespaces = netNsPerTest();
let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-network-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describeWith({ root: true, tools: ['nft', 'ip'] }, 'the pod network of a node', () => {
  it('is made, is the same when made again, and goes away as a whole', async () => {
    const ns = await namespaces.make();
    const ports = {
      nft: namespaces.closing(await openNft(ns.path)),
      route: namespaces.closing(await openRoute(ns.path)),
    };
    const options = {
      name: 'net',
      bridge: 'trl-test',
      podCidrs: ['10.244.0.0/24', 'fd00:10:244::/64'],
      clusterCidrs: ['10.244.0.0/16', 'fd00:10:244::/56'],
      nonMasqueradeCidrs: ['192.168.0.0/16'],
      serviceCidrs: ['10.96.0.0/12', 'fd00:10:96::/112'],
      nodeIps: ['192.168.9.1', 'fd00:9::1'],
      nftTable: 'trellis-pods-test',
      configDir: path.join(dir, 'net.d'),
      stateDir: path.join(dir, 'state'),
    };
    // One family has a default route, the other has not.
    for (const words of [
      'link add eth0 type veth peer name far',
      'address add 192.168.9.1/24 dev eth0',
      'address add fd00:9::1/64 dev eth0 nodad',
      'link set eth0 up',
      'link set far up',
      'route add default via 192.168.9.254',
    ])
      await ns.run('ip', ...words.split(' '));
    await setUpPodNetwork(options, ports);
    expect(await ns.run('ip', '-6', 'route', 'get', 'fd00:10:96::a')).toContain('trl-test src fd00:9::1');
    expect(await ns.run('ip', 'route', 'get', '10.96.0.10')).toContain('via 192.168.9.254');
    const bridge = await ports.route.link('trl-test');
    expect(bridge).toMatchObject({ type: 'bridge', bridge: { nfCallIptables: true, nfCallIp6tables: true } });
    const rules = await ns.run('nft', 'list', 'ruleset');
    expect(rules).toContain(
      'ip saddr 10.244.0.0/16 ip daddr != 10.244.0.0/16 ip daddr != 192.168.0.0/16 ip daddr != 224.0.0.0/4 masquerade',
    );
    expect(rules).toContain(
      'ip6 saddr fd00:10:244::/56 ip6 daddr != fd00:10:244::/56 ip6 daddr != ff00::/8 masquerade',
    );
    expect(JSON.parse(readFileSync(path.join(dir, 'net.d', '10-trellis.conflist'), 'utf8')).name).toBe('net');

    await setUpPodNetwork(options, ports);
    expect((await ports.route.link('trl-test'))?.mac).toBe(bridge?.mac);
    expect(await ns.run('nft', 'list', 'ruleset')).toBe(rules);

    await setUpPodNetwork({ ...options, clusterCidrs: ['10.244.0.0/16'] }, ports);
    expect(await ns.run('nft', 'list', 'ruleset')).not.toContain('table ip6');

    for (let again = 0; again < 2; again++) await removePodNetwork(options, ports);
    expect(await ports.route.link('trl-test')).toBeUndefined();
    expect(await ns.run('nft', 'list', 'ruleset')).toBe('');
    expect(existsSync(path.join(dir, 'state'))).toBe(true);
  });
});
