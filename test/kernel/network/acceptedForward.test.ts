import { expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import {
  AcceptedForward,
  openEachIptables,
  removeAcceptedForward,
} from '../../../src/network/acceptedForward.js';
import { netNsPerTest } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

const namespaces = netNsPerTest();
const CHAIN = 'TRELLIS-FWD-test';
const POD = '10.244.0.2';
const POD6 = 'fd00:244::2';

/** A node between a pod and a machine outside; each with a way to the others. */
async function wire() {
  const [node, pod, outside] = [
    await namespaces.make(),
    await namespaces.make(),
    await namespaces.make(),
  ] as const;
  for (const [dev, to, net, net6] of [
    ['p', pod, '10.244.0', 'fd00:244::'],
    ['o', outside, '192.168.9', 'fd00:9::'],
  ] as const) {
    await node.run('ip', 'link', 'add', dev, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', to.name);
    for (const [ns, name, host] of [
      [node, dev, 1],
      [to, 'eth0', 2],
    ] as const) {
      await ns.run('ip', 'addr', 'add', `${net}.${host}/24`, 'dev', name);
      await ns.run('ip', 'addr', 'add', `${net6}${host}/64`, 'dev', name, 'nodad');
      await ns.run('ip', 'link', 'set', name, 'up');
    }
    await to.run('ip', 'route', 'add', 'default', 'via', `${net}.1`);
    await to.run('ip', 'route', 'add', 'default', 'via', `${net6}1`);
  }
  await node.run('busybox', 'sysctl', '-w', 'net.ipv4.ip_forward=1', 'net.ipv6.conf.all.forwarding=1');
  const answers = async (ip: string) =>
    outside.run('busybox', 'ping', '-c', '1', '-W', '1', ip).then(
      () => true,
      () => false,
    );
  const both = () => Promise.all([POD, POD6].map(answers));
  return { node, both };
}

const TOOLS = ['iptables-nft', 'iptables-legacy', 'ip6tables-nft', 'ip6tables-legacy', 'busybox', 'nft'];

describeWith({ root: true, tools: TOOLS }, 'pods where FORWARD drops', () => {
  test.each(['nft', 'legacy'])('are reached all the same, back end %s', async (backend) => {
    const { node, both } = await wire();
    const tools = [`iptables-${backend}`, `ip6tables-${backend}`] as const;
    const rules = async () => (await Promise.all(tools.map((tool) => node.run(tool, '-S')))).join('');
    const iptables = await openEachIptables(node.path);
    const forward = new AcceptedForward({ iptables, chain: CHAIN, log: silentLog });
    // Spelled otherwise than the tools print it.
    await forward.set(['10.244.0.0/16', 'FD00:244:0::/56']);
    expect(await node.run('nft', 'list', 'ruleset')).toBe('');
    await until(async () => expect(await both()).toEqual([true, true]));

    for (const tool of tools) await node.run(tool, '-P', 'FORWARD', 'DROP');
    await node.run(tools[0], '-A', 'FORWARD', '-s', '192.0.2.0/24', '-j', 'DROP');
    expect(await both()).toEqual([false, false]);
    await forward.look();
    expect(await both()).toEqual([true, true]);
    const written = await rules();
    await forward.look();
    expect(await rules()).toBe(written);

    await node.run(tools[0], '-F', CHAIN);
    await node.run(tools[1], '-F', 'FORWARD');
    expect(await both()).toEqual([false, false]);
    await forward.look();
    expect(await rules()).toBe(written);
    expect(await both()).toEqual([true, true]);

    await node.run(tools[1], '-P', 'FORWARD', 'ACCEPT');
    await forward.look();
    expect(await node.run(tools[1], '-S')).not.toContain(CHAIN);
    for (let again = 0; again < 2; again++) await removeAcceptedForward(iptables, CHAIN);
    await forward.stop();
    expect(await rules()).not.toContain(CHAIN);
    expect(await rules()).toContain('-A FORWARD -s 192.0.2.0/24 -j DROP');
    expect(await both()).toEqual([false, true]);
  });
});
