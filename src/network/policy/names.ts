// The names of everything in the tables of network policies. Pure.
// Guarantees: a name fits nf_tables' limit, is stable for what it is of, and tells a reader of `nft list ruleset` what it is.
import { textHash } from '../../base/textHash.js';
import type { Direction } from './model.js';

export const TABLE = 'trellis-policy';
/** Where packets of a hook meet the policies of one direction. */
export const hookChain = (hook: 'forward' | 'output', direction: Direction) => `${hook}-${direction}`;
export const judgeChain = (direction: Direction) => `judge-${direction}`;
/** Where everything goes that the policies of a pod do not allow. */
export const refusedChain = (direction: Direction) => `refused-${direction}`;
/** Where everything goes that is of a pod whose policies are not in place yet. */
export const UNJUDGED = 'unjudged';
/** Where TCP goes that does not begin with its first packet. */
export const MID_STREAM = 'mid-stream';
/** Ways back of connections without a beginning that were ended a moment ago. */
export const ENDED = 'ended';
/** Pods of this node whose policies are in place. */
export const JUDGED = 'judged';
/** Networks of which this node gives its pods addresses. */
export const POD_RANGES = 'pod-ranges';
/** Links on which pods are neighbours, while the cluster has policies: what has no pod's address is closed there. */
export const CLOSED_LINKS = 'closed-links';
/** A pod may always talk to itself, also through a Service. Holds each that a policy restricts in a direction, twice. */
export const SELF = 'self';
/** From a pod's address to the number of its profile: a plain number, since the kernel checks the whole table for a verdict. */
export const SUBJECTS: Readonly<Record<Direction, string>> = {
  ingress: 'ingress-pods',
  egress: 'egress-pods',
};
/** From the number of a profile to its chain. */
export const PROFILES: Readonly<Record<Direction, string>> = {
  ingress: 'ingress-profiles',
  egress: 'egress-profiles',
};

const MAX_READABLE = 80;
const readable = (text: string) => text.replace(/[^A-Za-z0-9/.-]/g, '_').slice(0, MAX_READABLE);

export const podsSet = (selection: string) => `pods-${textHash(selection)}`;
export const blocksSet = (content: string) => `blocks-${textHash(content)}`;
export const portsSet = (content: string) => `ports-${textHash(content)}`;
export const namedPortsSet = (selection: string, port: string) =>
  `named-${textHash(`${selection} ${port}`)}-${readable(port)}`;
export const policyChain = (direction: Direction, key: string) =>
  `${direction}-policy-${textHash(key)}-${readable(key)}`;
export const profileChain = (direction: Direction, profile: string) => `${direction}-${textHash(profile)}`;
/** Where a rule of the first tier sends what it leaves to the next. */
export const passedChain = (chain: string) => `${chain}-passed`;
