// What is held of ended connections: the way back of UDP, for a while.
import { expect, test } from 'vitest';
import type { Flow } from '../../../../src/kernel/conntrack/port.js';
import { EndedFlows, HELD_MS } from '../../../../src/network/policy/endedFlows.js';
import * as names from '../../../../src/network/policy/names.js';
import { PolicyPlanner } from '../../../../src/network/policy/planner.js';

const flow = (protocol: Flow['protocol'], ips: readonly [string, string], port: number): Flow => {
  const [source, destination] = ips;
  const original = { source, destination: '10.96.0.1', sourcePort: port, destinationPort: 80 };
  const reply = { source: destination, destination: source, sourcePort: 8080, destinationPort: port };
  return { family: 'inet', protocol, original, reply, mark: 0, status: [], id: port };
};
const FOUR = ['10.244.0.2', '10.244.0.3'] as const;
const SIX = ['fd00::2', 'fd00::3'] as const;

function held() {
  const planner = new PolicyPlanner();
  let now = 0;
  const ended = new EndedFlows({ images: () => planner.images, now: () => now });
  const keys = () => [...planner.images.ip.keysOf(names.ENDED), ...planner.images.ip6.keysOf(names.ENDED)];
  return { ended, keys, at: (ms: number) => (now = ms) };
}

test('UDP is held as the pod that was asked sends it, in either family, and nothing else is', () => {
  const { ended, keys } = held();
  expect(ended.hold([flow('tcp', FOUR, 1), flow('sctp', FOUR, 2), flow('icmp', FOUR, 3)])).toBe(false);
  expect(ended.hold([flow('udp', FOUR, 4), flow('udp', SIX, 5)])).toBe(true);
  expect(keys()).toEqual(['10.244.0.3 . 8080 . 10.244.0.2 . 4', 'fd00::3 . 8080 . fd00::2 . 5']);
});

test('each is free again after a while, of which the last end counts', () => {
  const { ended, keys, at } = held();
  ended.hold([flow('udp', FOUR, 1), flow('udp', FOUR, 2)]);
  at(10);
  ended.hold([flow('udp', FOUR, 1), flow('udp', FOUR, 3)]);
  at(HELD_MS - 1);
  expect(ended.expire()).toBe(false);
  at(HELD_MS);
  expect(ended.expire()).toBe(true);
  expect(keys()).toEqual(['10.244.0.3 . 8080 . 10.244.0.2 . 1', '10.244.0.3 . 8080 . 10.244.0.2 . 3']);
  at(HELD_MS + 10);
  expect(ended.expire()).toBe(true);
  expect([keys(), ended.size]).toEqual([[], 0]);
});
