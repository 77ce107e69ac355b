// Measures one mode at one size: programming from nothing, one change, and what a new connection costs.
// Guarantees: every mode does the same work in a fresh place and, run by `modeProcess.ts`, in a process of its own; kernel settings
// are made before the clock runs; a change is the median of several.
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { release } from 'node:os';
import { ipvsSysctls } from '../../proxy-modes/ipvs/sysctls.js';
import type { ProxyMode, ServicePort } from '../../proxy-modes/mode.js';
import { openIptables } from '../../src/kernel/iptables/adapter.js';
import type { IptablesBackend } from '../../src/kernel/iptables/port.js';
import { openIpvs } from '../../src/kernel/ipvs/adapter.js';
import { openNft } from '../../src/kernel/nftables/adapter.js';
import type { ModeName } from '../../src/proxy/modeNames.js';
import { type ModeOptions, openMode } from '../../src/proxy/modes.js';
import { MB } from '../lib/process.js';
import { median } from '../lib/samples.js';
import { openTestNetwork, POD_IP, PORTS, type TestNetwork } from './testNetwork.js';
import { addressOf, changeOne, workload } from './workload.js';

export interface Contender {
  /** As the table calls it. */
  readonly label: string;
  readonly mode: ModeName;
  readonly backend?: IptablesBackend;
  /** Larger sizes are left out: it cannot, or writing them takes minutes. */
  readonly upTo?: number;
}

/** One run: a fresh place and a fresh process. */
export interface Run {
  readonly fullMs: number;
  /** Of the proxy and of the tools it ran, in user space and in the kernel. */
  readonly fullCpuMs: number;
  readonly changeMs: number;
  readonly changeCpuMs: number;
  /** Messages or lines of that change. */
  readonly changeSent: number;
  /** One empty nf_tables transaction in the same place: what the kernel's door alone costs. Absent without nf_tables. */
  readonly bareMs?: number;
  /** Microseconds until a new connection is there: to the first, the middle and the last service. */
  readonly firstUs: number;
  readonly middleUs: number;
  readonly lastUs: number;
  readonly firstP99Us: number;
  readonly middleP99Us: number;
  readonly lastP99Us: number;
  readonly connectionsPerSecond: number;
  /** Over connections that stay. */
  readonly requestsPerSecond: number;
  /** Of the process, after the changes. */
  readonly rssMb: number;
  /** Rules, elements of maps, virtual servers and their destinations. */
  readonly kernelRules: number;
}

/** One mode at one size. */
export interface Row {
  readonly label: string;
  readonly services: number;
  readonly runs: readonly Run[];
}

/** At least so many changes, and where they are quick, more: the median of quick ones needs them. */
const CHANGES = 15;
const MOST_CHANGES = 101;
const CHANGES_MS = 500;

interface MeasureOptions {
  readonly services: number;
  readonly connections: number;
  /** The node's namespace, which this process runs in. */
  readonly node: string;
}

export async function measure(contender: Contender, options: MeasureOptions): Promise<Run> {
  const { services, connections, node } = options;
  const place = await openTestNetwork(node);
  const mode = await openMode(contender.mode, optionsOf(contender)).catch(async (error: unknown) => {
    await place.close();
    throw error;
  });
  try {
    if (contender.mode === 'ipvs') await setSysctls();
    const state = workload(services, { ip: POD_IP, ports: PORTS });
    const [fullMs, fullCpuMs] = await timed(() => mode.sync(state));
    const change = await changes(mode, state);
    const rssMb = process.memoryUsage().rss / MB;
    // The middle one is connected to as well: both its endpoints must answer again.
    const whole = workload(services, { ip: POD_IP, ports: PORTS });
    await mode.sync(whole, changeOne(state, 0));
    return {
      fullMs,
      fullCpuMs,
      ...change,
      ...(await bareCommit()),
      ...(await traffic(place, services, connections)),
      rssMb,
      kernelRules: await kernelRules(contender),
    };
  } finally {
    mode.close();
    await place.close();
  }
}

