// The IPVS mode where the kernel refuses something.
import { describe, expect, test } from 'vitest';
import { type Failure, KernelError } from '../../../../src/kernel/error.js';
import type { IpSetMember, IpSetRequest } from '../../../../src/kernel/ipset/port.js';
import { ipvsContents } from '../../../support/proxy/contents.js';
import { freshly, kernel, modeOn } from '../../../support/proxy/ipvsKernel.js';
import { servicePort, stateOf } from '../../../support/proxy/port.js';

/** Does everything but add the entry, which is refused as the port's contract has it. */
async function applyBut(
  apply: (requests: readonly IpSetRequest[]) => Promise<void>,
  requests: readonly IpSetRequest[],
  refused: string,
): Promise<void> {
  const refusals: Failure[] = [];
  const rest = requests.map((request, index) => {
    if (request.kind !== 'entry' || request.do !== 'add') return request;
    const isRefused = (one: string | IpSetMember) => (typeof one === 'string' ? one : one.entry) === refused;
    const entry = request.entries.findIndex(isRefused);
    const refusal = { code: 'IPSET_ERR_HASH_FULL', message: 'full', operation: '', kernel: '', errno: 4352 };
    if (entry !== -1) refusals.push({ ...refusal, index, entry });
    return { ...request, entries: request.entries.filter((one) => !isRefused(one)) };
  });
  await apply(rest);
  const [first, ...others] = refusals;
  if (first !== undefined) throw new KernelError([first, ...others]);
}

describe('the IPVS mode', () => {
  test('goes on with the rest where the kernel refuses a part, and tells', async () => {
    const place = await kernel();
    const mode = modeOn(place, { scheduler: 'absent' });
    const state = stateOf(servicePort(1), servicePort(2));
    await expect(mode.sync(state)).rejects.toThrow('ip_vs_absent');
    const { sets, addresses } = await ipvsContents(place);
    expect(sets).toContain('KUBE-CLUSTER-IP 10.96.0.1,tcp:80 10.96.0.2,tcp:80');
    expect(addresses).toContain('10.96.0.2/32');
    expect((await place.iptables.save()).get('nat')?.chains.get('KUBE-SERVICES')?.rules).not.toEqual([]);
  });

  test.each(['at first', 'later'])('leaves out and names a service that is refused, %s', async (when) => {
    const place = await kernel();
    const apply = place.ipvs.apply.bind(place.ipvs);
    let isRefusing = true;
    place.ipvs.apply = async (requests) => {
      const isBad = (request: object) => isRefusing && JSON.stringify(request).includes('10.96.0.2"');
      await apply(requests.filter((request) => !isBad(request) || request.do === 'delete'));
      const index = requests.findIndex((request) => isBad(request) && request.do !== 'delete');
      const refusal = { code: 'EINVAL', message: 'refused', operation: '', kernel: '', errno: 22, index };
      if (index !== -1) throw new KernelError([refusal]);
    };
    const mode = modeOn(place);
    const [one, two, three] = [servicePort(1), servicePort(2), servicePort(3)];
    if (when === 'later') await mode.sync(stateOf(one));
    const all = stateOf(one, two, three);
    const report = await mode.sync(all, when === 'later' ? new Set([two.key, three.key]) : undefined);
    expect([...(report.failed ?? [])]).toEqual([[two.key, expect.objectContaining({ message: 'refused' })]]);
    expect(await ipvsContents(place)).toEqual(await freshly(stateOf(one, three)));
    expect(await mode.check?.()).toBe(true);
    isRefusing = false;
    expect((await mode.sync(all, new Set([two.key]))).failed?.size).toBe(0);
    expect(await ipvsContents(place)).toEqual(await freshly(all));
  });

  test.each(['at first', 'later', 'taking over'])(
    'leaves out and names a service whose set entry is refused, %s',
    async (when) => {
      const place = await kernel();
      const [one, two, three] = [servicePort(1), servicePort(2), servicePort(3)];
      // Made otherwise than ours are: it is filled anew beside.
      if (when === 'taking over')
        await place.ipset.apply([{ do: 'add', kind: 'set', name: 'KUBE-CLUSTER-IP', type: 'hash:ip,port' }]);
      const apply = place.ipset.apply.bind(place.ipset);
      let isFull = true;
      place.ipset.apply = (requests) => applyBut(apply, requests, isFull ? '10.96.0.2,tcp:80' : '');
      const mode = modeOn(place);
      if (when === 'later') await mode.sync(stateOf(one));
      const all = stateOf(one, two, three);
      const report = await mode.sync(all, when === 'later' ? new Set([two.key, three.key]) : undefined);
      expect([...(report.failed ?? [])]).toEqual([[two.key, expect.objectContaining({ message: 'full' })]]);
      expect(await ipvsContents(place)).toEqual(await freshly(stateOf(one, three)));
      expect(await mode.check?.()).toBe(true);
      isFull = false;
      expect((await mode.sync(all, new Set([two.key]))).failed?.size).toBe(0);
      expect(await ipvsContents(place)).toEqual(await freshly(all));
    },
  );
});
