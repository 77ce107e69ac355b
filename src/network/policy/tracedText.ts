// Compares the kernel's verdict on a packet with that computed from the objects, as text. Pure.
// Guarantees: they agree only when both name the same outcome, the same direction, and the same rule of the same policy.
import type { ProbeOutcome } from '../../kernel/probe.js';
import type { Verdict } from './judge.js';
import * as names from './names.js';
import { type KernelVerdict, kernelVerdict, type TracedDecision } from './tracedWay.js';
import type { TraceCalls } from './traceRoutes.js';

/** A node that the packet had to pass, in the order in which it passed them. */
export interface TracedNode {
  readonly node: string;
  readonly way: TraceCalls['end']['answer'];
}

export interface TracedAnswer {
  readonly lines: readonly string[];
  readonly agrees: boolean;
}

const OUTCOMES: Readonly<Record<ProbeOutcome, string>> = {
  answered: 'it was answered',
  refused: 'the other side, or somebody on the way, said no',
  silent: 'nothing came back',
};

export const outcomeText = (outcome: ProbeOutcome): string => OUTCOMES[outcome];

export function tracedAnswer(nodes: readonly TracedNode[], said: Verdict): TracedAnswer {
  const ways = nodes.map(({ way }) => way);
  const verdict = kernelVerdict(ways, (i) => ways[i]?.table ?? '');
  const agrees = !ways.some(({ isStale }) => isStale) && isSame(verdict, said);
  return {
    lines: [...nodes.flatMap(nodeLines), conclusion(verdict, { agrees, said })],
    agrees,
  };
}

const isSame = (kernel: KernelVerdict, said: Verdict) =>
  kernel.isAllowed === said.isAllowed &&
  kernel.direction === said.direction &&
  kernel.policy === said.policy &&
  kernel.rule === said.rule;

function nodeLines({ node, way }: TracedNode): string[] {
  return [
    ...way.decisions.map((decision) => `${node}: ${decisionText(decision)}`),
    ...(way.isStale ? [`${node}: rules were written anew meanwhile; what it met is not known`] : []),
    `${node}: ${endText(way)}`,
  ];
}

function decisionText({ direction, outcome, policies, rule, chain, handle }: TracedDecision): string {
  const place = `(rule ${handle} of chain ${chain})`;
  if (rule === undefined) return `no ${direction} rule of ${policies.join(', ')} matches ${place}`;
  return `${outcome} by ${direction} rule ${rule} of ${policies.join(', ')} ${place}`;
}

function endText({ end, table }: TracedNode['way']): string {
  switch (end.what) {
    case 'left':
      return 'went on towards its destination';
    case 'arrived':
      return 'arrived in the node itself';
    case 'unseen':
      return 'never came here';
    case 'unknown':
      return 'the kernel told no end of it: something else than nf_tables took it';
    case 'dropped':
      if (end.table !== table)
        return `dropped by chain ${end.chain} of table ${end.table}, which is not of policies`;
      return end.chain === names.UNJUDGED
        ? 'dropped: the policies of that pod are not in place yet'
        : `dropped by chain ${end.chain} of table ${table}`;
  }
}

function conclusion(
  { isAllowed }: KernelVerdict,
  { agrees, said }: { readonly agrees: boolean; readonly said: Verdict },
): string {
  if (agrees) return 'the kernel agrees with the objects';
  if (isAllowed === undefined) return 'the kernel did not get to decide: nothing is proved';
  if (isAllowed === said.isAllowed) return 'the kernel says the same for another reason than the objects';
  return `the kernel ${isAllowed ? 'allows' : 'refuses'} what the objects ${said.isAllowed ? 'allow' : 'refuse'}`;
}
