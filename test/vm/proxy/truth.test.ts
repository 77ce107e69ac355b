// What the Service API promises of packets, asked of a kernel that has IPVS: the same cases as for every other mode.
import { expect, it, vi } from 'vitest';
import { openMode } from '../../../src/proxy/modes.js';
import type { PerFamily, TrafficOptions } from '../../../src/proxy/state.js';
import type { TestNetNs } from '../../support/netns.js';
import { expectFlowsToFollow } from '../../support/proxy/flows.js';
import { OPTIONS } from '../../support/proxy/semantics.js';
import { brokenPromises, truthGroups } from '../../support/proxy/truth.js';
import { truthLab } from '../../support/proxy/truthLab.js';
import { describeWith } from '../../support/requires.js';

// The machine is emulated, on a host that may be busy.
vi.setConfig({ testTimeout: 600_000 });

const { open } = truthLab();

const ipvsIn = (node: TestNetNs, traffic: PerFamily<TrafficOptions>) =>
  openMode('ipvs', {
    table: '',
    families: ['ip', 'ip6'],
    traffic,
    backend: 'legacy',
    netns: node.path,
    setSysctl: async (name, value) => void (await node.run('sh', '-c', `echo ${value} > /proc/sys/${name}`)),
  });

const needs = { root: true, tools: ['nsenter', 'ip', 'perl'], features: ['ip-vs'] };
describeWith(needs, 'in the IPVS mode', () => {
  it('packets are treated as promised', async () => {
    const lab = await open();
    const groups = truthGroups('ipvs');
    expect(await brokenPromises(lab, groups, (traffic) => ipvsIn(lab.node, traffic))).toEqual([]);
  });

  it('UDP flows live through a restart unless they are stale', async () => {
    const lab = await open();
    await expectFlowsToFollow(lab, () => ipvsIn(lab.node, OPTIONS.usual));
  });
});
