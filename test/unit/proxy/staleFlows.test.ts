import { describe, expect, it } from 'vitest';
import { staleAfter, staleOf } from '../../../src/proxy/staleFlows.js';
import type { ServicePort } from '../../../src/proxy/state.js';
import { endpoint, servicePort, stateOf } from '../../support/proxy/port.js';

const dns = (ips: readonly string[], more: Partial<ServicePort> = {}) =>
  servicePort(1, { protocol: 'udp', port: 53, endpoints: ips.map((ip) => endpoint(ip)), ...more });
const base = { family: 'inet', protocol: 'udp' };

describe('flows that a change makes stale', () => {
  it('are those to the endpoint that is gone, by every way in', () => {
    const more = { nodePort: 30_053, externalIps: ['192.0.2.1'] };
    expect(staleAfter(dns(['10.0.0.1', '10.0.0.2'], more), dns(['10.0.0.2'], more))).toEqual([
      {
        ...base,
        originalDestination: '10.96.0.1',
        originalDestinationPort: 53,
        replySource: '10.0.0.1',
        replySourcePort: 8080,
      },
      {
        ...base,
        originalDestination: '192.0.2.1',
        originalDestinationPort: 53,
        replySource: '10.0.0.1',
        replySourcePort: 8080,
      },
      { ...base, originalDestinationPort: 30_053, replySource: '10.0.0.1', replySourcePort: 8080 },
    ]);
  });

  it('are all of a service that is deleted', () => {
    expect(staleAfter(dns(['10.0.0.1']), undefined)).toHaveLength(1);
  });

  it('are those that nobody answered, once somebody does', () => {
    expect(staleAfter(dns([]), dns(['10.0.0.1']))).toEqual([
      { ...base, originalDestination: '10.96.0.1', originalDestinationPort: 53, replySource: '10.96.0.1' },
    ]);
  });

  it('are none when an endpoint joins, and none of TCP', () => {
    expect(staleAfter(dns(['10.0.0.1']), dns(['10.0.0.1', '10.0.0.2']))).toEqual([]);
    expect(staleAfter(servicePort(1), undefined)).toEqual([]);
  });
});

describe('flows that are stale at the start', () => {
  const flow = (destination: string, port: number, server: string, serverPort = 8080) => ({
    family: 'inet' as const,
    protocol: 'udp' as const,
    original: { source: '10.1.1.1', destination, sourcePort: 4000, destinationPort: port },
    reply: { source: server, destination: '10.1.1.1', sourcePort: serverPort, destinationPort: 4000 },
    mark: 0,
    status: [],
    id: 1,
  });
  const state = stateOf(dns(['10.0.0.1'], { nodePort: 30_053 }));

  it.each([
    ['one to an endpoint of the service lives', flow('10.96.0.1', 53, '10.0.0.1'), 0],
    ['one to another endpoint ends', flow('10.96.0.1', 53, '10.0.0.9'), 1],
    ['one that was never translated ends', flow('10.96.0.1', 53, '10.96.0.1', 53), 1],
    ['one by the node port to another endpoint ends', flow('192.168.0.1', 30_053, '10.0.0.9'), 1],
    ['one by the node port to an endpoint lives', flow('192.168.0.1', 30_053, '10.0.0.1'), 0],
    ['one of somebody else to that port lives', flow('192.168.0.9', 30_053, '192.168.0.9', 30_053), 0],
    ['one to no service lives', flow('8.8.8.8', 53, '8.8.8.8', 53), 0],
  ])('%s', (_, found, count) => {
    expect(staleOf([found], state)).toHaveLength(count);
  });
});
