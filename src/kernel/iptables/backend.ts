// Which of the two iptables of a machine to use, and what a version of the tool can do. Pure.
// Guarantees: where a kubelet left its mark, as Kubernetes' iptables-wrapper chooses; else where our own chains are, whatever
// others write elsewhere; else where there are more rules.
import type { IptablesBackend } from './port.js';

/** What one back end holds, both families together. */
export interface Evidence {
  /** Chains that a kubelet makes for this very purpose. */
  readonly hints: number;
  /** Chains that a proxy of this or another start has made. */
  readonly proxies: number;
  readonly rules: number;
}

const HINT = /^:(?:KUBE-IPTABLES-HINT|KUBE-KUBELET-CANARY)\b/gm;
/** One of each mode. */
const PROXY = /^:(?:KUBE-SERVICES|KUBE-PORTALS-HOST)\b/gm;
const RULE = /^-/gm;

const occurrences = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0;

/** Evidence in what the save tools of both families printed. */
export function evidenceIn(saved: readonly string[]): Evidence {
  const sum = (pattern: RegExp) => saved.reduce((total, text) => total + occurrences(text, pattern), 0);
  return { hints: sum(HINT), proxies: sum(PROXY), rules: sum(RULE) };
}

/** Undefined evidence: that back end's tools are not installed, or the kernel lacks it. */
export function chooseBackend(found: {
  readonly nft: Evidence | undefined;
  readonly legacy: Evidence | undefined;
}): IptablesBackend {
  const { nft, legacy } = found;
  if (legacy === undefined) return 'nft';
  if (nft === undefined) return 'legacy';
  if (nft.hints > 0) return 'nft';
  if (legacy.hints > 0) return 'legacy';
  if (nft.proxies > 0 !== legacy.proxies > 0) return nft.proxies > 0 ? 'nft' : 'legacy';
  return legacy.rules > nft.rules ? 'legacy' : 'nft';
}

export interface ToolVersion {
  readonly version: string;
  /** iptables-restore --wait. */
  readonly hasWait: boolean;
  /** MASQUERADE --random-fully. */
  readonly hasRandomFully: boolean;
}

const atLeast = (version: readonly number[], wanted: readonly number[]): boolean => {
  const at = wanted.findIndex((number, i) => (version[i] ?? 0) !== number);
  return at === -1 || (version[at] ?? 0) > (wanted[at] ?? 0);
};

/** From "iptables-restore v1.8.9 (nf_tables)"; undefined when it is not that. */
export function parseVersion(text: string): ToolVersion | undefined {
  const version = /\bv(\d+(?:\.\d+)*)/.exec(text)?.[1];
  if (version === undefined) return undefined;
  const numbers = version.split('.').map(Number);
  return { version, hasWait: atLeast(numbers, [1, 6, 2]), hasRandomFully: atLeast(numbers, [1, 6, 2]) };
}
