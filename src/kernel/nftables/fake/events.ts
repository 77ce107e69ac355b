// What a watcher is told of a transaction of the in-memory ruleset.
// Guarantees: pure; what came, then what went, then the generation.
import type { GoneObject, ListedChain, ListedRule, ListedSet, ListedTable, NftEvent } from '../port.js';
import type { Ruleset } from './model.js';

type AnyObject = ListedTable | ListedChain | ListedRule | ListedSet;

function objectsOf(ruleset: Ruleset): Map<string, AnyObject> {
  const all: AnyObject[] = [...ruleset.tables.values()].flatMap(({ table, chains, sets }) => [
    { kind: 'table' as const, ...table },
    ...[...chains.values()].map(({ chain }) => ({ kind: 'chain' as const, ...chain })),
    ...[...sets.values()].map(({ set }) => ({ kind: 'set' as const, ...set })),
    ...[...chains.values()].flatMap(({ rules }) => rules.map((rule) => ({ kind: 'rule' as const, ...rule }))),
  ]);
  // A table made anew under its old name has another handle, but its chains may have their old ones.
  const tables = new Map(
    all.flatMap((one) => (one.kind === 'table' ? [[`${one.family} ${one.name}`, one.handle]] : [])),
  );
  return new Map(
    all.map((one) => {
      const table = `${one.family} ${one.kind === 'table' ? one.name : one.table}`;
      return [`${one.kind} ${tables.get(table)} ${one.handle}`, one];
    }),
  );
}

function identity(object: AnyObject): GoneObject {
  const { family, handle } = object;
  if (object.kind === 'table') return { kind: 'table', family, name: object.name, handle };
  if (object.kind === 'rule')
    return { kind: 'rule', family, table: object.table, chain: object.chain, handle };
  return { kind: object.kind, family, table: object.table, name: object.name, handle };
}

export function eventsBetween(before: Ruleset, after: Ruleset): NftEvent[] {
  const [old, now] = [objectsOf(before), objectsOf(after)];
  return [
    ...[...now].flatMap(([key, object]): NftEvent[] => (old.has(key) ? [] : [{ event: 'new', object }])),
    ...[...old].flatMap(([key, object]): NftEvent[] =>
      now.has(key) ? [] : [{ event: 'delete', object: identity(object) }],
    ),
    { event: 'generation', generation: after.generation },
  ];
}
