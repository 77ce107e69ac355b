// What the kernel's trace of one packet says: which rules of which policies decided, and where its way through the node ended. Pure.
// Guarantees: steps of other packets change nothing; what the chains no longer say is told as unknown, never guessed.

import { packetOf, type TracedStep, type TraceEvent } from '../../kernel/nftables/trace.js';
import type { Probe } from '../../kernel/probe.js';
import { DIRECTIONS, type Direction } from './model.js';
import * as names from './names.js';
import type { Decision } from './tableImage.js';
import { ARRIVED, LEFT } from './traceTable.js';

/** A rule of the policies that the packet met, in the kernel. */
export interface TracedDecision extends Decision {
  readonly direction: Direction;
  readonly chain: string;
  /** As `nft -a list chain` tells it. */
  readonly handle: number;
}

/** "dropped": by the chain that is named; "unknown": the kernel told no end. */
type WayEnd =
  | { readonly what: 'left' | 'arrived' | 'unseen' | 'unknown' }
  | { readonly what: 'dropped'; readonly table: string; readonly chain: string };

/** A packet's way through one node. */
export interface TracedWay {
  readonly decisions: readonly TracedDecision[];
  readonly end: WayEnd;
  /** A chain was written anew in between: what the packet met is not known. */
  readonly isStale: boolean;
}

interface TracePlace {
  /** The table of the policies. */
  readonly table: string;
  /** The short-lived one of the trace. */
  readonly own: string;
}

/** The steps of the first packet of this connection, from its first hook to its end on this node. */
export function stepsOf(
  events: readonly TraceEvent[],
  probe: Probe,
  { own }: TracePlace,
): readonly TracedStep[] {
  // From a bridge to routing a packet changes its number.
  const ids = new Set<number>();
  const found: TracedStep[] = [];
  for (const step of events) {
    if (step.event === 'lost') continue;
    if (isOf(step, probe)) ids.add(step.id);
    if (!ids.has(step.id)) continue;
    found.push(step);
    if (isDropped(step) || isEnd(step, own)) break;
  }
  return found;
}

const NUMBERS: Readonly<Record<Probe['protocol'], number>> = { tcp: 6, udp: 17, sctp: 132 };

/** By its source: a Service's address becomes a pod's on the way. */
function isOf(step: TracedStep, { protocol, from, fromPort }: Probe): boolean {
  const packet = step.network === undefined ? undefined : packetOf(step);
  return packet?.protocol === NUMBERS[protocol] && packet.source === from && packet.sourcePort === fromPort;
}

const isDropped = ({ verdict, policy, type }: TracedStep) =>
  verdict === 'drop' || (type === 'policy' && policy === 'drop');
const isEnd = ({ table, chain, type }: TracedStep, own: string) =>
  table === own && type === 'rule' && (chain === LEFT || chain === ARRIVED);

/** `decisionOf`: what the rule of that number in a chain means; 'gone' when the chain has no such rule any more. */
export function wayOf(
  steps: readonly TracedStep[],
  place: TracePlace,
  decisionOf: (chain: string, handle: number) => Decision | 'gone' | undefined,
): TracedWay {
  const decisions: TracedDecision[] = [];
  let isStale = false;
  for (const { table, chain, type, handle } of steps) {
    if (table !== place.table || type !== 'rule' || handle === undefined) continue;
    const decision = decisionOf(chain, handle);
    if (decision === 'gone') isStale = true;
    else if (decision !== undefined)
      decisions.push({ ...decision, direction: directionOf(chain), chain, handle });
  }
  return { decisions, end: endOf(steps, place), isStale };
}

const directionOf = (chain: string): Direction =>
  DIRECTIONS.find((direction) => chain.startsWith(`${direction}-`)) ?? 'ingress';

function endOf(steps: readonly TracedStep[], { own }: TracePlace): WayEnd {
  const last = steps.at(-1);
  if (last === undefined) return { what: 'unseen' };
  if (isDropped(last)) return { what: 'dropped', table: last.table, chain: last.chain };
  if (!isEnd(last, own)) return { what: 'unknown' };
  return { what: last.chain === LEFT ? 'left' : 'arrived' };
}

/** The chains of policies that the packet met. */
export const chainsMet = (steps: readonly TracedStep[], { table }: TracePlace): readonly string[] => [
  ...new Set(steps.filter((step) => step.table === table && step.type === 'rule').map(({ chain }) => chain)),
];

export interface KernelVerdict {
  /** Undefined when the kernel did not say so: the packet was lost where nf_tables sees nothing. */
  readonly isAllowed: boolean | undefined;
  readonly direction?: Direction;
  readonly policy?: string;
  readonly rule?: number;
}

/** Of the ways through the nodes that it met, in that order: which rule had the last word. */
export function kernelVerdict(ways: readonly TracedWay[], table: (i: number) => string): KernelVerdict {
  const said = (direction: Direction) =>
    ways.flatMap(({ decisions }) => decisions.filter((one) => one.direction === direction)).at(-1);
  for (const [i, { end }] of ways.entries()) {
    if (end.what !== 'dropped') continue;
    if (end.table !== table(i)) return { isAllowed: undefined };
    const direction = DIRECTIONS.find((one) => names.refusedChain(one) === end.chain);
    const decision = direction && said(direction);
    return { isAllowed: false, ...(direction === undefined ? {} : { direction }), ...byRule(decision) };
  }
  const { what } = ways.at(-1)?.end ?? { what: 'unseen' };
  if (what !== 'left' && what !== 'arrived') return { isAllowed: undefined };
  const decision = [said('ingress'), said('egress')].find((one) => one?.outcome === 'allowed');
  return { isAllowed: true, ...(decision && { direction: decision.direction }), ...byRule(decision) };
}

function byRule(decision: TracedDecision | undefined): Pick<KernelVerdict, 'policy' | 'rule'> {
  const [policy] = decision?.policies ?? [];
  return decision?.rule === undefined || policy === undefined ? {} : { policy, rule: decision.rule };
}
