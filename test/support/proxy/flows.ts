// UDP flows through restarts of the proxy and changes of endpoints: those that are still right live on, no other does.
// Guarantees: a proxy started here is stopped when the check ends, also when it fails.
import { expect } from 'vitest';
import type { ProxyMode } from '../../../proxy-modes/mode.js';
import { silentLog } from '../../../src/api/log.js';
import { ENDPOINT_SLICES, SERVICES } from '../../../src/api/resources.js';
import { openConntrack } from '../../../src/kernel/conntrack/adapter.js';
import { NodeProxy } from '../../../src/proxy/proxy.js';
import { until } from '../until.js';
import { informersWith, service, slice } from './objects.js';
import type { Answer, TruthLab } from './truthLab.js';

const CLUSTER_IP = '10.96.0.10';
const [HERE, THERE] = ['10.244.0.1', '10.244.1.1'];
const PORTS = Array.from({ length: 24 }, (_, n) => 40_000 + n);

/** `keepsEnding`: flows stay with an endpoint that ends and still serves; IPVS, as kube-proxy's, ends them. */
export async function expectFlowsToFollow(
  lab: TruthLab,
  open: () => Promise<ProxyMode>,
  { keepsEnding = true } = {},
): Promise<void> {
  const udp = service('web', CLUSTER_IP, { ports: [{ port: 80, protocol: 'UDP' }] });
  const ends = (...ips: string[]) => slice('web', ips, 'UDP');
  const informers = informersWith(udp, ends(HERE, THERE));
  let proxy: NodeProxy | undefined;
  const start = async () => {
    const conntrack = await openConntrack(lab.node.path);
    proxy = new NodeProxy({
      informers,
      nodeName: 'n1',
      mode: await open(),
      log: silentLog,
      conntrack,
      minSyncPeriodMs: 1,
    });
    await proxy.synced();
  };
  const stop = async () => {
    await proxy?.stop();
    proxy = undefined;
  };
  const ask = async (patienceMs = 60_000): Promise<(string | Answer)[]> => {
    const question = { protocol: 'udp', destination: CLUSTER_IP, port: 80, patienceMs } as const;
    const answers = await lab.ask(
      'pod',
      PORTS.map((sourcePort) => ({ ...question, source: '10.244.0.77', sourcePort })),
    );
    return answers.map((answer) => (typeof answer === 'string' ? answer : answer.by));
  };
  const all = (by: string) => PORTS.map(() => by);
  try {
    await start();
    const first = await ask();
    // Both have some: all at one of them would prove little, and is a chance of 1 in 8 million.
    expect(new Set(first).size).toBe(2);
    await stop();
    await start();
    expect(await ask()).toEqual(first);
    informers.of(ENDPOINT_SLICES).set(ends(HERE));
    await until(async () => expect(await ask()).toEqual(all(HERE)));
    informers.of(ENDPOINT_SLICES).set(ends(HERE, THERE));
    await until(() => expect(proxy?.waitingMs()).toBe(0));
    // One that joins takes no flow away.
    expect(await ask()).toEqual(all(HERE));
    // Nor does one that ends, as long as it serves.
    const ending = { ready: false, serving: true, terminating: true };
    const [here, there] = ends(HERE, THERE).endpoints;
    informers.of(ENDPOINT_SLICES).set({ ...ends(), endpoints: [{ ...here, conditions: ending }, there] });
    await until(() => expect(proxy?.waitingMs()).toBe(0));
    expect(await ask()).toEqual(all(keepsEnding ? HERE : THERE));
    await stop();
    // Gone while nobody looked.
    informers.of(ENDPOINT_SLICES).set(ends(THERE));
    await start();
    await until(async () => expect(await ask()).toEqual(all(THERE)));
    informers.of(ENDPOINT_SLICES).set(ends());
    await until(async () => expect(await ask(3000)).toEqual(all('refused')));
    informers.of(ENDPOINT_SLICES).set(ends(HERE));
    await until(async () => expect(await ask()).toEqual(all(HERE)));
    await stop();
    informers.of(ENDPOINT_SLICES).set(ends());
    await start();
    await until(async () => expect(await ask(3000)).toEqual(all('refused')));
    informers.of(ENDPOINT_SLICES).set(ends(HERE));
    await until(async () => expect(await ask()).toEqual(all(HERE)));
    await stop();
    informers.of(SERVICES).remove('default/web');
    await start();
    await until(async () => expect(await ask(3000)).toEqual(all('silence')));
  } finally {
    await stop();
  }
}
