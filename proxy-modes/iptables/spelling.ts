// Rules compared as text, on machines whose tool may print them otherwise than ours does. Pure.
// Guarantees: comments do not count; a tool of another spelling leads to one needless repair, not to one after another.

const COMMENT = / -m comment --comment (?:"(?:[^"\\]|\\.)*"|\S+)/g;

/** A network that every address is in; what is not in it the nft back end refuses to match. */
export const isEverywhere = (cidr: string): boolean => cidr.endsWith('/0');

/** A match of packets by network, with a blank behind it. Of one that every address is in the tool prints nothing. */
export const inNetwork = (side: '-s' | '-d', cidr: string): string =>
  isEverywhere(cidr) ? '' : `${side} ${cidr} `;

export const withoutComment = (rule: string): string => rule.replace(COMMENT, '');

/** A number for a rule's text without its comments: FNV-1a. */
export function fingerprint(rule: string): number {
  const text = withoutComment(rule);
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** As many rules as expected and the same ones; as many but others; or not even as many. */
export type Likeness = 'same' | 'as-many' | 'other';

/** In whatever order. */
export function compare(found: readonly string[], wanted: readonly string[]): Likeness {
  if (found.length !== wanted.length) return 'other';
  const sum = (rules: readonly string[]) => rules.reduce((total, rule) => total + fingerprint(rule), 0);
  return sum(found) === sum(wanted) ? 'same' : 'as-many';
}

export class Spelling {
  #isProven = false;
  #doubts = 0;

  /** Whether rules that are so alike are taken to be ours. */
  accepts(likeness: Likeness): boolean {
    if (likeness === 'same') this.#isProven = true;
    if (likeness !== 'as-many') return likeness === 'same';
    if (this.#isProven) return false;
    // Never once the same, also after they were written anew: the tool spells them in its own way.
    this.#doubts += 1;
    return this.#doubts > 1;
  }
}
