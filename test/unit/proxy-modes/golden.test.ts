// What each mode makes of every shape of a service, held to tables that were read and found right.
// Guarantees: one more or less rule, server, set entry or map element in any mode is seen as a line of the table's
// difference. After a change that is meant, `npx vitest run --project unit golden -u` writes the tables anew.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { baseRules as iptablesBase } from '../../../proxy-modes/iptables/plan/base.js';
import { planService as planIptables } from '../../../proxy-modes/iptables/plan/service.js';
import { baseRules as ipvsBase } from '../../../proxy-modes/ipvs/plan/base.js';
import { planService as planIpvs } from '../../../proxy-modes/ipvs/plan/service.js';
import type { IpFamily, ServicePort, TrafficOptions } from '../../../proxy-modes/mode.js';
import { base as nftBase } from '../../../proxy-modes/nftables/plan/base.js';
import {
  type ChainStep,
  planService as planNft,
  sharedElements,
} from '../../../proxy-modes/nftables/plan/service.js';
import { planService as planUserspace } from '../../../proxy-modes/userspace/plan/service.js';
import { MODE_NAMES } from '../../../src/proxy/modeNames.js';
import { NODE_IP, NODE_IP6 } from '../../support/proxy/packet.js';
import { OPTIONS } from '../../support/proxy/semantics.js';
import { SHAPES } from '../../support/proxy/shapes.js';

const FAMILIES = ['ip', 'ip6'] as const;
const place = ({ ip, port }: { readonly ip: string; readonly port: number }) =>
  ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`;

function iptables(port: ServicePort, options: TrafficOptions): string[] {
  const { chains, nat, filter } = planIptables(port, options);
  return [
    ...nat.map((rule) => `nat -A ${rule}`),
    ...[...chains].flatMap(([chain, rules]) => rules.map((rule) => `nat -A ${chain} ${rule}`)),
    ...filter.map((rule) => `filter -A ${rule}`),
  ];
}

function ipvs(port: ServicePort, options: TrafficOptions): string[] {
  const localIps = [NODE_IP, NODE_IP6, '127.0.0.1', '::1'];
  const plan = planIpvs(port, { ...options, scheduler: 'rr', localIps });
  return [
    ...plan.servers.map(({ key, options: { scheduler, persistence }, destinations }) => {
      const { address: ip, port: number, protocol } = key;
      const sticks = persistence === undefined ? '' : ` persistent ${persistence}`;
      const to = destinations.map(place).join(' ');
      return `server ${protocol} ${place({ ip, port: number })} ${scheduler}${sticks} -> ${to || 'nobody'}`;
    }),
    ...plan.addresses.map((address) => `kube-ipvs0 ${address}`),
    ...plan.entries.map((entry) => `set ${entry}`),
  ];
}

function step({ step: word, ...rest }: ChainStep): string {
  const words = Object.entries(rest).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return [word, ...words].join(' ');
}

function nftables(port: ServicePort, options: TrafficOptions): string[] {
  const { elements, chains, clientSets } = planNft(port, options);
  return [
    ...Object.entries(elements).flatMap(([set, list]) =>
      list.map(({ key, verdict, data }) => `${set} { ${key} : ${verdict ?? data} }`),
    ),
    ...[...chains].flatMap(([chain, steps]) => steps.map((one) => `${chain}: ${step(one)}`)),
    ...clientSets.map((name) => `set ${name}`),
    ...sharedElements(port).map((element) => `shared ${element}`),
  ];
}

const userspace = (port: ServicePort, options: TrafficOptions) =>
  port.protocol === 'sctp' ? [] : planUserspace(port, { port: 40_000, hostPort: 40_001 }, options);

/** What is there whatever the services are. */
const BASES: Readonly<Record<string, (family: IpFamily, options: TrafficOptions) => string[]>> = {
  iptables: (family, options) =>
    (['nat', 'filter'] as const).flatMap((name) =>
      iptablesBase(name, { ...options, family }).map((rule) => `${name} ${rule}`),
    ),
  ipvs: (family, options) => {
    const rules = ipvsBase(family, options);
    return (['nat', 'filter', 'mangle'] as const).flatMap((table) =>
      rules[table].map((rule) => `${table} ${rule}`),
    );
  },
  nftables: (family, options) =>
    nftBase({ family, table: 't' }, options).map(
      ({ do: verb, kind, ...rest }) => `${verb} ${kind} ${JSON.stringify(rest)}`,
    ),
};

const PLANS = { iptables, ipvs, nftables, userspace };

type Section = readonly [name: string, lines: readonly string[]];
const [USUAL, ...OTHERS] = Object.entries(OPTIONS);

/** Of other ways to be configured only what the usual one does not make. */
function configured(mode: keyof typeof PLANS, family: IpFamily): Section[] {
  const wide = SHAPES.find(([name]) => name === `${family}: both policies Local`)?.[1];
  const made = (options: TrafficOptions = {}) => [
    ...(BASES[mode]?.(family, options) ?? []),
    ...(wide === undefined ? [] : PLANS[mode](wide, options)),
  ];
  const usual = made(USUAL?.[1][family]);
  return [
    [`${family}: whatever the services are`, BASES[mode]?.(family, USUAL?.[1][family] ?? {}) ?? []],
    ...OTHERS.map(
      ([name, options]): Section => [
        `${family}: both policies Local and the rest, configured as ${name}`,
        made(options[family]).filter((line) => !usual.includes(line)),
      ],
    ),
  ];
}

function table(mode: keyof typeof PLANS): string {
  const shapes = SHAPES.map(
    ([name, port]): Section => [name, PLANS[mode](port, OPTIONS.usual[port.family] ?? {})],
  );
  return [...FAMILIES.flatMap((family) => configured(mode, family)), ...shapes]
    .map(([name, lines]) => [`# ${name}`, ...lines, ''].join('\n'))
    .join('\n');
}

describe('the tables of what a service becomes', () => {
  test('have at least sixty shapes', () => {
    expect(new Set(SHAPES.map(([name]) => name)).size).toBeGreaterThanOrEqual(60);
  });

  test('are there for every mode', () => {
    expect(Object.keys(PLANS).sort()).toEqual([...MODE_NAMES].sort());
  });

  test.each(Object.keys(PLANS) as (keyof typeof PLANS)[])('are as they were read (%s)', async (mode) => {
    await expect(table(mode)).toMatchFileSnapshot(join(import.meta.dirname, 'golden', `${mode}.txt`));
  });
});
