// What the Service API promises of packets, asked of a kernel that has IPVS: the same cases as for every other mode.
import { expect, test, vi } from 'vitest';
import type { IpFamily, PerFamily, TrafficOptions } from '../../../proxy-modes/mode.js';
import { openMode } from '../../../src/proxy/modes.js';
import type { TestNetNs } from '../../support/netns.js';
import { expectFlowsToFollow } from '../../support/proxy/flows.js';
import { OPTIONS } from '../../support/proxy/semantics.js';
import { brokenPromises, truthGroups } from '../../support/proxy/truth.js';
import { truthLab } from '../../support/proxy/truthLab.js';
import { describeWith } from '../../support/requires.js';

// The machine is emulated, on a host that may be busy.
vi.setConfig({ testTimeout: 600_000 });

const { open } = truthLab();

/** `TRELLIS_PROOF=long`: configured in every way there is; else in those that make rules of another shape. */
const LONG = process.env['TRELLIS_PROOF'] === 'long';
const SHORT: ReadonlySet<unknown> = new Set([
  OPTIONS.usual,
  OPTIONS.masqueradeAll,
  OPTIONS.nobody,
  OPTIONS.device,
  OPTIONS.primary,
]);

/** A process is dear here: what is set stays set. */
function setOnce(node: TestNetNs) {
  const set = new Set<string>();
  return async (name: string, value: string) => {
    if (!set.has(name)) await node.run('sh', '-c', `echo ${value} > /proc/sys/${name}`);
    set.add(name);
  };
}

const needs = { root: true, tools: ['nsenter', 'ip', 'perl'], features: ['ip-vs'] };
describeWith(needs, 'in the IPVS mode', () => {
  test('packets are treated as promised, and UDP flows live through a restart unless they are stale', async () => {
    const lab = await open();
    const setSysctl = setOnce(lab.node);
    const ipvs = (families: readonly IpFamily[]) => (traffic: PerFamily<TrafficOptions>) =>
      openMode('ipvs', { table: '', families, traffic, backend: 'legacy', netns: lab.node.path, setSysctl });
    const groups = truthGroups('ipvs').filter(({ traffic }) => LONG || SHORT.has(traffic));
    expect(await brokenPromises(lab, groups, ipvs(['ip', 'ip6']))).toEqual([]);
    await expectFlowsToFollow(lab, () => ipvs(['ip'])(OPTIONS.usual), { keepsEnding: false });
  });
});
