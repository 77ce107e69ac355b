// The log of refused connections: who is named, and how much is said.
import { expect, test } from 'vitest';
import { type LogFields, silentLog } from '../../../../src/api/log.js';
import { packetOf, type TraceEvent } from '../../../../src/kernel/nftables/trace.js';
import { RefusalLog } from '../../../../src/network/policy/refusals.js';

const hex = (numbers: readonly number[]) => Buffer.from(numbers).toString('hex');
const ipv4 = (source: readonly number[], destination: readonly number[], protocol = 6) =>
  hex([0x45, 0, 0, 40, 0, 0, 0, 0, 64, protocol, 0, 0, ...source, ...destination]);
const ports = (from: number, to: number) => hex([from >> 8, from & 255, to >> 8, to & 255, 0, 0, 0, 0]);

const WEB = [10, 244, 0, 5];
const DB = [10, 244, 0, 6];
const step = (change: Partial<TraceEvent> = {}): TraceEvent =>
  ({
    id: 1,
    family: 'ip',
    table: 't',
    chain: 'refused-ingress',
    type: 'rule',
    verdict: 'drop',
    network: ipv4(WEB, DB),
    transport: ports(40_000, 5432),
    ...change,
  }) as TraceEvent;

function logged() {
  const lines: { message: string; fields: LogFields | undefined }[] = [];
  let now = 0;
  const refusals = new RefusalLog({
    log: { ...silentLog, warn: (message, fields) => void lines.push({ message, fields }) },
    planner: {
      podAt: (ip) =>
        ip === WEB.join('.')
          ? { namespace: 'shop', name: 'web', labels: {}, ips: [ip], ports: [], isLocal: true }
          : undefined,
    },
    now: () => now,
  });
  const wait = (ms: number) => {
    now += ms;
  };
  return { lines, refusals, wait };
}

test('names the pods, the protocol and the port of what was refused, and of nothing else', () => {
  const { lines, refusals } = logged();
  refusals.heard([
    { event: 'lost' },
    step({ chain: 'judge-ingress', verdict: 'goto refused-ingress' }),
    step({ verdict: 'accept' }),
    step({ network: '45' }),
    step(),
    step({ chain: 'refused-egress', network: ipv4(DB, WEB, 1) }),
    step({ chain: 'unjudged', network: ipv4(DB, WEB, 99) }),
  ]);
  expect(lines).toEqual([
    {
      message: 'network policies refused a connection to a pod',
      fields: { from: 'shop/web (10.244.0.5)', to: '10.244.0.6', protocol: 'tcp', port: 5432 },
    },
    {
      message: 'network policies refused a connection from a pod',
      fields: { from: '10.244.0.6', to: 'shop/web (10.244.0.5)', protocol: 'icmp' },
    },
    {
      message: 'dropped a connection of an address whose network policies are not in place yet',
      fields: { from: '10.244.0.6', to: 'shop/web (10.244.0.5)', protocol: 99 },
    },
  ]);
});

test('says once a minute what is tried again and again, and how often it was', () => {
  const { lines, refusals, wait } = logged();
  for (let i = 0; i < 4; i++) refusals.heard([step({ transport: ports(40_000 + i, 5432) })]);
  expect(lines).toHaveLength(1);
  wait(60_000);
  refusals.heard([step()]);
  expect(lines[1]?.fields).toMatchObject({ repeated: 3 });
  wait(60_000);
  refusals.heard([step()]);
  expect(lines[2]?.fields).not.toHaveProperty('repeated');
});

test('says ten lines a second, and the next line says how many were left out', () => {
  const { lines, refusals, wait } = logged();
  for (let port = 1; port <= 25; port++) refusals.heard([step({ transport: ports(40_000, port) })]);
  expect(lines).toHaveLength(10);
  wait(1_000);
  refusals.heard([step({ transport: ports(40_000, 26) })]);
  expect(lines[10]?.fields).toMatchObject({ port: 26, untold: 15 });
});

test('forgets the connections that it told longest ago, past five hundred of them', () => {
  const { lines, refusals, wait } = logged();
  for (let port = 1; port <= 501; port++) {
    refusals.heard([step({ transport: ports(40_000, port) })]);
    wait(100);
  }
  expect(lines).toHaveLength(501);
  refusals.heard([step({ transport: ports(40_000, 501) })]);
  expect(lines).toHaveLength(501);
  refusals.heard([step({ transport: ports(40_000, 1) })]);
  expect(lines).toHaveLength(502);
});

test('reads the headers of both families', () => {
  const six = (last: number) => [0xfd, 0, ...Array.from({ length: 13 }, () => 0), last];
  const network = hex([0x60, 0, 0, 0, 0, 8, 17, 64, ...six(5), ...six(6)]);
  expect(packetOf({ network, transport: ports(1, 53) })).toEqual({
    source: 'fd00::5',
    destination: 'fd00::6',
    protocol: 17,
    sourcePort: 1,
    port: 53,
  });
  expect(packetOf({ network, transport: '00' })).toEqual({
    source: 'fd00::5',
    destination: 'fd00::6',
    protocol: 17,
  });
  expect(packetOf({ network: network.slice(0, 60) })).toBeUndefined();
  expect(packetOf({})).toBeUndefined();
});
