import { describe, expect, test } from 'vitest';
import type { ServicePort } from '../../../proxy-modes/mode.js';
import type { Flow } from '../../../src/kernel/conntrack/port.js';
import { flowsTo, mayLeaveStale, staleAmong } from '../../../src/proxy/staleFlows.js';
import { endpoint, servicePort } from '../../support/proxy/port.js';

const dns = (ips: readonly string[], more: Partial<ServicePort> = {}) =>
  servicePort(1, { protocol: 'udp', port: 53, endpoints: ips.map((ip) => endpoint(ip)), ...more });
const flow = (destination: string, port: number, server: string, serverPort = 8080, client = '10.1.1.1') =>
  ({
    family: 'inet',
    protocol: 'udp',
    original: { source: '10.1.1.1', destination, sourcePort: 4000, destinationPort: port },
    reply: { source: server, destination: client, sourcePort: serverPort, destinationPort: 4000 },
    mark: 0,
    status: [],
    id: 1,
  }) satisfies Flow;
const ways = { nodePort: 30_053, externalIps: ['192.0.2.1'] };

describe('a UDP flow', () => {
  const one = dns(['10.0.0.1'], ways);
  const none = dns([], ways);
  test.each<[string, Flow, { now?: ServicePort; gone?: ServicePort; range?: string }, boolean]>([
    ['to an endpoint of its service lives', flow('10.96.0.1', 53, '10.0.0.1'), { now: one }, false],
    ['to another endpoint ends', flow('10.96.0.1', 53, '10.0.0.9'), { now: one }, true],
    ['by an external IP to another endpoint ends', flow('192.0.2.1', 53, '10.0.0.9'), { now: one }, true],
    [
      'by the node port to another endpoint ends',
      flow('192.168.0.1', 30_053, '10.0.0.9'),
      { now: one },
      true,
    ],
    ['by the node port to an endpoint lives', flow('192.168.0.1', 30_053, '10.0.0.1'), { now: one }, false],
    ['that knocked at the cluster IP ends', flow('10.96.0.1', 53, '10.96.0.1', 53), { now: one }, true],
    ['that knocked at an external IP ends', flow('192.0.2.1', 53, '192.0.2.1', 53), { now: one }, true],
    [
      'that knocked at the node port ends',
      flow('192.168.0.1', 30_053, '192.168.0.1', 30_053),
      { now: one },
      true,
    ],
    [
      'that passes through to the same port elsewhere lives',
      flow('192.168.0.9', 30_053, '192.168.0.9', 30_053, '192.168.0.1'),
      { now: one },
      false,
    ],
    ['to no service lives', flow('8.8.8.8', 53, '8.8.8.8', 53), { now: one }, false],
    [
      'to an endpoint that ends but serves lives',
      flow('10.96.0.1', 53, '10.0.0.2'),
      { now: dns(['10.0.0.1'], { lingering: [endpoint('10.0.0.2')] }) },
      false,
    ],
    ['to the last endpoint ends with it', flow('10.96.0.1', 53, '10.0.0.1'), { now: none }, true],
    ['that knocks where nobody serves lives', flow('10.96.0.1', 53, '10.96.0.1', 53), { now: none }, false],
    ['of a service that is gone ends', flow('10.96.0.1', 53, '10.0.0.1'), { gone: one }, true],
    ['of a node port that is gone ends', flow('192.168.0.1', 30_053, '10.0.0.1'), { gone: one }, true],
    [
      'to the port of a service that is gone, but not by its rules, lives',
      flow('192.168.0.1', 30_053, '10.0.0.7'),
      { gone: one },
      false,
    ],
    [
      'of an address that came to another service ends',
      flow('192.0.2.1', 53, '10.0.0.1'),
      { gone: one, now: { ...dns(['10.0.0.2'], ways), clusterIp: '10.96.0.2' } },
      true,
    ],
    [
      'of a service that went unseen ends',
      flow('10.96.0.9', 53, '10.0.0.1'),
      { range: '10.96.0.0/16' },
      true,
    ],
    [
      'of another range than that of services lives',
      flow('10.97.0.9', 53, '10.0.0.1'),
      { range: '10.96.0.0/16' },
      false,
    ],
    [
      'that nobody sent on lives, also in the range of services',
      flow('10.96.0.9', 53, '10.96.0.9', 53),
      { range: '10.96.0.0/16' },
      false,
    ],
  ])('%s', (_, found, { now, gone, range }, isStale) => {
    const named = staleAmong([found], {
      now: now ? [now] : [],
      gone: gone ? [gone] : [],
      serviceCidrs: range ? [range] : [],
    });
    expect(named).toHaveLength(isStale ? 1 : 0);
    if (isStale) expect(named[0]).toMatchObject({ originalSource: '10.1.1.1', originalSourcePort: 4000 });
  });
});

describe('flows are looked at', () => {
  test.each<[string, ServicePort | undefined, ServicePort | undefined, boolean]>([
    ['when a service comes', undefined, dns(['10.0.0.1']), true],
    ['when a service goes', dns(['10.0.0.1']), undefined, true],
    ['when an endpoint goes', dns(['10.0.0.1', '10.0.0.2']), dns(['10.0.0.1']), true],
    ['when the first endpoint comes', dns([]), dns(['10.0.0.1']), true],
    ['when a node port comes', dns(['10.0.0.1']), dns(['10.0.0.1'], ways), true],
    [
      'when an address becomes another',
      dns(['10.0.0.1'], ways),
      dns(['10.0.0.1'], { ...ways, externalIps: ['192.0.2.2'] }),
      true,
    ],
    ['but not when an endpoint joins', dns(['10.0.0.1']), dns(['10.0.0.1', '10.0.0.2']), false],
    [
      'but not when one ends and still serves',
      dns(['10.0.0.1', '10.0.0.2']),
      dns(['10.0.0.1'], { lingering: [endpoint('10.0.0.2')] }),
      false,
    ],
  ])('%s', (_, before, now, expected) => {
    expect(mayLeaveStale(before, now)).toBe(expected);
  });

  test('by every way in', () => {
    expect(flowsTo([dns([], ways)])).toEqual([
      { family: 'inet', protocol: 'udp', originalDestination: '10.96.0.1', originalDestinationPort: 53 },
      { family: 'inet', protocol: 'udp', originalDestination: '192.0.2.1', originalDestinationPort: 53 },
      { family: 'inet', protocol: 'udp', originalDestinationPort: 30_053 },
    ]);
  });
});
