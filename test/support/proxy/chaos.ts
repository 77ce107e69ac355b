// Somebody spoils the network at random, again and again, while a proxy keeps it; after each time the packet-level truth
// table is asked.
// Guarantees: the same seed makes the same faults of the same ruleset; questions that begin HOLDS_AGAIN_MS after a fault must be
// answered as promised, and each failure names the faults so far.

import type { ProxyMode, ProxyState } from '../../../proxy-modes/mode.js';
import { silentLog } from '../../../src/api/log.js';
import { SERVICES } from '../../../src/api/resources.js';
import { NodeProxy } from '../../../src/proxy/proxy.js';
import { StaticInformers } from '../staticInformers.js';
import { service } from './objects.js';
import { NODE_IP, NODE_IP6 } from './packet.js';
import { random } from './port.js';
import { OPTIONS } from './semantics.js';
import { askGroup, type TruthGroup, truthGroups } from './truth.js';
import type { TruthLab } from './truthLab.js';

/** How many faults in each mode; none in the default run. */
export const CHAOS_ROUNDS = Number(process.env['TRELLIS_CHAOS_ROUNDS'] ?? 0);

const HOLDS_AGAIN_MS = 30_000;
/** Every fault that the kernel does not tell is found by the look that is taken this often. */
const SYNC_PERIOD_MS = 10_000;
/** A question of the time in which nothing works need not wait for long. */
const PATIENCE_MS = 5_000;

/** Deterministic choice. */
type Choose = <T>(list: readonly T[]) => T;
/** A name, and the shell's commands that do it on the node. */
type Fault = readonly [name: string, commands: (lab: TruthLab, choose: Choose) => Promise<string> | string];

interface ChaosRun {
  readonly mode: ProxyMode['name'];
  readonly seed: number;
  /** Asked each time: a start may have moved to the other back end. */
  faults(): readonly Fault[];
  /** Opens the mode as it would be after a start; `starts` counts those before. */
  open(starts: number): Promise<ProxyMode>;
}

const ADDRESSES: readonly Fault[] = [
  [
    'the node gets an address',
    (_, choose) => `ip addr replace 192.168.0.${choose([50, 51, 52])}/24 dev eth0`,
  ],
  [
    'the node loses an address',
    (_, choose) => `ip addr del 192.168.0.${choose([50, 51, 52])}/24 dev eth0 || true`,
  ],
  [
    'its own address goes and returns',
    () =>
      `ip addr del ${NODE_IP}/24 dev eth0; ip addr add ${NODE_IP}/24 dev eth0; ip -6 addr del ${NODE_IP6}/64 dev eth0
       ip -6 addr add ${NODE_IP6}/64 dev eth0 nodad; ip route replace default via 192.168.0.2
       ip -6 route replace default via fd00:1::2`,
  ],
];

/** Done by the test itself. */
const RENAMED = 'the services are renamed';
const STARTED = 'the proxy is started anew';
const PROXY: readonly Fault[] = [
  [RENAMED, () => ''],
  [STARTED, () => ''],
];

/** Of our chains in one table of either family. */
async function chainOf({ node }: TruthLab, choose: Choose, backend: string) {
  const tool = choose([`iptables-${backend}`, `ip6tables-${backend}`]);
  const saved = await Promise.all(
    ['nat', 'filter'].map(async (table) => ({ table, text: await node.run(`${tool}-save`, '-t', table) })),
  );
  const chains = saved.flatMap(({ table, text }) =>
    [...text.matchAll(/^:(KUBE-\S+)/gm)].map(([, chain = '']) => ({ table, chain })),
  );
  const { table, chain } = choose(chains.sort((a, b) => (a.chain < b.chain ? -1 : 1)));
  return { command: `${tool} -w -t ${table}`, chain };
}

export const iptablesFaults = (backend: string): readonly Fault[] => [
  ...['iptables', 'ip6tables'].flatMap((tool) =>
    ['nat', 'filter'].map(
      (table): Fault => [`${tool} -t ${table} -F`, () => `${tool}-${backend} -w -t ${table} -F`],
    ),
  ),
  [
    'a chain is flushed',
    async (lab, choose) => {
      const { command, chain } = await chainOf(lab, choose, backend);
      return `${command} -F ${chain}`;
    },
  ],
  [
    'a chain is renamed',
    async (lab, choose) => {
      const { command, chain } = await chainOf(lab, choose, backend);
      return `${command} -E ${chain} SOMEBODYS; ${command} -F SOMEBODYS || true`;
    },
  ],
  [
    'the jumps are gone',
    () => `iptables-${backend} -w -t nat -F PREROUTING; iptables-${backend} -w -t nat -F OUTPUT`,
  ],
];