async function changes(mode: ProxyMode, state: Map<string, ServicePort>) {
  const times: number[] = [];
  let [changeSent, cpuMs] = [0, 0];
  const began = performance.now();
  const isEnough = (done: number) =>
    done >= MOST_CHANGES || (done >= CHANGES && performance.now() - began > CHANGES_MS);
  for (let round = 0; !isEnough(round); round++) {
    const changed = changeOne(state, round);
    const [ms, ofCpu] = await timed(async () => {
      changeSent = (await mode.sync(state, changed)).sent;
    });
    times.push(ms);
    cpuMs += ofCpu;
  }
  return { changeMs: median(times), changeCpuMs: cpuMs / times.length, changeSent };
}

const optionsOf = ({ backend }: Contender): ModeOptions => ({
  table: 'trellis-bench',
  families: ['ip'],
  traffic: { ip: { local: { by: 'cidr', cidr: '10.244.0.0/16' } } },
  setSysctl: async () => {}, // before the clock, by setSysctls
  ...(backend === undefined ? {} : { backend }),
});

/** What IPVS sets once when it starts. Not every kernel has every one of them. */
async function setSysctls(): Promise<void> {
  for (const [name, value] of Object.entries(ipvsSysctls({ release: release() })))
    await writeFile(`/proc/sys/${name}`, value).catch(() => undefined);
}

async function traffic(place: TestNetwork, services: number, connections: number) {
  const [first = '', middle = '', last = ''] = [0, services >> 1, services - 1].map(addressOf);
  const to = async (address: string) => (await place.connect(address, connections)).sort((a, b) => a - b);
  const [firstUs, middleUs, lastUs] = [await to(first), await to(middle), await to(last)];
  const p99 = (sorted: readonly number[]) => sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
  return {
    firstUs: median(firstUs),
    middleUs: median(middleUs),
    lastUs: median(lastUs),
    firstP99Us: p99(firstUs),
    middleP99Us: p99(middleUs),
    lastP99Us: p99(lastUs),
    connectionsPerSecond: await place.rate(last, connections * 4, 16),
    requestsPerSecond: await place.requests(last, connections * 20, 16),
  };
}

async function bareCommit(): Promise<{ bareMs?: number }> {
  const nft = await openNft();
  const table = { kind: 'table', family: 'ip', name: 'trellis-bare' } as const;
  try {
    const times: number[] = [];
    for (let round = 0; round < CHANGES; round++) {
      times.push((await timed(() => nft.commit([{ do: 'add', ...table }])))[0]);
      await nft.commit([{ do: 'delete', ...table }]);
    }
    return { bareMs: median(times) };
  } catch {
    return {};
  } finally {
    nft.close();
  }
}

async function kernelRules({ mode, backend }: Contender): Promise<number> {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  if (mode === 'nftables') {
    const nft = await openNft();
    const sets = await nft.sets({ family: 'ip' });
    let elements = 0;
    for (const { family, table, name } of sets)
      elements += (await nft.elements({ family, table, set: name })).length;
    const rules = (await nft.rules({ family: 'ip' })).length;
    nft.close();
    return rules + elements;
  }
  const port = await openIptables({ family: 'inet', ...(backend === undefined ? {} : { backend }) });
  const tables = [...(await port.save()).values()];
  const rules = sum(tables.flatMap(({ chains }) => [...chains.values()].map((chain) => chain.rules.length)));
  if (mode !== 'ipvs') return rules;
  const ipvs = await openIpvs();
  const servers = await ipvs.list();
  ipvs.close();
  return rules + servers.length + sum(servers.map(({ destinations }) => destinations.length));
}

const TICK_MS = 10;

/** Of this process, and (in whole ticks) of the tools that it has waited for. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (user + system) / 1000 + TICK_MS * (Number(fields[13]) + Number(fields[14]));
}

/** Milliseconds by the clock, and of the processor. */
async function timed(work: () => Promise<unknown>): Promise<[number, number]> {
  const [start, cpu] = [performance.now(), cpuMs()];
  await work();
  return [performance.now() - start, cpuMs() - cpu];
}
