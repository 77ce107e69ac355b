import { describe, expect, test } from 'vitest';
import { iptablesMode } from '../../../proxy-modes/iptables/mode.js';
import { OWNED as IPTABLES } from '../../../proxy-modes/iptables/plan/base.js';
import type { Ownership } from '../../../proxy-modes/iptables/tables.js';
import { IpvsMode } from '../../../proxy-modes/ipvs/mode.js';
import { OWNED as IPVS } from '../../../proxy-modes/ipvs/plan/base.js';
import type { ProxyMode } from '../../../proxy-modes/mode.js';
import { userspaceMode } from '../../../proxy-modes/userspace/mode.js';
import { OWNED as USERSPACE } from '../../../proxy-modes/userspace/plan/base.js';
import { FakeIpset } from '../../../src/kernel/ipset/fake.js';
import { FakeIptables } from '../../../src/kernel/iptables/fake.js';
import { FakeIpvs } from '../../../src/kernel/ipvs/fake.js';
import { FakeRoute } from '../../../src/kernel/route/fake.js';
import { alsoCleaning } from '../../../src/proxy/otherBackend.js';
import { stateOf } from '../../support/proxy/port.js';

const traffic = { ip: {} };
const ipvsOn = (ip: FakeIptables) => {
  const kernel = { ipvs: new FakeIpvs(), ipset: new FakeIpset(), route: new FakeRoute() };
  return new IpvsMode({ ...kernel, iptables: { ip }, traffic, setSysctl: async () => undefined });
};
const CASES: [string, Ownership, (ip: FakeIptables) => ProxyMode][] = [
  ['iptables', IPTABLES, (ip) => iptablesMode({ ports: { ip }, traffic })],
  ['ipvs', IPVS, ipvsOn],
  ['userspace', USERSPACE, (ip) => userspaceMode({ ports: { ip }, traffic })],
];
const OTHERS = '-A INPUT -s 203.0.113.7/32 -j ACCEPT';

/** The mode on one back end, after an earlier start wrote the other one. */
async function moved(owned: Ownership, make: (ip: FakeIptables) => ProxyMode) {
  const [used, former] = [new FakeIptables(), new FakeIptables({ backend: 'legacy' })];
  await former.restore(['*filter', OTHERS, 'COMMIT']);
  await make(former).sync(stateOf());
  const mode = alsoCleaning(make(used), { owned, ports: { ip: used }, openOther: async () => former });
  return { mode, used, former };
}

const chainsOf = async (port: FakeIptables) =>
  [...(await port.save()).values()].flatMap(({ chains }) =>
    [...chains.keys()].filter((name) => name.startsWith('KUBE-')),
  );

describe.each(CASES)('the other back end of iptables, in the %s mode', (_, owned, make) => {
  test('has nothing of the mode once that has written its own, and keeps the rules of others', async () => {
    const { mode, used, former } = await moved(owned, make);
    expect(await chainsOf(former)).not.toEqual([]);
    await mode.sync(stateOf());
    expect(await chainsOf(used)).not.toEqual([]);
    expect(await chainsOf(former)).toEqual([]);
    expect((await former.save()).get('filter')?.chains.get('INPUT')?.rules).toEqual([OTHERS]);
  });

  test('is left as it is while the mode cannot write, and tried again when it refuses', async () => {
    const { mode, used, former } = await moved(owned, make);
    const before = await chainsOf(former);
    const restore = { used: used.restore.bind(used), former: former.restore.bind(former) };
    const refuse = () => Promise.reject(new Error('refused'));
    used.restore = refuse;
    await expect(mode.sync(stateOf())).rejects.toThrow('refused');
    expect(await chainsOf(former)).toEqual(before);
    used.restore = restore.used;
    former.restore = refuse;
    await mode.sync(stateOf());
    former.restore = restore.former;
    await mode.sync(stateOf());
    expect(await chainsOf(former)).toEqual([]);
  });

  test('is cleaned up too', async () => {
    const { mode, used, former } = await moved(owned, make);
    await mode.cleanUp();
    expect([await chainsOf(used), await chainsOf(former)]).toEqual([[], []]);
  });
});
