// The goals of the comparison are taken from the sizes they speak of, and say when they are missed.
import { describe, expect, test } from 'vitest';
import { hostGoals, vmGoals } from '../../../../bench/proxy/goals.js';
import type { Row, Run } from '../../../../bench/proxy/measure.js';

const row = (label: string, services: number, more: Partial<Run> = {}): Row => {
  const run: Run = {
    fullMs: 100,
    fullCpuMs: 50,
    changeMs: 1,
    changeCpuMs: 1,
    changeSent: 2,
    rssMb: 100,
    firstUs: 200,
    middleUs: 200,
    lastUs: 200,
    kernelRules: 4 * services,
    firstP99Us: 900,
    middleP99Us: 900,
    lastP99Us: 900,
    connectionsPerSecond: 1000,
    requestsPerSecond: 9000,
    bareMs: 0.3,
    ...more,
  };
  // One run among three that met a busy machine does not decide.
  return { label, services, runs: [run, { ...run, fullMs: 99_999, changeMs: 9_999, rssMb: 999 }, run] };
};
const told = (figures: ReturnType<typeof hostGoals>) => figures.map(({ name, met }) => [name, met]);

describe('goals of the comparison', () => {
  test('on the host are the limits and the growth', () => {
    const rows = [100, 1000, 10_000, 30_000, 44_000].map((services) => row('nftables', services));
    const slow = ['iptables-nft', 'iptables-legacy'].map((label) =>
      row(label, 10_000, { changeMs: 201, rssMb: 151 }),
    );
    expect(told(hostGoals([...rows, ...slow]))).toEqual([
      ['nftables: full sync, 10,000 services', true],
      ['nftables: full sync, 44,000 services', true],
      ['nftables: one changed endpoint, 10,000 services', true],
      ['iptables-nft: one changed endpoint, 10,000 services', false],
      ['iptables-legacy: one changed endpoint, 10,000 services', false],
      ['nftables: memory, 10,000 services', true],
      ['iptables-nft: memory, 10,000 services', false],
      ['iptables-legacy: memory, 10,000 services', false],
      ['nftables: one changed endpoint, 30,000 services', true],
      ['nftables: new connection, 30,000 services', true],
      ['nftables: one changed endpoint, 10,000 services', true],
    ]);
  });

  test('that were not measured are left out', () => {
    expect(hostGoals([row('nftables', 44_000, { fullMs: 10_001 })])).toMatchObject([
      { met: false, goal: 'at most 10,000 ms' },
    ]);
    expect(vmGoals([row('nftables', 100)])).toEqual([]);
    expect(hostGoals([row('nftables', 100), row('iptables-nft', 100)])).toEqual([]);
  });

  test('in the virtual machine are ratios', () => {
    const rows = [row('ipvs', 1000), row('ipvs', 10_000, { changeMs: 2 }), row('iptables-legacy', 1000)];
    expect(told(vmGoals(rows))).toEqual([
      ['ipvs: one changed endpoint, 10,000 services', true],
      ['ipvs: one changed endpoint, 10,000 services', false],
      ['ipvs: one changed endpoint, 1,000 services', false],
    ]);
  });
});
