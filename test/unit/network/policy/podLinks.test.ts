// Which bridges are those of a node's pods, and that packets between their ports are handed to the rules of IP.
import { afterEach, expect, test } from 'vitest';
import { silentLog } from '../../../../src/api/log.js';
import { FakeRoute } from '../../../../src/kernel/route/fake.js';
import { PodLinks } from '../../../../src/network/policy/podLinks.js';
import { until } from '../../../support/until.js';

const links: PodLinks[] = [];
afterEach(() => {
  for (const one of links.splice(0)) one.close();
});

function node(networks: readonly string[]) {
  const route = new FakeRoute();
  const told: (readonly string[])[] = [];
  const found = new PodLinks({
    route,
    log: silentLog,
    networks: () => networks,
    onChange: (names) => void told.push(names),
  });
  links.push(found);
  const add = (name: string, type: 'bridge' | 'veth', address: string) =>
    route.apply([
      { do: 'add', kind: 'link', name, type, up: true },
      { do: 'add', kind: 'address', dev: name, address },
    ]);
  const flags = async (name: string) => {
    const { nfCallIptables, nfCallIp6tables } = (await route.link(name))?.bridge ?? {};
    return [nfCallIptables, nfCallIp6tables];
  };
  return { route, found, told, add, flags };
}

test('are bridges with an address of the pods networks, whenever they come and go', async () => {
  const { route, found, told, add, flags } = node(['10.244.1.0/24', 'fd00:1::/64']);
  await add('cni0', 'bridge', '10.244.1.1/24');
  await add('virbr0', 'bridge', '10.244.2.1/24');
  await add('eth0', 'veth', '10.244.1.9/24');
  await found.look();
  expect(told).toEqual([['cni0']]);
  await add('six', 'bridge', 'fd00:1::1/64');
  await until(() => expect(told).toEqual([['cni0'], ['cni0', 'six']]));
  await found.look();
  expect(await flags('cni0')).toEqual([true, true]);
  expect(await flags('six')).toEqual([true, true]);
  expect(await flags('virbr0')).not.toContain(true);
  await route.apply([{ do: 'delete', kind: 'link', name: 'cni0' }]);
  await found.look();
  expect(told.at(-1)).toEqual(['six']);
});

test('are bridges that share a subnet with a pod, where the node has no networks of its own', async () => {
  const { found, told, add } = node(['10.88.3.7']);
  await add('pods', 'bridge', '10.88.0.1/16');
  await add('others', 'bridge', '10.89.0.1/16');
  await found.look();
  expect(told).toEqual([['pods']]);
});

test('are none while nothing is known of pods, and a look again tells nothing new', async () => {
  const { found, told, add } = node([]);
  await add('cni0', 'bridge', '10.244.1.1/24');
  await found.look();
  await found.look();
  expect(told).toEqual([]);
});

test('get their setting back when somebody has taken it away', async () => {
  const { route, found, add, flags } = node(['10.244.1.0/24']);
  await add('cni0', 'bridge', '10.244.1.1/24');
  await found.look();
  const off = { nfCallIptables: false, nfCallIp6tables: false };
  await route.apply([{ do: 'change', kind: 'link', name: 'cni0', bridge: off }]);
  await found.look();
  expect(await flags('cni0')).toEqual([true, true]);
});
