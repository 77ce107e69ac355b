// What IpvsPort promises, as tests that the fake and the real kernel both pass.
// Guarantees: whatever is asked here behaves the same in both.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { KernelError } from '../../../src/kernel/error.js';
import type {
  IpvsPort,
  IpvsRequest,
  IpvsServiceKey,
  IpvsServiceOptions,
} from '../../../src/kernel/ipvs/port.js';

const web = { protocol: 'tcp', address: '10.0.0.1', port: 80 } as const;
const dns6 = { protocol: 'udp', address: 'fd00::1', port: 53 } as const;
const service = (key: IpvsServiceKey, options: IpvsServiceOptions = {}) =>
  ({ do: 'add', kind: 'service', ...key, ...options }) as const;
const destination = (key: IpvsServiceKey, address: string, port = 8080) =>
  ({ do: 'add', kind: 'destination', service: key, address, port }) as const;

const SERVICES: readonly [IpvsServiceKey, IpvsServiceOptions][] = [
  [web, { scheduler: 'rr' }],
  [dns6, { scheduler: 'wrr', flags: ['ops'] }],
  [{ protocol: 'sctp', address: '10.0.0.1', port: 7 }, { scheduler: 'lc' }],
  [{ protocol: 'sctp', address: 'fd00::1', port: 7 }, { scheduler: 'wlc' }],
  [{ fwmark: 9 }, { scheduler: 'sed' }],
  [{ fwmark: 9, family: 'inet6' }, { scheduler: 'nq' }],
  [web, { scheduler: 'dh' }],
  [web, { scheduler: 'lblc' }],
  [web, { scheduler: 'lblcr' }],
  [web, { scheduler: 'sh', flags: ['sh-fallback', 'sh-port'] }],
  [dns6, { scheduler: 'mh', flags: ['mh-fallback', 'mh-port'] }],
  [web, { scheduler: 'rr', persistence: 300 }],
  [web, { scheduler: 'rr', persistence: 10_800, persistencePrefix: 24 }],
  [dns6, { scheduler: 'rr', persistence: 60, persistencePrefix: 64 }],
  [
    { fwmark: 1, family: 'inet6' },
    { scheduler: 'rr', persistence: 60, persistencePrefix: 56 },
  ],
];

