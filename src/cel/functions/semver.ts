// Semantic versions in expressions.
// Guarantees: linear in the text; order as semver.org says, build data aside.
import { evaluationError } from '../error.js';
import { type Overload, overload, readsFirst } from '../signature.js';
import { SemverValue, type Value } from '../values.js';

const FORM = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$/;
const MAX_LENGTH = 256;

function parseSemver(text: string, isTolerant: boolean): SemverValue | undefined {
  const match = text.length > MAX_LENGTH ? null : FORM.exec(isTolerant ? normalized(text) : text);
  if (match === null) return undefined;
  const [, major = '0', minor = '0', patch = '0', prerelease, build] = match;
  const words = prerelease?.split('.') ?? [];
  if (words.some((word) => word === '' || /^0\d+$/.test(word))) return undefined;
  if (build?.split('.').some((word) => word === '')) return undefined;
  return new SemverValue([BigInt(major), BigInt(minor), BigInt(patch)], words);
}

/** Without a leading v and leading zeros, with the numbers that are missing. */
function normalized(text: string): string {
  const plain = text.replace(/^v/, '');
  const end = plain.search(/[-+]/);
  const [numbers, rest] = end < 0 ? [plain, ''] : [plain.slice(0, end), plain.slice(end)];
  const parts = numbers.split('.').map((part) => part.replace(/^0+(?=\d)/, ''));
  if (parts.length < 3 && rest !== '') return text;
  while (parts.length < 3) parts.push('0');
  return parts.join('.') + rest;
}

function semver(text: string, isTolerant: boolean): SemverValue {
  const version = parseSemver(text, isTolerant);
  if (version === undefined)
    throw evaluationError(`No Major.Minor.Patch elements found in "${text.slice(0, 64)}"`);
  return version;
}

function compareSemver(a: SemverValue, b: SemverValue): number {
  for (let at = 0; at < 3; at += 1) {
    const [x, y] = [a.numbers[at] as bigint, b.numbers[at] as bigint];
    if (x !== y) return x < y ? -1 : 1;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0)
    return b.prerelease.length - a.prerelease.length;
  for (let at = 0; at < Math.max(a.prerelease.length, b.prerelease.length); at += 1) {
    const order = compareWords(a.prerelease[at], b.prerelease[at]);
    if (order !== 0) return order;
  }
  return 0;
}

function compareWords(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? -1 : 1;
  const [x, y] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (x !== y) return x ? -1 : 1;
  if (x) return BigInt(a) < BigInt(b) ? -1 : BigInt(a) > BigInt(b) ? 1 : 0;
  return a < b ? -1 : a > b ? 1 : 0;
}

const order = ([a, b]: readonly Value[]) => compareSemver(a as SemverValue, b as SemverValue);
const number = (name: string, at: 0 | 1 | 2) =>
  overload(`Semver.${name}(): int`, ([version]) => (version as SemverValue).numbers[at]);

export const SEMVERS: readonly Overload[] = [
  overload('semver(string): Semver', ([text]) => semver(text as string, false), readsFirst()),
  overload(
    'semver(string, bool): Semver',
    ([text, is]) => semver(text as string, is as boolean),
    readsFirst(),
  ),
  overload(
    'isSemver(string): bool',
    ([text]) => parseSemver(text as string, false) !== undefined,
    readsFirst(),
  ),
  overload(
    'isSemver(string, bool): bool',
    ([text, is]) => parseSemver(text as string, is as boolean) !== undefined,
    readsFirst(),
  ),
  overload('Semver.isLessThan(Semver): bool', (args) => order(args) < 0),
  overload('Semver.isGreaterThan(Semver): bool', (args) => order(args) > 0),
  overload('Semver.compareTo(Semver): int', (args) => BigInt(Math.sign(order(args)))),
  number('major', 0),
  number('minor', 1),
  number('patch', 2),
];
