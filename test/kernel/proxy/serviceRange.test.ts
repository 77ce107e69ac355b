// Addresses of the service range, with real packets: what no service has goes nowhere, also where somebody else would answer.
import { expect, test, vi } from 'vitest';
import type { ProxyMode } from '../../../proxy-modes/mode.js';
import { openMode } from '../../../src/proxy/modes.js';
import { endpoint, servicePort, stateOf } from '../../support/proxy/port.js';
import { OPTIONS } from '../../support/proxy/semantics.js';
import { KERNEL_MODES, type TruthLab, truthLab } from '../../support/proxy/truthLab.js';
import { describeWith } from '../../support/requires.js';

vi.setConfig({ testTimeout: 300_000 });

const { open } = truthLab();
const STRANGER = '10.96.9.9';
const PATIENCE_MS = { answer: 60_000, silence: 1500 };

/** What a pod and the node hear from the stranger's address. */
async function heard(lab: TruthLab, patienceMs: number): Promise<unknown[]> {
  const question = { protocol: 'tcp', destination: STRANGER, port: 8080, patienceMs } as const;
  return [...(await lab.ask('pod', [question])), ...(await lab.ask('node', [question]))].map((answer) =>
    typeof answer === 'string' ? answer : answer.by,
  );
}

type Mode = Pick<ProxyMode, 'sync' | 'setServiceCidrs' | 'cleanUp' | 'close'>;

async function walk(lab: TruthLab, mode: Mode): Promise<void> {
  await lab.giveElsewhere(STRANGER);
  // Two ports of one service: what is refused beside them stays so until both are gone.
  const [first, second] = [1, 2].map((n) =>
    servicePort(n, { clusterIp: '10.96.0.1', port: 79 + n, endpoints: [endpoint('10.244.0.1')] }),
  );
  if (first === undefined || second === undefined) throw new Error('no ports');
  const beside = async () => {
    const at = { protocol: 'tcp', destination: '10.96.0.1', port: 8080 } as const;
    const [answer] = await lab.ask('pod', [{ ...at, patienceMs: PATIENCE_MS.silence }]);
    return answer;
  };
  await mode.sync(stateOf(first, second));
  expect(await heard(lab, PATIENCE_MS.answer)).toEqual([STRANGER, STRANGER]);
  mode.setServiceCidrs(['10.96.0.0/16', '2001:db8:96::/112']);
  await mode.sync(stateOf(first, second));
  expect(await heard(lab, PATIENCE_MS.silence)).toEqual(['silence', 'silence']);
  expect(await beside()).toBe('refused');
  await mode.sync(stateOf(second), new Set([first.key]));
  expect(await beside()).toBe('refused');
  await mode.sync(stateOf(), new Set([second.key]));
  expect(await beside()).toBe('silence');
  mode.setServiceCidrs(['10.97.0.0/16']);
  await mode.sync(stateOf());
  expect(await heard(lab, PATIENCE_MS.answer)).toEqual([STRANGER, STRANGER]);
  mode.setServiceCidrs(['10.96.0.0/12']);
  await mode.sync(stateOf());
  expect(await heard(lab, PATIENCE_MS.silence)).toEqual(['silence', 'silence']);
  await mode.cleanUp();
  expect(await heard(lab, PATIENCE_MS.answer)).toEqual([STRANGER, STRANGER]);
  mode.close();
}

const { serviceCidrs: _, ...ip } = OPTIONS.usual.ip ?? {};
const traffic = { ip };
const tools = ['nsenter', 'ip', 'perl', 'iptables-nft-restore', 'iptables-legacy-restore'];
describeWith({ root: true, tools }, 'packets to addresses that no service has go nowhere', () => {
  test.each(KERNEL_MODES)('in the %s mode (%s)', async (name, backend) => {
    const lab = await open();
    const options = { table: 'trellis-range', families: ['ip'], traffic, backend } as const;
    await walk(lab, await openMode(name, { ...options, netns: lab.node.path }));
  });

  test('in the userspace mode', async () => {
    const lab = await open();
    await walk(lab, lab.modeOnNode('userspace', 'nft', traffic));
  });
});
