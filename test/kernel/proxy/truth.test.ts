// What the Service API promises of packets, asked of the kernel itself in each mode that this kernel has: every semantic
// case is a real connection from a pod, the node or outside, and tells which endpoint got it and which source it saw.
import { expect, test, vi } from 'vitest';
import { openMode } from '../../../src/proxy/modes.js';
import { NODE_IP } from '../../support/proxy/packet.js';
import { servicePort, stateOf } from '../../support/proxy/port.js';
import { OPTIONS } from '../../support/proxy/semantics.js';
import { brokenPromises, truthGroups } from '../../support/proxy/truth.js';
import { KERNEL_MODES, truthLab } from '../../support/proxy/truthLab.js';
import { describeWith } from '../../support/requires.js';

vi.setConfig({ testTimeout: 300_000 });

const { open } = truthLab();

const tools = [
  'nsenter',
  'ip',
  'perl',
  'iptables-nft-restore',
  'iptables-legacy-restore',
  'ip6tables-legacy-restore',
];
describeWith({ root: true, tools }, 'packets are treated as promised', () => {
  test.each(KERNEL_MODES)('in the %s mode (%s)', async (name, backend) => {
    const lab = await open();
    const failures = await brokenPromises(lab, truthGroups(name), (traffic) =>
      openMode(name, {
        table: 'trellis-truth',
        families: ['ip', 'ip6'],
        traffic,
        backend,
        netns: lab.node.path,
      }),
    );
    expect(failures).toEqual([]);
  });

  test.each(['nft', 'legacy'] as const)(
    'to the health check of a service, on a node that takes nothing else in (iptables, %s)',
    async (backend) => {
      const lab = await open();
      await lab.serveOnNode();
      await lab.node.run(`iptables-${backend}`, '-P', 'INPUT', 'DROP');
      const mode = await openMode('iptables', {
        table: '',
        families: ['ip'],
        traffic: OPTIONS.usual,
        backend,
        netns: lab.node.path,
      });
      const ask = async (patienceMs: number) =>
        lab.ask('outside', [{ protocol: 'tcp', destination: NODE_IP, port: 8080, patienceMs }]);
      await mode.sync(stateOf(servicePort(1)));
      expect(await ask(1500)).toEqual(['silence']);
      await mode.sync(stateOf(servicePort(1, { healthCheckNodePort: 8080 })));
      expect(await ask(60_000)).toEqual([{ by: NODE_IP, source: '192.168.0.2' }]);
      mode.close();
    },
  );

  test('in the userspace mode', async () => {
    const lab = await open();
    const failures = await brokenPromises(lab, truthGroups('userspace'), async (traffic) =>
      lab.modeOnNode('userspace', 'nft', traffic),
    );
    expect(failures).toEqual([]);
  });
});
