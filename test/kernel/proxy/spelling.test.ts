// What a mode has written is found as it was written, however Services and the configuration spell it: a check that took
// its own rules for somebody else's would write everything anew, again and again.
import { expect, test, vi } from 'vitest';
import type { TrafficOptions } from '../../../proxy-modes/mode.js';
import type { ModeName } from '../../../src/proxy/modeNames.js';
import { openMode } from '../../../src/proxy/modes.js';
import { servicePorts } from '../../../src/proxy/servicePorts.js';
import { netNsPerTest } from '../../support/netns.js';
import { service, slice } from '../../support/proxy/objects.js';
import { endpoint, servicePort, stateOf } from '../../support/proxy/port.js';
import { KERNEL_MODES } from '../../support/proxy/truthLab.js';
import { describeWith } from '../../support/requires.js';

vi.setConfig({ testTimeout: 120_000 });

const namespaces = netNsPerTest();

const FAMILIES = {
  ip: { everybody: '0.0.0.0/0', balancer: '198.51.100.9', pod: '10.244.0.1' },
  ip6: { everybody: '::/0', balancer: '2001:db8:2::9', pod: 'fd00:244::1' },
} as const;

/** A Service of two ports with IPv6 addresses that have an IPv4 address in them, as the proxy reads it. */
function embedded() {
  const loadBalancerSourceRanges = ['::ffff:0:0/96', '::102:304/128'];
  const odd = {
    ...service('odd', 'fd00:96::7', {
      type: 'LoadBalancer',
      externalIPs: ['::102:304', '::ffff:c000:207', '::5', '::1:0'],
      loadBalancerSourceRanges,
    }),
    status: { loadBalancer: { ingress: [{ ip: '::ffff:c633:6409' }] } },
  };
  const ends = { ...slice('odd', ['::ffff:af4:1', '::af4:1']), addressType: 'IPv6' as const };
  return servicePorts({ service: odd, slices: [ends], node: { name: 'n1' } });
}

const MODES: readonly (readonly [ModeName, 'nft' | 'legacy'])[] = [...KERNEL_MODES, ['userspace', 'nft']];

describeWith({ root: true, tools: ['iptables-nft-restore', 'iptables-legacy-restore'] }, 'a check', () => {
  test.each(MODES.flatMap((mode) => (['ip', 'ip6'] as const).map((family) => [...mode, family] as const)))(
    'takes nothing of its own for somebody else’s (%s, %s, %s)',
    async (name, backend, family) => {
      const { everybody, balancer, pod } = FAMILIES[family];
      const { path: netns } = await namespaces.make();
      const plain = servicePort(1, { family, nodePort: 30_001, endpoints: [endpoint(pod)] });
      const open = servicePort(1, {
        ...plain,
        externalLocal: true,
        loadBalancerIps: [balancer],
        sourceRanges: [everybody],
      });
      const [local, nodePortCidrs] = [{ by: 'cidr', cidr: everybody } as const, [everybody]];
      const cases: [string, readonly (typeof plain)[], TrafficOptions][] = [
        ['everybody is let in', [open], {}],
        ['node ports are on every address', [plain], { nodePortCidrs }],
        ['everything is a pod', [open], { local }],
        ...(family === 'ip' ? [] : [['embedded addresses', embedded(), {}] as (typeof cases)[number]]),
      ];
      for (const [what, ports, traffic] of cases) {
        const options = { table: 'trellis-spelling', families: [family], backend, netns };
        const mode = await openMode(name, { ...options, traffic: { [family]: traffic } });
        try {
          // Once they were alike, the mode counts on the tool's spelling.
          if (what !== 'node ports are on every address') await mode.sync(stateOf(plain));
          expect([what, await mode.check?.()]).toEqual([what, true]);
          const report = await mode.sync(stateOf(...ports));
          expect([what, await mode.check?.(), report.failed?.size ?? 0]).toEqual([what, true, 0]);
        } finally {
          await mode.cleanUp();
          mode.close();
        }
      }
    },
  );
});
