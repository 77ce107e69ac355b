// What is read out of the steps that the kernel tells of, and when the kernel and the objects agree.
import { describe, expect, test } from 'vitest';
import type { TraceEvent } from '../../../../src/kernel/nftables/trace.js';
import type { Verdict } from '../../../../src/network/policy/judge.js';
import { tracedAnswer } from '../../../../src/network/policy/tracedText.js';
import {
  stepsOf,
  type TracedDecision,
  type TracedWay,
  wayOf,
} from '../../../../src/network/policy/tracedWay.js';

const PROBE = { protocol: 'tcp', from: '10.0.0.1', fromPort: 61000, to: '10.0.0.2', toPort: 80 } as const;
const PLACE = { table: 'policies', own: 'trace' };
/** 10.0.0.1:61000 to 10.0.0.2:80. */
const HEADERS = {
  network: `45${'00'.repeat(8)}060000${'0a000001'}${'0a000002'}`,
  transport: `${(61000).toString(16)}0050`,
};
const step = (id: number, chain: string, more: object = {}): TraceEvent => ({
  id,
  family: 'ip',
  table: 'policies',
  chain,
  type: 'rule',
  handle: 1,
  ...more,
});

describe('the steps of a packet', () => {
  test('are those of its numbers, from its first hook to its end', () => {
    const begin = step(1, 'begin', { table: 'trace', ...HEADERS });
    const forward = step(7, 'forward-ingress', HEADERS);
    const left = step(7, 'left', { table: 'trace' });
    const events: TraceEvent[] = [
      step(3, 'forward-ingress', { network: HEADERS.network, transport: 'ffff0050' }),
      { event: 'lost' },
      begin,
      step(3, 'refused-ingress', { verdict: 'drop' }),
      forward,
      left,
      // The same again, as TCP sends it.
      begin,
      step(7, 'refused-ingress', { verdict: 'drop' }),
    ];
    expect(stepsOf(events, PROBE, PLACE)).toEqual([begin, forward, left]);
    expect(stepsOf(events, { ...PROBE, fromPort: 61001 }, PLACE)).toEqual([]);
    expect(stepsOf(events, { ...PROBE, protocol: 'udp' }, PLACE)).toEqual([]);
  });

  const decision = { policies: ['a/x'], rule: 2, outcome: 'allowed' } as const;
  const meaning = (chain: string, handle: number) =>
    handle === 9 ? 'gone' : chain === 'ingress-policy-x' ? decision : undefined;
  test.each([
    ['left', [step(1, 'ingress-policy-x'), step(1, 'left', { table: 'trace' })], { what: 'left' }, 1],
    ['arrived', [step(1, 'arrived', { table: 'trace' })], { what: 'arrived' }, 0],
    [
      'dropped by a rule',
      [step(1, 'refused-ingress', { verdict: 'drop' })],
      { what: 'dropped', table: 'policies', chain: 'refused-ingress' },
      0,
    ],
    [
      "dropped by somebody's policy",
      [step(1, 'input', { table: 'host', type: 'policy', policy: 'drop', handle: undefined })],
      { what: 'dropped', table: 'host', chain: 'input' },
      0,
    ],
    ['taken by something else', [step(1, 'judge-ingress')], { what: 'unknown' }, 0],
    ['never seen', [], { what: 'unseen' }, 0],
  ])('end as it is told: %s', (_, steps, end, decisions) => {
    const way = wayOf(
      steps.filter((one) => one.event !== 'lost'),
      PLACE,
      meaning,
    );
    expect(way.end).toEqual(end);
    expect(way.decisions).toHaveLength(decisions);
    expect(way.isStale).toBe(false);
  });

  test('are stale when a chain has been written anew', () => {
    const [one] = [step(1, 'ingress-policy-x', { handle: 9 })].filter((event) => event.event !== 'lost');
    expect(wayOf(one === undefined ? [] : [one], PLACE, meaning).isStale).toBe(true);
  });
});

describe('the kernel and the objects', () => {
  const decided = (more: Partial<TracedDecision>): TracedDecision => ({
    policies: ['a/x'],
    rule: 0,
    outcome: 'allowed',
    direction: 'ingress',
    chain: 'c',
    handle: 1,
    ...more,
  });
  const way = (more: Partial<TracedWay>) => ({
    decisions: [],
    end: { what: 'left' } as const,
    isStale: false,
    table: 'policies',
    ...more,
  });
  const refusedBy = (chain: string, table = 'policies') => ({ what: 'dropped', table, chain }) as const;
  const together: TracedDecision = {
    policies: ['a/x', 'a/y'],
    outcome: 'refused',
    direction: 'ingress',
    chain: 'c',
    handle: 1,
  };
  const OPEN: Verdict = { isAllowed: true };
  const byRule = (direction: 'ingress' | 'egress', isAllowed = true): Verdict => ({
    isAllowed,
    direction,
    policy: 'a/x',
    rule: 0,
  });
  const NOTHING = 'nothing is proved';
  const egress = decided({ direction: 'egress' });
  const denied = decided({ outcome: 'refused' });

  test.each<[string, ReturnType<typeof way>[], Verdict, string]>([
    ['nobody restricts', [way({}), way({})], OPEN, 'agrees'],
    ['a rule allows', [way({}), way({ decisions: [decided({})] })], byRule('ingress'), 'agrees'],
    ['the way out is restricted alone', [way({ decisions: [egress] }), way({})], byRule('egress'), 'agrees'],
    [
      'the last word is that of ingress',
      [way({ decisions: [egress] }), way({ decisions: [decided({})] })],
      byRule('ingress'),
      'agrees',
    ],
    [
      'policies refuse together',
      [way({}), way({ decisions: [together], end: refusedBy('refused-ingress') })],
      { isAllowed: false, direction: 'ingress' },
      'agrees',
    ],
    [
      'a rule denies after another passed it on',
      [
        way({
          decisions: [decided({ outcome: 'passed', rule: 4 }), denied],
          end: refusedBy('refused-ingress'),
        }),
      ],
      byRule('ingress', false),
      'agrees',
    ],
    [
      'another rule allows',
      [way({ decisions: [decided({ rule: 1 })] })],
      byRule('ingress'),
      'another reason',
    ],
    ['the kernel allows', [way({})], byRule('ingress', false), 'allows what the objects refuse'],
    ['it is not judged yet', [way({ end: refusedBy('unjudged') })], OPEN, 'refuses what the objects allow'],
    ['somebody else drops it', [way({ end: refusedBy('fence', 'host') })], OPEN, NOTHING],
    ['it is lost between the nodes', [way({}), way({ end: { what: 'unseen' } })], OPEN, NOTHING],
    ['rules were written meanwhile', [way({ isStale: true })], OPEN, 'another reason'],
  ])('are compared: %s', (_, ways, said, conclusion) => {
    const { lines, agrees } = tracedAnswer(
      ways.map((one, i) => ({ node: `n${i}`, way: one })),
      said,
    );
    expect(lines.at(-1)).toContain(conclusion);
    expect(agrees).toBe(conclusion === 'agrees');
  });
});
