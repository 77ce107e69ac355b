// The names of everything in the tables of network policies. Pure.
// Guarantees: a name fits nf_tables' limit, is stable for what it is of, and tells a reader of `nft list ruleset` what it is.
import { textHash } from '../../base/textHash.js';
import type { Direction } from './model.js';

export const TABLE = 'trellis-policy';
export const FORWARD = 'forward';
export const OUTPUT = 'output';
export const JUDGE_SOURCE = 'judge-source';
export const JUDGE_DESTINATION = 'judge-destination';
/** Pods of this node whose policies are in place. */
export const JUDGED = 'judged';
/** Networks of which this node gives its pods addresses. */
export const POD_RANGES = 'pod-ranges';
/** A pod may always talk to itself, also through a Service. */
export const SELF = 'self';
/** From a pod's address to the chain that judges it. */
export const SUBJECTS: Readonly<Record<Direction, string>> = {
  ingress: 'ingress-pods',
  egress: 'egress-pods',
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