export function ipvsContract(
  name: string,
  open: () => Promise<{ port: IpvsPort; dispose(): Promise<void> }>,
): void {
  describe(`${name}: the contract of IPVS`, () => {
    let port: IpvsPort;
    let dispose: () => Promise<void>;
    beforeEach(async () => {
      ({ port, dispose } = await open());
    });
    afterEach(() => dispose());

    const failing = async (requests: readonly IpvsRequest[]) => {
      const error = await port.apply(requests).then(
        () => {
          throw new Error('nothing was refused');
        },
        (refused: KernelError) => refused,
      );
      return error.failures.map(({ code, index }) => [code, index]);
    };

    test('starts with nothing, a version and the default timeouts', async () => {
      expect(await port.list()).toEqual([]);
      expect(await port.info()).toEqual({
        version: expect.stringMatching(/^1\.2\.\d+$/),
        connectionTableSize: expect.any(Number),
      });
      expect(await port.timeouts()).toEqual({ tcp: 900, tcpFin: 120, udp: 300 });
    });

    test.each(SERVICES)('keeps the service %j with %j', async (key, options) => {
      await port.apply([service(key, options)]);
      const family = 'fwmark' in key ? (key.family ?? 'inet') : key.address.includes(':') ? 'inet6' : 'inet';
      const { statistics, ...kept } = (await port.get(key)) ?? { statistics: undefined };
      expect(kept).toEqual({ family, ...key, ...options, destinations: [] });
      expect(statistics).toMatchObject({ connections: 0, inPackets: 0, outBytes: 0, inBytesPerSecond: 0 });
      const [header] = await port.listHeaders();
      expect(header).not.toHaveProperty('destinations');
      expect({ ...header, destinations: [] }).toEqual(await port.get(key));
      await port.apply([{ do: 'delete', kind: 'service', ...key }]);
      expect(await port.get(key)).toBeUndefined();
    });

    test('keeps destinations of both families with their options', async () => {
      await port.apply([
        service(web, { scheduler: 'rr' }),
        service(dns6),
        destination(web, '10.1.0.1'),
        { ...destination(web, '10.1.0.2'), weight: 0, upperThreshold: 10, lowerThreshold: 5 },
        { ...destination(web, '10.1.0.3', 80), forward: 'route' },
        { ...destination(web, '10.1.0.4', 80), forward: 'tunnel' },
        destination(dns6, 'FD00:0::2', 53),
        { ...destination(dns6, '10.1.0.5', 53), forward: 'tunnel', weight: 7 },
      ]);
      const listed = await port.list();
      const of = (address: string) =>
        listed
          .find((one) => one.address === address)
          ?.destinations.map(({ statistics: _, ...rest }) => rest)
          .sort((a, b) => a.address.localeCompare(b.address));
      const idle = { activeConnections: 0, inactiveConnections: 0, persistentConnections: 0 };
      expect(of(web.address)).toEqual([
        { ...idle, address: '10.1.0.1', port: 8080, forward: 'masq', weight: 1 },
        {
          ...idle,
          address: '10.1.0.2',
          port: 8080,
          forward: 'masq',
          weight: 0,
          upperThreshold: 10,
          lowerThreshold: 5,
        },
        { ...idle, address: '10.1.0.3', port: 80, forward: 'route', weight: 1 },
        { ...idle, address: '10.1.0.4', port: 80, forward: 'tunnel', weight: 1, tunnelType: 'ipip' },
      ]);
      expect(of(dns6.address)).toEqual([
        { ...idle, address: '10.1.0.5', port: 53, forward: 'tunnel', weight: 7, tunnelType: 'ipip' },
        { ...idle, address: 'fd00::2', port: 53, forward: 'masq', weight: 1 },
      ]);
    });

    test('changes and replaces', async () => {
      await port.apply([
        service(web, { scheduler: 'rr', persistence: 30 }),
        { do: 'change', kind: 'service', ...web, scheduler: 'wrr' },
        { do: 'replace', kind: 'service', ...dns6, scheduler: 'sh' },
        { do: 'replace', kind: 'service', ...dns6, scheduler: 'lc' },
        destination(web, '10.1.0.1'),
        { ...destination(web, '10.1.0.1'), do: 'change', weight: 9 },
        { ...destination(web, '10.1.0.2'), do: 'replace', weight: 3 },
        { ...destination(web, '10.1.0.2'), do: 'replace', weight: 4 },
      ]);
      const changed = await port.get(web);
      expect(changed).toMatchObject({ scheduler: 'wrr' });
      expect(changed).not.toHaveProperty('persistence');
      expect(changed?.destinations.map(({ address, weight }) => [address, weight]).sort()).toEqual([
        ['10.1.0.1', 9],
        ['10.1.0.2', 4],
      ]);
      expect(await port.get(dns6)).toMatchObject({ scheduler: 'lc' });
    });

    test('refuses what exists and what is missing, by index, and does the rest', async () => {
      expect(
        await failing([
          service(web),
          service(web),
          destination(web, '10.1.0.1'),
          destination(web, '10.1.0.1'),
          destination(dns6, 'fd00::2'),
          { do: 'delete', kind: 'destination', service: web, address: '10.1.0.9', port: 1 },
          { ...destination(web, '10.1.0.9'), do: 'change' },
          { ...destination(dns6, 'fd00::2'), do: 'replace' },
          { do: 'delete', kind: 'service', ...dns6 },
          { do: 'change', kind: 'service', ...dns6 },
          { do: 'zero', kind: 'service', ...dns6 },
          service(dns6, { scheduler: 'nothing' }),
          destination(web, '10.1.0.2'),
        ]),
      ).toEqual([
        ['EEXIST', 1],
        ['EEXIST', 3],
        ['ESRCH', 4],
        ['ENOENT', 5],
        ['ENOENT', 6],
        ['ESRCH', 7],
        ['ESRCH', 8],
        ['ESRCH', 9],
        ['ESRCH', 10],
        ['ENOENT', 11],
      ]);
      expect((await port.get(web))?.destinations.map(({ address }) => address).sort()).toEqual([
        '10.1.0.1',
        '10.1.0.2',
      ]);
    });

    test('allows what exists and what is missing where it is asked to', async () => {
      await port.apply([
        service(web),
        { ...service(web), existsOk: true },
        destination(web, '10.1.0.1'),
        { ...destination(web, '10.1.0.1'), existsOk: true },
        { do: 'delete', kind: 'destination', service: web, address: '10.1.0.9', port: 1, missingOk: true },
        { do: 'delete', kind: 'destination', service: dns6, address: 'fd00::9', port: 1, missingOk: true },
        { do: 'delete', kind: 'service', ...dns6, missingOk: true },
      ]);
    });

    test('flushes, sets counters back and changes timeouts', async () => {
      await port.apply([
        service(web),
        destination(web, '10.1.0.1'),
        { do: 'zero', kind: 'service', ...web },
        { do: 'zero', kind: 'service', all: true },
        { do: 'change', kind: 'timeouts', tcp: 1000, udp: 0 },
        { do: 'flush', kind: 'service' },
      ]);
      expect(await port.list()).toEqual([]);
      expect(await port.timeouts()).toEqual({ tcp: 1000, tcpFin: 120, udp: 300 });
    });

    test.each<[string, IpvsRequest]>([
      ['an address that is none', service({ ...web, address: '10.0.0.256' })],
      ['a port that is none', service({ ...web, port: 65_536 })],
      ['a protocol without ports', service({ ...web, protocol: 'icmp' as 'tcp' })],
      ['a mark of 0', service({ fwmark: 0 })],
      ['a scheduler of 16 bytes', service(web, { scheduler: 's'.repeat(16) })],
      ['a flag of another scheduler', service(web, { scheduler: 'rr', flags: ['sh-port'] })],
      ['a prefix without persistence', service(web, { persistencePrefix: 24 })],
      ['a prefix that is too long', service(web, { persistence: 1, persistencePrefix: 33 })],
      ['a destination of another family', destination(web, 'fd00::2')],
      [
        'thresholds the wrong way round',
        { ...destination(web, '10.1.0.1'), upperThreshold: 1, lowerThreshold: 2 },
      ],
      ['a tunnel type without a tunnel', { ...destination(web, '10.1.0.1'), tunnelType: 'gue' }],
    ])('finds %s before anything is done', async (_, request) => {
      await expect(port.apply([service(dns6), request])).rejects.toMatchObject({
        name: 'KernelError',
        code: 'INVALID',
      });
      expect(await port.list()).toEqual([]);
    });

    test('rejects calls after close', async () => {
      port.close();
      port.close();
      await expect(port.list()).rejects.toMatchObject({ code: 'CLOSED' });
      await expect(port.apply([service(web)])).rejects.toMatchObject({ code: 'CLOSED' });
    });
  });
}
