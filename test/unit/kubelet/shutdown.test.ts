// Who ends in which order when the machine goes down, and the messages that the system's bus understands.
import { expect, test } from 'vitest';
import { completeConfig } from '../../../src/kubelet/config.js';
import { socketPath } from '../../../src/kubelet/shutdown/bus.js';
import { type BusMessage, decode, encode } from '../../../src/kubelet/shutdown/message.js';
import { neededMs, shutdownGroups, shutdownPeriods } from '../../../src/kubelet/shutdown/plan.js';
import { podWith } from '../../support/kubelet/podparts.js';

const NONE = {
  shutdownGracePeriod: 0,
  shutdownGracePeriodCriticalPods: 0,
  shutdownGracePeriodByPodPriority: [],
};
const pods = [-5, 0, 99, 100, 5_000, 2_000_000_000, 2_000_001_000].map((priority) =>
  podWith({ priority }, { name: String(priority) }),
);
const named = (groups: ReturnType<typeof shutdownGroups>) =>
  groups.map(({ graceSeconds, pods: members }) => [
    graceSeconds,
    members.map(({ metadata }) => metadata.name),
  ]);

test('without a period nothing is waited for', () => {
  expect(shutdownPeriods(NONE)).toEqual([]);
});

test('critical pods have the end of the period for themselves', () => {
  const periods = shutdownPeriods({
    ...NONE,
    shutdownGracePeriod: 30_000,
    shutdownGracePeriodCriticalPods: 10_000,
  });
  expect(neededMs(periods)).toBe(30_000);
  expect(named(shutdownGroups(periods, pods))).toEqual([
    [20, ['-5', '0', '99', '100', '5000']],
    [10, ['2000000000', '2000001000']],
  ]);
});

test('periods by priority, in whatever order they were written; groups of nobody are left out', () => {
  const periods = shutdownPeriods({
    ...NONE,
    shutdownGracePeriodByPodPriority: [
      { priority: 100, shutdownGracePeriodSeconds: 3 },
      { priority: 10_000, shutdownGracePeriodSeconds: 7 },
      { priority: 0, shutdownGracePeriodSeconds: 5 },
      { priority: 3_000_000_000, shutdownGracePeriodSeconds: 1 },
    ],
  });
  expect(named(shutdownGroups(periods, pods))).toEqual([
    [5, ['-5', '0', '99']],
    [3, ['100', '5000']],
    [7, ['2000000000', '2000001000']],
  ]);
});

test.each([
  [{ shutdownGracePeriod: 10 }, 'shutdownGracePeriod: 10ms is neither 0 nor a second or more'],
  [
    { shutdownGracePeriod: 1_000, shutdownGracePeriodCriticalPods: 2_000 },
    'shutdownGracePeriodCriticalPods: 2000ms is more than shutdownGracePeriod',
  ],
  [
    {
      shutdownGracePeriod: 1_000,
      shutdownGracePeriodByPodPriority: [{ priority: 0, shutdownGracePeriodSeconds: 1 }],
    },
    'shutdownGracePeriodByPodPriority: shutdownGracePeriod is said as well',
  ],
])('%j is refused', (given, words) => {
  expect(() => completeConfig({ nodeName: 'n', ...given })).toThrow(words);
});

const call: BusMessage = {
  type: 1,
  serial: 7,
  path: '/a/b',
  interface: 'a.B',
  member: 'C',
  destination: 'd.E',
  signature: 'susbti',
  body: ['text', 3, '', true, 5_000_000n, -1],
};

test('what is written is read again, also in pieces and one after the other', () => {
  const bytes = encode(call);
  expect(decode(bytes)).toEqual({ message: call, length: bytes.length });
  for (let cut = 0; cut < bytes.length; cut++) expect(decode(bytes.subarray(0, cut))).toBeUndefined();
  expect(decode(Buffer.concat([bytes, encode({ ...call, serial: 8 })]))?.length).toBe(bytes.length);
});

test('a value with its type, a reply to a call, a body that nobody reads', () => {
  const reply: BusMessage = { type: 2, serial: 1, replySerial: 9, signature: 'v', body: [['t', 5n]] };
  expect(decode(encode(reply))?.message).toEqual({ ...reply, body: [5n] });
  // The signature `as` in place of `sb`: a list, which is left out.
  const bytes = encode({ type: 4, serial: 1, signature: 'sb', body: ['x', true] });
  bytes.write('as', bytes.indexOf('sb'), 'latin1');
  expect(decode(bytes)?.message).toMatchObject({ signature: 'as', body: [] });
});

test('a signal as logind sends it, in the byte order of a big machine', () => {
  const fields: number[] = [];
  const text = (number: number, type: string, value: string) => {
    while (fields.length % 8 !== 0) fields.push(0);
    const length = Buffer.alloc(4);
    length.writeUInt32BE(value.length);
    fields.push(number, 1, type.charCodeAt(0), 0, ...length, ...Buffer.from(value), 0);
  };
  text(1, 'o', '/org/freedesktop/login1');
  text(3, 's', 'PrepareForShutdown');
  while (fields.length % 8 !== 0) fields.push(0);
  fields.push(8, 1, 'g'.charCodeAt(0), 0, 1, 'b'.charCodeAt(0), 0);
  const head = Buffer.from(['B'.charCodeAt(0), 4, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, fields.length]);
  const padding = Buffer.alloc((8 - (fields.length % 8)) % 8);
  const bytes = Buffer.concat([head, Buffer.from(fields), padding, Buffer.from([0, 0, 0, 1])]);
  expect(decode(bytes)?.message).toMatchObject({
    type: 4,
    path: '/org/freedesktop/login1',
    member: 'PrepareForShutdown',
    body: [true],
  });
});

test.each([
  ['unix:path=/run/dbus/system_bus_socket', '/run/dbus/system_bus_socket'],
  ['unix:path=/a/b,guid=1', '/a/b'],
  ['tcp:host=x;unix:abstract=/x', '\0/x'],
])('%s', (address, path) => {
  expect(socketPath(address)).toBe(path);
});

test('an address that is no unix socket is refused', () => {
  expect(() => socketPath('tcp:host=x')).toThrow('names no unix socket');
});
