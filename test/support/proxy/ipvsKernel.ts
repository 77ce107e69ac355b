// Kernels in memory for tests of the IPVS mode, and the mode on them.
import { IpvsMode, type IpvsModeOptions } from '../../../proxy-modes/ipvs/mode.js';
import type { ProxyState, TrafficOptions } from '../../../proxy-modes/mode.js';
import { FakeIpset } from '../../../src/kernel/ipset/fake.js';
import { FakeIptables } from '../../../src/kernel/iptables/fake.js';
import { FakeIpvs } from '../../../src/kernel/ipvs/fake.js';
import { FakeRoute } from '../../../src/kernel/route/fake.js';
import { ipvsContents } from './contents.js';
import { TRAFFIC } from './semantics.js';

/** One with a device and an address of the node. */
export async function kernel() {
  const route = new FakeRoute();
  await route.apply([
    { do: 'add', kind: 'link', name: 'eth0', type: 'dummy', up: true },
    { do: 'add', kind: 'address', dev: 'eth0', address: '192.168.0.1/24' },
  ]);
  return { ipvs: new FakeIpvs(), ipset: new FakeIpset(), route, iptables: new FakeIptables() };
}
export type Kernel = Awaited<ReturnType<typeof kernel>>;

/** What modes have set. */
export const sysctls = new Map<string, string>();
export const modeOn = (
  { iptables, ...ports }: Kernel,
  more: Partial<Omit<IpvsModeOptions, 'traffic'>> & { traffic?: TrafficOptions } = {},
) =>
  new IpvsMode({
    ...ports,
    iptables: { ip: iptables },
    setSysctl: async (name, value) => void sysctls.set(name, value),
    ...more,
    traffic: { ip: more.traffic ?? TRAFFIC },
  });
export const NODE = '192.168.0.1';
export const serversOf = async (place: Kernel) => (await ipvsContents(place)).servers;
/** What a new kernel has after one sync. */
export const freshly = async (state: ProxyState, more: Parameters<typeof modeOn>[1] = {}) => {
  const place = await kernel();
  await modeOn(place, more).sync(state);
  return ipvsContents(place);
};
