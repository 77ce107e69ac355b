// Says of a connection what the tables say of its packets, and which policy and rule it is. Pure.
// Guarantees: the same answer as the kernel gives with the planner's tables; test/kernel/network compares both with packets.
import { contains, parseCidr } from '../../api/ip.js';
import type { CompiledPolicy } from './compiledPolicy.js';
import type { Direction, IpBlock, PolicyPod, PolicyProtocol, PolicyRule, PortMatch } from './model.js';
import type { PolicyPlanner } from './planner.js';
import { selectionText } from './selections.js';

/** After translation: the addresses of the pods themselves. */
interface Connection {
  readonly source: string;
  readonly destination: string;
  /** Undefined for other protocols, which only rules without ports match. */
  readonly protocol?: PolicyProtocol | undefined;
  readonly port?: number | undefined;
}

export interface Verdict {
  readonly isAllowed: boolean;
  /** Which side decided; undefined when nothing restricts either. */
  readonly direction?: Direction;
  /** The policy whose rule matched; undefined when none did and the pod is closed. */
  readonly policy?: string;
  /** Which of its rules, from 0. */
  readonly rule?: number;
}

const OPEN: Verdict = { isAllowed: true };

export function judge(planner: PolicyPlanner, connection: Connection): Verdict {
  const { source, destination } = connection;
  if (source === destination) return OPEN;
  const egress = judgeSide(planner, connection, 'egress');
  if (!egress.isAllowed) return egress;
  const ingress = judgeSide(planner, connection, 'ingress');
  return ingress.direction === undefined ? egress : ingress;
}

function judgeSide(planner: PolicyPlanner, connection: Connection, direction: Direction): Verdict {
  const [own, peer] =
    direction === 'ingress'
      ? [connection.destination, connection.source]
      : [connection.source, connection.destination];
  const subject = planner.podAt(own);
  if (subject?.isLocal !== true) return OPEN;
  const side = { planner, connection, direction, subject, peer };
  const policies = planner.restricting(subject, direction);
  const admin = firstMatch(side, policies, 'admin');
  if (admin !== undefined && admin.action !== 'pass') return decided(direction, admin);
  if (policies.some(({ policy }) => policy.tier === 'namespaced')) {
    const found = firstMatch(side, policies, 'namespaced');
    return found === undefined ? { isAllowed: false, direction } : decided(direction, found);
  }
  const baseline = firstMatch(side, policies, 'baseline');
  return baseline === undefined || baseline.action === 'pass' ? OPEN : decided(direction, baseline);
}

interface Side {
  readonly planner: PolicyPlanner;
  readonly connection: Connection;
  readonly direction: Direction;
  readonly subject: PolicyPod;
  /** The other side's address. */
  readonly peer: string;
}

interface Match {
  readonly action: PolicyRule['action'];
  readonly policy: string;
  readonly rule: number;
}

const decided = (direction: Direction, { action, policy, rule }: Match): Verdict => ({
  isAllowed: action !== 'deny',
  direction,
  policy,
  rule,
});

function firstMatch(side: Side, policies: readonly CompiledPolicy[], tier: string): Match | undefined {
  for (const { policy } of policies) {
    if (policy.tier !== tier) continue;
    const rules = policy.rules[side.direction] ?? [];
    const rule = rules.findIndex((candidate) => matches(side, candidate));
    const action = rules[rule]?.action;
    if (action !== undefined) return { action, policy: policy.key, rule };
  }
  return undefined;
}

function matches(side: Side, { peers, ports }: PolicyRule): boolean {
  if (peers !== undefined) {
    const other = side.planner.podAt(side.peer);
    const isSelected =
      other !== undefined &&
      peers.selections.some((selection) => side.planner.isMember(selectionText(selection), other));
    const isInBlock = peers.blocks.some((block) => inBlock(block, side.peer));
    if (!isSelected && !isInBlock) return false;
    // A port's name is known of pods alone.
    if (!isSelected && side.direction === 'egress')
      return ports === undefined || ports.some((port) => !('name' in port) && portMatches(side, port));
  }
  return ports === undefined || ports.some((port) => portMatches(side, port));
}

const inBlock = ({ cidr, except }: IpBlock, ip: string) =>
  inNetwork(cidr, ip) && !except.some((text) => inNetwork(text, ip));

function inNetwork(text: string, ip: string): boolean {
  const cidr = parseCidr(text);
  return cidr !== undefined && contains(cidr, ip);
}

function portMatches({ planner, connection, direction, subject, peer }: Side, match: PortMatch): boolean {
  const { protocol, port } = connection;
  if (protocol !== match.protocol || port === undefined) return false;
  if ('name' in match) {
    const target = direction === 'ingress' ? subject : planner.podAt(peer);
    return (
      target?.ports.some(
        (own) => own.name === match.name && own.protocol === protocol && own.port === port,
      ) === true
    );
  }
  if (match.port === undefined) return true;
  return port >= match.port && port <= (match.endPort ?? match.port);
}

/** For people: "allowed by ingress rule 0 of default/web". */
export function verdictText({ isAllowed, direction, policy, rule }: Verdict): string {
  const word = isAllowed ? 'allowed' : 'refused';
  if (direction === undefined) return `${word}: no policy restricts either side`;
  if (policy === undefined)
    return `${word}: no ${direction} rule of the policies that select the pod matches`;
  return `${word} by ${direction} rule ${rule} of ${policy}`;
}
