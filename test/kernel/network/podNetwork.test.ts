import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { openNft } from '../../../src/kernel/nftables/adapter.js';
import { openRoute } from '../../../src/kernel/route/adapter.js';
import { KeptTable } from '../../../src/network/keptTable.js';
import { removePodNetwork, setUpPodNetwork, writtenRanges } from '../../../src/network/podNetwork.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

const namespaces = netNsPerTest();
let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-network-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describeWith({ root: true, tools: ['nft', 'ip'] }, 'the pod network of a node', () => {
  test('is made, is the same when made again, and goes away as a whole', async () => {
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
      deniesSpoofing: true,
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
    const rules = new KeptTable({ nft: ports.nft, name: options.nftTable, log: silentLog });
    const made = { route: ports.route, rules };
    expect(await writtenRanges(options.configDir)).toEqual([]);
    await setUpPodNetwork(options, made);
    expect(await writtenRanges(options.configDir)).toEqual(options.podCidrs);
    expect(await ns.run('ip', '-6', 'route', 'get', 'fd00:10:96::a')).toContain('trl-test src fd00:9::1');
    expect(await ns.run('ip', 'route', 'get', '10.96.0.10')).toContain('via 192.168.9.254');
    const bridge = await ports.route.link('trl-test');
    expect(bridge).toMatchObject({ type: 'bridge', bridge: { nfCallIptables: true, nfCallIp6tables: true } });
    const listed = await ns.run('nft', 'list', 'ruleset');
    expect(listed).toContain(
      'ip saddr 10.244.0.0/16 ip daddr != 10.244.0.0/16 ip daddr != 192.168.0.0/16 ip daddr != 224.0.0.0/4 masquerade',
    );
    expect(listed).toContain(
      'ip6 saddr fd00:10:244::/56 ip6 daddr != fd00:10:244::/56 ip6 daddr != ff00::/8 masquerade',
    );
    expect(JSON.parse(readFileSync(path.join(dir, 'net.d', '10-trellis.conflist'), 'utf8')).name).toBe('net');

    await ns.run('nft', 'flush', 'ruleset');
    await until(async () => expect(await ns.run('nft', 'list', 'ruleset')).toBe(listed));
    await ns.run('nft', 'flush', 'chain', 'ip', 'trellis-pods-test', 'postrouting');
    await until(async () => expect(await ns.run('nft', 'list', 'ruleset')).toBe(listed));

    await setUpPodNetwork(options, made);
    expect((await ports.route.link('trl-test'))?.mac).toBe(bridge?.mac);
    expect(await ns.run('nft', 'list', 'ruleset')).toBe(listed);

    await setUpPodNetwork({ ...options, clusterCidrs: ['10.244.0.0/16'] }, made);
    expect(await ns.run('nft', 'list', 'ruleset')).not.toContain('table ip6');

    // With other ranges nothing says any more that pods of the old ones are here.
    for (const address of ['10.244.0.1/24', 'fd00:10:244::1/64'])
      await ns.run('ip', 'address', 'add', address, 'dev', 'trl-test');
    await setUpPodNetwork({ ...options, podCidrs: ['10.244.7.0/24', 'fd00:10:244::/64'] }, made);
    const addresses = (await ports.route.addresses({ dev: 'trl-test' })).map(({ address }) => address);
    expect(addresses.filter((address) => !address.startsWith('fe80'))).toEqual(['fd00:10:244::1/64']);

    writeFileSync(path.join(dir, 'net.d', '10-trellis.conflist'), '{"cut');
    expect(await writtenRanges(options.configDir)).toEqual([]);

    await rules.stop();
    for (let again = 0; again < 2; again++) await removePodNetwork(options, ports);
    expect(await ports.route.link('trl-test')).toBeUndefined();
    expect(await ns.run('nft', 'list', 'ruleset')).toBe('');
    expect(existsSync(path.join(dir, 'state'))).toBe(true);
  });
});
