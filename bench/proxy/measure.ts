// Measures one mode at one size: programming from nothing, one change, and what a new connection costs.
// Guarantees: every mode does the same work in a fresh place; medians of several rounds where a round is cheap.

import type { IptablesBackend } from '../../src/kernel/iptables/port.js';
import type { ModeName } from '../../src/proxy/modeNames.js';
import { type ModeOptions, openMode } from '../../src/proxy/modes.js';
import { median } from '../lib/compare.js';
import { runTool } from '../lib/tool.js';
import { openPlace, POD_IP, PORTS } from './place.js';
import { addressOf, withOneChange, workload } from './workload.js';

export interface Contender {
  /** As the table calls it. */
  readonly label: string;
  readonly mode: ModeName;
  readonly backend?: IptablesBackend;
  /** Larger sizes are left out: writing them takes minutes. */
  readonly upTo?: number;
}

export interface Row {
  readonly label: string;
  readonly services: number;
  readonly fullMs: number;
  readonly changeMs: number;
  /** Messages or lines of that change. */
  readonly changeSent: number;
  /** Microseconds until a new connection is there: to the first, the middle and the last service. */
  readonly firstUs: number;
  readonly middleUs: number;
  readonly lastUs: number;
  readonly lastP99Us: number;
  readonly connectionsPerSecond: number;
  readonly rssMb: number;
}

const CHANGES = 7;

export async function measure(
  { label, mode: name, backend }: Contender,
  services: number,
  connections: number,
): Promise<Row> {
  const place = await openPlace();
  const options: ModeOptions = {
    table: 'trellis-bench',
    families: ['ip'],
    traffic: { ip: { local: { by: 'cidr', cidr: '10.244.0.0/16' } } },
    netns: place.node,
    setSysctl: async (key, value) => {
      await runTool(['sh', '-c', `echo ${value} > /proc/sys/${key}`], { netns: place.node });
    },
    ...(backend === undefined ? {} : { backend }),
  };
  const mode = await openMode(name, options);
  try {
    const state = workload(services, { ip: POD_IP, ports: PORTS });
    const fullMs = await timed(() => mode.sync(state));
    const changes: number[] = [];
    let changeSent = 0;
    for (let round = 0; round < CHANGES; round++) {
      const next = withOneChange(state, round);
      changes.push(
        await timed(async () => {
          changeSent = (await mode.sync(next.state, next.changed)).sent;
        }),
      );
    }
    await mode.sync(state, withOneChange(state, 0).changed);
    const [first, middle, last] = [0, services >> 1, services - 1].map(addressOf);
    const to = async (address = '') => (await place.connect(address, connections)).sort((a, b) => a - b);
    const [firstUs, middleUs, lastUs] = [await to(first), await to(middle), await to(last)];
    return {
      label,
      services,
      fullMs,
      changeMs: median(changes),
      changeSent,
      firstUs: median(firstUs),
      middleUs: median(middleUs),
      lastUs: median(lastUs),
      lastP99Us: lastUs[Math.floor(lastUs.length * 0.99)] ?? Number.NaN,
      connectionsPerSecond: await place.rate(last ?? '', connections * 4, 16),
      rssMb: process.memoryUsage().rss / 2 ** 20,
    };
  } finally {
    mode.close();
    await place.close();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
