// The names that a definition claims for its kind, and who has them already. Pure.
// Guarantees: a name belongs to one definition of a group; one that has it keeps it, whoever else asks.
import { type Cause, invalidValue } from '../../causes.js';
import type { V1CustomResourceDefinition, V1CustomResourceDefinitionNames } from '../../gen/types.js';
import { dnsLabel1035 } from '../../names.js';
import { sameJson } from '../../ownKeys.js';

type Names = V1CustomResourceDefinitionNames;
type Definition = V1CustomResourceDefinition;

export function checkNames(names: Partial<Names>, path: string): Cause[] {
  const { plural = '', singular = '', kind = '', listKind = '' } = names;
  const label = (field: string, text: string, shown: string, lead = ''): Cause[] => {
    const faults = text === '' ? [] : dnsLabel1035(text);
    return faults.length === 0 ? [] : [invalidValue(`${path}.${field}`, shown, lead + faults.join(','))];
  };
  const mixed = 'may have mixed case, but should otherwise match: ';
  return [
    ...label('plural', plural, plural),
    ...label('singular', singular, singular),
    ...label('kind', kind.toLowerCase(), kind, mixed),
    ...label('listKind', listKind.toLowerCase(), listKind, mixed),
    ...(names.shortNames ?? []).flatMap((name, index) => label(`shortNames[${index}]`, name, name)),
    ...(kind !== '' && kind === listKind
      ? [invalidValue(`${path}.listKind`, listKind, 'kind and listKind may not be the same')]
      : []),
    ...(names.categories ?? []).flatMap((name, index) => label(`categories[${index}]`, name, name)),
  ];
}

interface NameVerdict {
  readonly accepted: Names;
  /** Undefined when every name could be had. */
  readonly conflict: { readonly reason: string; readonly message: string } | undefined;
}

/** `others` are the definitions besides this one; those of other groups do not matter. */
export function acceptNames({ spec, status }: Definition, others: readonly Definition[]): NameVerdict {
  const wanted = spec.names;
  const held: Partial<Names> = status?.acceptedNames ?? {};
  const { resources, kinds } = takenNames(spec.group, others);
  const accepted: { -readonly [Key in keyof Names]: Names[Key] } = { plural: '', kind: '', ...held };
  let conflict: NameVerdict['conflict'];
  const claim = (field: 'plural' | 'singular' | 'kind' | 'listKind', taken: ReadonlySet<string>) => {
    const name = wanted[field] ?? '';
    if (name === (held[field] ?? '') || !taken.has(name)) accepted[field] = name;
    else
      conflict = {
        reason: `${field.charAt(0).toUpperCase()}${field.slice(1)}Conflict`,
        message: inUse(name),
      };
  };
  claim('plural', resources);
  claim('singular', resources);
  if (!sameJson(wanted.shortNames ?? [], held.shortNames ?? [])) {
    const mine = new Set(held.shortNames ?? []);
    const refused = (wanted.shortNames ?? []).filter((name) => !mine.has(name) && resources.has(name));
    if (refused.length === 0) setNames(accepted, 'shortNames', wanted.shortNames);
    else {
      const list = refused.map(inUse);
      const message = list.length === 1 ? (list[0] ?? '') : `[${list.join(', ')}]`;
      conflict = { reason: 'ShortNamesConflict', message };
    }
  }
  claim('kind', kinds);
  claim('listKind', kinds);
  setNames(accepted, 'categories', wanted.categories);
  return { accepted, conflict };
}

const inUse = (name: string) => `${JSON.stringify(name)} is already in use`;

function setNames(
  names: { shortNames?: readonly string[] | undefined; categories?: readonly string[] | undefined },
  field: 'shortNames' | 'categories',
  list: readonly string[] | undefined,
): void {
  if (list === undefined) delete names[field];
  else names[field] = list;
}

function takenNames(group: string, others: readonly Definition[]) {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const { spec, status } of others) {
    if (spec.group !== group || status?.acceptedNames === undefined) continue;
    const { plural, singular, shortNames = [], kind, listKind } = status.acceptedNames;
    for (const name of [plural, singular, ...shortNames]) if (name) resources.add(name);
    for (const name of [kind, listKind]) if (name) kinds.add(name);
  }
  return { resources, kinds };
}