export const nftablesFaults = (table: string): readonly Fault[] => {
  const chainOfTable = async ({ node }: TruthLab, choose: Choose) => {
    const family = choose(['ip', 'ip6']);
    const listed = await node.run('nft', 'list', 'chains', family);
    const chains = [...listed.matchAll(/chain (\S+) \{/g)].flatMap(([, name]) => name ?? []).sort();
    return `${family} ${table} ${choose(chains)}`;
  };
  return [
    ['nft flush ruleset', () => 'nft flush ruleset'],
    ['a table is deleted', (_, choose) => `nft delete table ${choose(['ip', 'ip6'])} ${table}`],
    ['a table is flushed', (_, choose) => `nft flush table ${choose(['ip', 'ip6'])} ${table}`],
    ['a chain is flushed', async (lab, choose) => `nft flush chain ${await chainOfTable(lab, choose)}`],
    [
      'a chain gets another rule instead of its own',
      async (lab, choose) => {
        const chain = await chainOfTable(lab, choose);
        return `nft flush chain ${chain}; nft add rule ${chain} counter`;
      },
    ],
    [
      'a chain is renamed',
      async (lab, choose) => {
        const chain = await chainOfTable(lab, choose);
        return `nft rename chain ${chain} somebodys; nft flush chain ${chain.replace(/\S+$/, 'somebodys')} || true`;
      },
    ],
  ];
};

export const ipvsFaults: readonly Fault[] = [
  ['every server is gone', () => 'ipvsadm -C'],
  [
    'a server gets another scheduler and persistence, and its destinations no connections',
    async ({ node }, choose) => {
      const servers = (await node.run('ipvsadm', '-Sn')).split('\n');
      const [, flag = '', address = ''] = choose(servers.filter((line) => line.startsWith('-A '))).split(' ');
      const behind = servers.filter((line) => line.startsWith(`-a ${flag} ${address} `));
      const tired = behind.map((line) => `ipvsadm ${line.replace('-a', '-e').replace(/-w \d+/, '-w 0')}`);
      return [`ipvsadm -E ${flag} ${address} -s lc -p 600`, ...tired].join('\n');
    },
  ],
  // Where the last fault took the device away and packets do not need it, it may not be back yet.
  ['the service addresses are gone', () => 'ip addr flush dev kube-ipvs0 || true'],
  ['the device is gone', () => 'ip link del kube-ipvs0 || true'],
  ['the device is renamed', () => 'ip link set kube-ipvs0 name somebodys || true'],
  ['the sets are empty', () => 'ipset flush'],
  ['an entry is another', () => 'ipset flush KUBE-CLUSTER-IP; ipset add KUBE-CLUSTER-IP 10.96.9.9,tcp:80'],
];

/** Questions of the time in which nothing works. */
function hurried(group: TruthGroup): TruthGroup {
  const cases = group.cases.map((one) => ({
    ...one,
    question: { ...one.question, patienceMs: Math.min(one.question.patienceMs, PATIENCE_MS) },
  }));
  return { ...group, cases };
}

/** Every service under another name: what one had is another's. */
function renamed(state: ProxyState, round: number): ProxyState {
  const to = (text: string) => text.replace(/\/[^/:]*(s\d+:)/, `/r${round}-$1`);
  return new Map(
    [...state.values()].map((port) => [to(port.key), { ...port, key: to(port.key), name: to(port.name) }]),
  );
}

/** The mode with the services of the truth table, whatever the proxy was told of. */
function modeFor(mode: ProxyMode, state: () => ProxyState): ProxyMode {
  return {
    name: mode.name,
    sync: () => mode.sync(state()),
    setServiceCidrs: (cidrs) => mode.setServiceCidrs(cidrs),
    forget: () => mode.forget(),
    ...(mode.check && { check: mode.check.bind(mode) }),
    ...(mode.stamp && { stamp: mode.stamp.bind(mode) }),
    ...(mode.watch && { watch: mode.watch.bind(mode) }),
    cleanUp: () => mode.cleanUp(),
    close: () => mode.close(),
  };
}

export async function runChaos(lab: TruthLab, { mode: name, faults, seed, open }: ChaosRun): Promise<void> {
  const next = random(seed);
  const choose: Choose = (list) => list[Math.floor(next() * list.length)] as (typeof list)[number];
  const group = truthGroups(name).find(({ traffic }) => traffic === OPTIONS.usual);
  if (group === undefined) throw new Error('no truth to ask for');
  let { state } = group;
  let starts = 0;
  const told: string[] = [];
  const start = async () => {
    const informers = new StaticInformers();
    const mode = modeFor(await open(starts), () => state);
    starts += 1;
    const proxy = new NodeProxy({
      informers,
      nodeName: 'n1',
      mode,
      log: silentLog,
      syncPeriodMs: SYNC_PERIOD_MS,
    });
    await proxy.synced();
    return { proxy, informers };
  };
  let running = await start();
  try {
    for (let round = 0; round < CHAOS_ROUNDS; round++) {
      const [fault, commands] = choose([...faults(), ...ADDRESSES, ...PROXY]);
      told.push(fault);
      if (fault === RENAMED) {
        state = renamed(state, round);
        // Any change makes the proxy write.
        running.informers.of(SERVICES).set(service(`poke-${round}`, '10.96.255.1'));
      } else if (fault === STARTED) {
        await running.proxy.stop();
        running = await start();
      } else await lab.node.run('sh', '-c', await commands(lab, choose));
      await holdsAgain(lab, hurried(group), told);
    }
  } finally {
    await running.proxy.stop();
  }
}

async function holdsAgain(lab: TruthLab, group: TruthGroup, told: readonly string[]): Promise<void> {
  const spoiledAt = performance.now();
  for (;;) {
    const isLast = performance.now() - spoiledAt >= HOLDS_AGAIN_MS;
    const failures = await askGroup(lab, group);
    if (failures.length === 0) return;
    if (isLast) throw new Error(`after ${told.join('; ')}:\n${failures.join('\n')}`);
  }
}
