// The sets of the mode in the kernel: made with one call, and made anew where somebody made them otherwise.
// Guarantees: a set that differs is replaced by one that already holds its entries, so that no packet meets an empty one.
import { KernelError } from '../../src/kernel/error.js';
import type { IpSetHeader, IpSetPort, IpSetRequest } from '../../src/kernel/ipset/port.js';
import type { IpFamily } from '../mode.js';
import { entryRequests } from './listing.js';
import { newSetName, SET_KINDS, SETS, type SetKind, setName } from './names.js';

const MAX_ENTRIES = 65_536 * 4;

function shapeOf(family: IpFamily, kind: SetKind) {
  const [type] = SETS[kind];
  if (type === 'bitmap:port') return { type, comment: true, range: '0-65535' } as const;
  const inet = family === 'ip' ? 'inet' : 'inet6';
  return { type, comment: true, family: inet, hashsize: 1024, maxelem: MAX_ENTRIES } as const;
}

/** Whether the kernel would take our request to make it for the same; tables grow by themselves. */
function isAsWanted(found: IpSetHeader, family: IpFamily, kind: SetKind): boolean {
  const { hashsize: _, ...shape } = { hashsize: 0, ...shapeOf(family, kind) };
  const hasOther = Object.entries(shape).some(([name, value]) => found[name as keyof IpSetHeader] !== value);
  return !hasOther && found.timeout === undefined && found.counters !== true && found.netmask === undefined;
}

/** `entries` are those the sets shall hold, each `kind entry`. */
export async function makeSets(
  ipset: IpSetPort,
  family: IpFamily,
  entries: ReadonlyMap<string, unknown>,
): Promise<void> {
  const found = new Map((await ipset.listHeaders()).map((set) => [set.name, set]));
  const make = (kind: SetKind, name: string): IpSetRequest => ({
    do: 'add',
    kind: 'set',
    name,
    existsOk: true,
    ...shapeOf(family, kind),
  });
  const missing = SET_KINDS.filter((kind) => !found.has(setName(family, kind)));
  await ipset.apply(missing.map((kind) => make(kind, setName(family, kind))));
  for (const kind of SET_KINDS) {
    const name = setName(family, kind);
    const there = found.get(name);
    if (there === undefined || isAsWanted(there, family, kind)) continue;
    const beside = newSetName(family);
    const remove = { do: 'delete', kind: 'set', name: beside, missingOk: true } as const;
    const wanted = [...entries.keys()].filter((entry) => entry.startsWith(`${kind} `));
    await ipset.apply([remove]);
    await ipset.apply([make(kind, beside)]);
    await ipset
      .apply(entryRequests(family, 'add', wanted).map((request) => ({ ...request, set: beside })))
      .catch(unlessOfEntries);
    await ipset.apply([{ do: 'swap', kind: 'set', name, with: beside }]);
    await ipset.apply([remove]);
  }
}

/** Entries that are refused here are missing afterwards: they are added, refused and told with all others. */
function unlessOfEntries(error: unknown): void {
  const isOfEntries =
    error instanceof KernelError && error.failures.every(({ entry }) => entry !== undefined);
  if (!isOfEntries) throw error;
}

/** What the sets of a family hold, each `kind entry`; undefined where one is missing. */
export async function entriesOf(
  ipset: IpSetPort,
  family: IpFamily,
  kind: SetKind,
): Promise<string[] | undefined> {
  const set = await ipset.get(setName(family, kind));
  return set?.entries.map(({ entry }) => `${kind} ${entry}`);
}
