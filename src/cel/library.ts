// Every function and operator that an expression may call, by name.
// Guarantees: a name that is not here does not exist; the tables never change.
import { ADDRESSES } from './functions/addresses.js';
import { CONVERSIONS } from './functions/conversions.js';
import { FORMAT_FUNCTIONS } from './functions/formats.js';
import { LISTS } from './functions/lists.js';
import { MATH } from './functions/math.js';
import { OPERATORS } from './functions/operators.js';
import { QUANTITIES } from './functions/quantity.js';
import { REGEX } from './functions/regex.js';
import { SEMVERS } from './functions/semver.js';
import { STRINGS } from './functions/strings.js';
import { TIMES_AND_OPTIONALS } from './functions/times.js';
import { URLS } from './functions/url.js';
import type { Overload } from './signature.js';
import { typeName } from './types.js';

const ALL: readonly Overload[] = [
  ...OPERATORS,
  ...CONVERSIONS,
  ...STRINGS,
  ...LISTS,
  ...MATH,
  ...REGEX,
  ...URLS,
  ...QUANTITIES,
  ...ADDRESSES,
  ...SEMVERS,
  ...FORMAT_FUNCTIONS,
  ...TIMES_AND_OPTIONALS,
];

const byName = new Map<string, Overload[]>();
for (const overload of ALL) byName.set(overload.name, [...(byName.get(overload.name) ?? []), overload]);

/** Empty for a name that is no function. */
export const overloadsOf = (name: string): readonly Overload[] => byName.get(name) ?? [];

/** Names that stand for types in expressions, such as `type(x) == string`. */
export const TYPE_NAMES: ReadonlyMap<string, string> = new Map(
  [
    ...(['bool', 'int', 'uint', 'double', 'string', 'bytes', 'type'] as const).map((kind) => [kind, kind]),
    ['null_type', typeName('null')],
    ['list', 'list'],
    ['map', 'map'],
  ].map(([word, name]) => [word as string, name as string]),
);
